#include "support/shared_items.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "thread_ranks.hpp"

using namespace quadrant;
using test::on_ranks;

namespace {

using Items = std::map<std::size_t, std::string>;

ByteWriter written(const std::string& text) {
  ByteWriter out;
  out.text(text);
  return out;
}

// What each rank reads of so many items, of which the ranks found these.
std::vector<Expected<Items>> shared(std::size_t count, const std::vector<Items>& found) {
  return on_ranks(found.size(), [&](Ranks& ranks) -> Expected<Items> {
    SharedItems items(count);
    for (const auto& [item, text] : found[ranks.rank()]) items.add(item, written(text));
    Items read;
    QUADRANT_CHECK(items.share(ranks, {}, [&](std::size_t item, ByteReader& in) -> Expected<void> {
      read[item] = in.text();
      return {};
    }));
    return read;
  });
}

void check_refused(std::size_t count, const std::vector<Items>& found, const std::string& words) {
  for (const auto& got : shared(count, found)) {
    REQUIRE_FALSE(got);
    CHECK(got.error().code == ErrorCode::io);
    CHECK(got.error().message.find(words) == 0);
  }
}

}  // namespace

TEST_CASE("all ranks read all items, whoever found them") {
  for (const auto& got : shared(4, {{{1, "b"}}, {{3, "d"}, {0, ""}}, {{2, "c"}}})) {
    REQUIRE(got);
    CHECK(*got == Items{{0, ""}, {1, "b"}, {2, "c"}, {3, "d"}});
  }
  for (const auto& got : shared(0, {{}, {}})) CHECK(got == Items());
}

TEST_CASE("items told a few at a time, by ranks that have more of them and fewer") {
  const auto got = on_ranks(3, [&](Ranks& ranks) -> Expected<Items> {
    SharedItems items(6);
    Items read;
    std::size_t next = ranks.rank() == 2 ? 6 : ranks.rank() * 4;  // 0 to 3; 4, 5; none
    const std::size_t end = ranks.rank() == 0 ? 4 : 6;
    for (bool is_more = true; is_more;) {
      if (next < end) items.add(next++, written("item"));
      QUADRANT_TRY(is_more,
                   items.share_some(ranks, next < end,
                                    [&](std::size_t item, ByteReader& in) -> Expected<void> {
                                      read[item] = in.text();
                                      return {};
                                    }));
      CHECK(items.size() == 0);
    }
    return read;
  });
  for (const auto& each : got) {
    REQUIRE(each);
    CHECK(each->size() == 6);
  }
}

TEST_CASE("items that are missing, come twice, or are none") {
  check_refused(3, {{{0, "a"}}, {{2, "c"}}}, "no rank found item 1 of 3");
  check_refused(1, {{}, {}}, "no rank found item 0 of 1");
  check_refused(2, {{{0, "a"}, {1, "b"}}, {{1, "b"}}}, "ranks found item 1 of 2 twice");
  check_refused(2, {{{0, "a"}, {1, "b"}}, {{2, "c"}}}, "ranks found item 2 of 2 as well");
}

TEST_CASE("items that are cut short, or longer than what is read") {
  for (const bool is_short : {true, false}) {
    const auto got = on_ranks(2, [&](Ranks& ranks) {
      SharedItems items(2);
      ByteWriter out;
      if (is_short) {
        out.number(std::uint64_t{100});
      } else {
        out.text("abc");
        out.text("more");
      }
      items.add(ranks.rank(), ranks.rank() == 1 ? std::move(out) : written("whole"));
      return items.share(ranks, {}, [](std::size_t, ByteReader& in) -> Expected<void> {
        static_cast<void>(in.text());
        return {};
      });
    });
    for (const Expected<void>& each : got) {
      REQUIRE_FALSE(each);
      CHECK(each.error().message == "a message between ranks is incomplete");
    }
  }
}

TEST_CASE("a rank that did not find its items, and one that cannot read") {
  const auto got = on_ranks(2, [&](Ranks& ranks) {
    SharedItems items(1);
    return items.share(ranks, ranks.rank() == 1 ? fail(ErrorCode::io, "disk") : Expected<void>(),
                       [](std::size_t, ByteReader&) { return Expected<void>(); });
  });
  for (const Expected<void>& each : got) {
    REQUIRE_FALSE(each);
    CHECK(each.error().message == "disk (rank 1 of 2)");
  }
  const Expected<void> read = read_items(
      "x", [](ByteReader&) -> Expected<void> { return fail(ErrorCode::impossible, "full"); });
  REQUIRE_FALSE(read);
  CHECK(read.error().message == "full");
}
