#include "support/shared_items.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace quadrant::inline v0 {
namespace {

tl::unexpected<Error> not_whole() {
  return fail(ErrorCode::io, "a message between ranks is incomplete");
}

}  // namespace

Expected<void> read_items(std::string_view bytes,
                          FunctionRef<Expected<void>(ByteReader& in)> read) {
  ByteReader in(bytes);
  while (!in.is_at_end()) {
    QUADRANT_CHECK(read(in));
    if (in.failed()) return not_whole();
  }
  return {};
}

void SharedItems::add(std::size_t item, ByteWriter found) {
  found_.number(static_cast<std::uint64_t>(item));
  found_.text(found.take());
}

Expected<void> SharedItems::share(
    Ranks& ranks, Expected<void> own,
    FunctionRef<Expected<void>(std::size_t item, ByteReader& in)> read) {
  return share_some(ranks, std::move(own).map([] { return false; }), read).map([](bool /*more*/) {
  });
}

Expected<bool> SharedItems::share_some(
    Ranks& ranks, Expected<bool> own,
    FunctionRef<Expected<void>(std::size_t item, ByteReader& in)> read) {
  const auto append = [](std::string mine, const std::string& theirs) -> Expected<std::string> {
    return std::move(mine) + theirs;
  };
  auto told = std::move(own).map([&](bool is_more) {
    ByteWriter out;
    out.number(static_cast<std::uint8_t>(is_more ? 1 : 0));
    out.text(found_.take());
    return out.take();
  });
  QUADRANT_TRY(const std::string all, ranks.combine(std::move(told), append));
  const auto read_one = [&](ByteReader& in) -> Expected<void> {
    const auto item = in.number<std::uint64_t>();
    ByteReader contents(in.part());
    if (in.failed()) return {};
    if (item >= is_read_.size() || is_read_[item]) {
      return fail(ErrorCode::io,
                  fmt::format("ranks found item {} of {} {}: they divided the work differently",
                              item, is_read_.size(), item < is_read_.size() ? "twice" : "as well"));
    }
    is_read_[item] = true;
    QUADRANT_CHECK(read(static_cast<std::size_t>(item), contents));
    if (contents.failed() || !contents.is_at_end()) return not_whole();
    return {};
  };
  bool is_more = false;
  QUADRANT_CHECK(read_items(all, [&](ByteReader& in) -> Expected<void> {
    is_more = in.number<std::uint8_t>() != 0 || is_more;
    return read_items(in.part(), read_one);
  }));
  const auto missing = std::ranges::find(is_read_, false);
  if (is_more || missing == is_read_.end()) return is_more;
  return fail(ErrorCode::io,
              fmt::format("no rank found item {} of {}: they divided the work differently",
                          missing - is_read_.begin(), is_read_.size()));
}

}  // namespace quadrant::inline v0
