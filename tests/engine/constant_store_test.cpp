#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/constant.hpp"
#include "temporary_folder.hpp"

namespace quadrant {
namespace {

Constant numbers(std::int64_t count, float first) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(first + static_cast<float>(i));
  return Constant::from_values<float>(ElementType::float32, Shape{count}, values);
}

std::vector<std::byte> bytes_of(const Constant& constant) {
  const auto bytes = constant.read().value();
  return {bytes.bytes().begin(), bytes.bytes().end()};
}

TEST_CASE(
    "constants stay in memory while there is room, and keep their contents where there is not") {
  const test::TemporaryFolder folder;
  std::vector<Constant> before;
  std::vector<Constant> after;
  {
    ConstantStore store(100, folder.path());
    for (std::int64_t i = 0; i < 6; ++i) {
      before.push_back(numbers(10, static_cast<float>(10 * i)));
      after.push_back(store.put(before.back()).value());
    }
  }  // the constants outlive it
  std::size_t in_memory = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!after[i].is_deferred()) ++in_memory;
    CHECK(after[i].element() == ElementType::float32);
    CHECK(after[i].shape() == before[i].shape());
    CHECK(bytes_of(after[i]) == bytes_of(before[i]));
    const std::vector<std::byte> all = bytes_of(before[i]);
    const auto view = after[i].view(8, 20);
    REQUIRE(view.has_value());
    CHECK(std::ranges::equal(view->bytes(), std::span(all).subspan(8, 20)));
  }
  CHECK(in_memory == 2);  // of 40 bytes each
}

TEST_CASE("what takes no memory is not stored") {
  ConstantStore store(0, "/no/such/folder");
  CHECK(!store.put(Constant{}).value());
  const auto refused = store.put(numbers(1, 0));
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::io);
}

}  // namespace
}  // namespace quadrant
