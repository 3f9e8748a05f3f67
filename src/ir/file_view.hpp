// A mapped range of a file as a constant's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "quadrant/ir/constant.hpp"
#include "quadrant/support/input_file.hpp"

namespace quadrant::inline v0 {

/// What InputFile::window gives, for ConstantSource::view.
[[nodiscard]] inline std::optional<ConstantBytes> file_view(const InputFile& file,
                                                            std::uint64_t offset,
                                                            std::size_t size) {
  std::optional<FileWindow> window = file.window(offset, size);
  if (!window) return std::nullopt;
  auto owner = std::make_shared<const FileWindow>(*std::move(window));
  const auto bytes = owner->bytes();
  return ConstantBytes(std::move(owner), bytes);
}

}  // namespace quadrant::inline v0
