// Operations that are carried as ONNX calls them, as types that methods are registered for.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace quadrant::inline v0::static_affine {

template <std::size_t size>
struct Name {
  // A literal becomes a template's argument: no explicit.
  consteval Name(const char (&text)[size]) {  // NOLINT
    std::copy_n(text, size, characters.begin());
  }
  std::array<char, size> characters{};
};

/// `OnnxOp<"onnx.Relu">`
template <Name name>
struct OnnxOp {
  static constexpr std::string_view kind{name.characters.data(), name.characters.size() - 1};
};

}  // namespace quadrant::inline v0::static_affine
