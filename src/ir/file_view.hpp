// A mapped range of a file as a constant's bytes.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "quadrant/ir/constant.hpp"
#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {

/// For ConstantSource::view: what an InputFile or a ScratchFile shows through a window.
[[nodiscard]] inline std::optional<ConstantBytes> file_view(std::optional<FileWindow> window) {
  if (!window) return std::nullopt;
  auto owner = std::make_shared<const FileWindow>(*std::move(window));
  const auto bytes = owner->bytes();
  return ConstantBytes(std::move(owner), bytes);
}

}  // namespace quadrant::inline v0
