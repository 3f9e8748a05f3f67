// Operations of which no more is known than what they are called, as types: what methods are
// registered for.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0::ops {

template <std::size_t size>
struct KindName {
  // A literal becomes a template's argument: no explicit.
  consteval KindName(const char (&text)[size]) {  // NOLINT
    std::copy_n(text, size, characters.begin());
  }
  std::array<char, size> characters{};
};

/// `Kind<"kiln.dense">`
template <KindName name>
struct Kind {
  static constexpr std::string_view kind{name.characters.data(), name.characters.size() - 1};
  NodeRef node;
};

}  // namespace quadrant::inline v0::ops
