#include "io/npy/input.hpp"

#include <fmt/format.h>

namespace quadrant::inline v0::npy {

Expected<void> Input::read(std::span<std::byte> out, std::string_view what) {
  if (out.size() > left()) {
    return damaged(
        fmt::format("it ends here, where {} should have {} bytes more", what, out.size() - left()),
        size_);
  }
  QUADRANT_CHECK(fetch(position_, out));
  position_ += out.size();
  return {};
}

}  // namespace quadrant::inline v0::npy
