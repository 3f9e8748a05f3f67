#include "quadrant/ir/constant.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "build.hpp"

using namespace quadrant;

TEST_CASE("a constant holds the values it was made from") {
  const Constant constant = build::floats({2, 2}, {1.5F, -2.0F, 0.0F, 8.0F});
  REQUIRE(constant);
  CHECK(constant.element() == ElementType::float32);
  CHECK(constant.shape() == Shape{2, 2});
  CHECK(constant.element_count() == 4);
  CHECK(constant.byte_size() == 16);
  CHECK(!constant.is_deferred());
  const auto contents = constant.read();
  REQUIRE(contents);
  const auto values = contents->as<float>();
  CHECK(std::vector<float>(values.begin(), values.end()) ==
        std::vector<float>{1.5F, -2.0F, 0.0F, 8.0F});
}

TEST_CASE("copies share, equality is identity") {
  CHECK(!Constant());
  CHECK(Constant() == Constant());
  const Constant a = build::integers({1, 2});
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): copies are what is tested
  const Constant copy = a;
  CHECK(a == copy);
  CHECK(a != build::integers({1, 2}));
  CHECK(a.read()->bytes().data() == copy.read()->bytes().data());
}

TEST_CASE("contents outlive the handle") {
  Constant constant = build::integers({7, 8, 9});
  const auto contents = constant.read();
  constant = Constant();
  CHECK(contents->as<std::int64_t>()[2] == 9);
}

TEST_CASE("deferred contents are read where they are asked for") {
  const Constant constant = build::deferred(ElementType::int16, {3, 100});
  CHECK(constant.is_deferred());
  CHECK(constant.byte_size() == 600);
  const auto all = constant.read();
  REQUIRE(all);
  CHECK(all->bytes().size() == 600);
  CHECK(all->bytes()[257] == std::byte{1});

  std::array<std::byte, 4> part{};
  REQUIRE(constant.read(510, part));
  CHECK(part == std::array{std::byte{254}, std::byte{255}, std::byte{0}, std::byte{1}});
}

TEST_CASE("parts of contents in memory") {
  const Constant constant = Constant::from_bytes(
      ElementType::uint8, {4}, {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}});
  std::array<std::byte, 2> part{};
  REQUIRE(constant.read(2, part));
  CHECK(part == std::array{std::byte{3}, std::byte{4}});
  CHECK(constant.read(4, {}));
}

TEST_CASE("runs at equal distances come one behind the other, from memory and from a source") {
  const Constant deferred = build::deferred(ElementType::int16, {3, 100});
  const ConstantBytes all = deferred.read().value();
  const Constant in_memory =
      Constant::from_bytes(ElementType::int16, {3, 100}, {all.bytes().begin(), all.bytes().end()});
  for (const Constant& constant : {deferred, in_memory}) {
    std::array<std::byte, 6> column{};  // of a matrix with rows of 200 bytes
    REQUIRE(constant.read_runs({.offset = 4, .step = 200, .length = 2}, column));
    // Byte i is i modulo 256.
    CHECK(column == std::array{std::byte{4}, std::byte{5}, std::byte{204}, std::byte{205},
                               std::byte{148}, std::byte{149}});
    std::array<std::byte, 4> last{};
    REQUIRE(constant.read_runs({.offset = 596, .step = 1'000'000, .length = 4}, last));
    CHECK(last[3] == std::byte{599 - 512});
    std::array<std::byte, 4> again{};
    REQUIRE(constant.read_runs({.offset = 7, .step = 0, .length = 2}, again));
    CHECK(again == std::array{std::byte{7}, std::byte{8}, std::byte{7}, std::byte{8}});
    CHECK(constant.read_runs({.offset = 600, .step = 1, .length = 1}, {}));
    CHECK(constant.read_runs(ByteRuns{}, {}));

    std::array<std::byte, 4> room{};  // for two of five
    std::vector<std::vector<std::byte>> lots;
    REQUIRE(constant.read_runs({.offset = 1, .step = 10, .length = 2}, 5, room,
                               [&](std::span<std::byte> lot) {
                                 lots.emplace_back(lot.begin(), lot.end());
                                 std::ranges::fill(lot, std::byte{99});
                               }));
    CHECK(lots == std::vector<std::vector<std::byte>>{
                      {std::byte{1}, std::byte{2}, std::byte{11}, std::byte{12}},
                      {std::byte{21}, std::byte{22}, std::byte{31}, std::byte{32}},
                      {std::byte{41}, std::byte{42}}});
    const auto nobody = [](std::span<std::byte>) { FAIL("there are no runs"); };
    CHECK(constant.read_runs({.offset = 1, .step = 10, .length = 2}, 0, room, nobody));
  }
  std::array<std::byte, 2> out{};
  const Constant broken = build::deferred(ElementType::int16, {4}, true);
  CHECK(!broken.read_runs({.offset = 0, .step = 4, .length = 1}, out));
}

TEST_CASE("a source's error reaches the reader") {
  const Constant constant = build::deferred(ElementType::uint8, {4}, true);
  const auto contents = constant.read();
  REQUIRE(!contents);
  CHECK(contents.error().code == ErrorCode::io);
}

TEST_CASE("a constant without elements") {
  const Constant constant = build::floats({0, 3}, {});
  CHECK(constant);
  CHECK(constant.element_count() == 0);
  CHECK(constant.read()->bytes().empty());
}

TEST_CASE("read_integers widens each integer type with its sign") {
  const auto read = []<class T>(ElementType element, std::vector<T> values) {
    const auto size = static_cast<std::int64_t>(values.size());
    return read_integers(Constant::from_values<T>(element, {size}, values)).value();
  };
  using Values = std::vector<std::int64_t>;
  CHECK(read(ElementType::int8, std::vector<std::int8_t>{-128, 127}) == Values{-128, 127});
  CHECK(read(ElementType::int4, std::vector<std::int8_t>{-8, 7}) == Values{-8, 7});
  CHECK(read(ElementType::uint8, std::vector<std::uint8_t>{255}) == Values{255});
  CHECK(read(ElementType::int16, std::vector<std::int16_t>{-300}) == Values{-300});
  CHECK(read(ElementType::uint16, std::vector<std::uint16_t>{65535}) == Values{65535});
  CHECK(read(ElementType::int32, std::vector<std::int32_t>{-70000}) == Values{-70000});
  CHECK(read(ElementType::uint32, std::vector<std::uint32_t>{4294967295U}) == Values{4294967295});
  CHECK(read(ElementType::int64, std::vector<std::int64_t>{INT64_MIN}) == Values{INT64_MIN});
}

TEST_CASE("read_integers refuses floats and too many") {
  CHECK(!read_integers(build::floats({1}, {1.0F})));
  CHECK(read_integers(build::zeros(ElementType::int64, {4096})));
  CHECK(!read_integers(build::zeros(ElementType::int64, {4097})));
  CHECK(!read_integers(build::integers({1, 2, 3}), 2));
  // The limit is checked before a hostile size is read.
  CHECK(!read_integers(build::deferred(ElementType::int64, {std::int64_t{1} << 50})));
}

TEST_CASE("a reshaped constant has the same elements under another shape") {
  const Constant constant = build::floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Constant reshaped = constant.reshaped(Shape{3, 2});
  CHECK(reshaped.shape() == Shape{3, 2});
  CHECK(constant.shape() == Shape{2, 3});
  CHECK(reshaped.read()->as<float>()[4] == 5);
  CHECK(reshaped != constant);
}

TEST_CASE("contents in memory are viewed where they lie; others say whether they can be") {
  const Constant constant = build::integers({7, 8, 9});
  const auto view = constant.view(8, 16);
  REQUIRE(view.has_value());
  CHECK(view->bytes().data() == constant.read()->bytes().data() + 8);
  CHECK(view->as<std::int64_t>()[1] == 9);
  CHECK_FALSE(build::deferred(ElementType::int16, {3, 100}).view(0, 4).has_value());
}

TEST_CASE("a constant takes a vector over") {
  std::vector<float> values{1, 2, 3};
  const float* const lies = values.data();
  const Constant constant =
      Constant::from_vector(ElementType::float32, Shape{3}, std::move(values));
  CHECK(constant.read()->as<float>().data() == lies);
  CHECK(constant.byte_size() == 12);
}
