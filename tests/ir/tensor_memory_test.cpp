#include "ir/tensor_memory.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <thread>

#include "quadrant/ir/type.hpp"

using namespace quadrant;

namespace {

Expected<Tensor> bytes(std::int64_t count) { return Tensor::make(ElementType::uint8, {count}); }

}  // namespace

TEST_CASE("tensors take of a memory while they live, and no more than there is") {
  const TensorMemory memory(100);
  std::optional<Tensor> kept;
  {
    const TensorMemory::Scope scope(memory);
    auto first = bytes(60);
    REQUIRE(first.has_value());
    CHECK(memory.used() == 60);
    CHECK(bytes(40).has_value());  // and it is gone
    CHECK(memory.used() == 60);
    CHECK_FALSE(memory.was_short());
    const auto refused = bytes(41);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::impossible);
    CHECK(refused.error().message ==
          "a tensor of shape [41] takes 41 bytes, where 40 of 100 are left");
    CHECK(memory.was_short());
    kept = *first;
  }
  CHECK(memory.used() == 60);  // by the copy
  CHECK(bytes(1000).has_value());
  CHECK(memory.used() == 60);
  kept.reset();
  CHECK(memory.used() == 0);
}

TEST_CASE("the innermost memory counts, on its own thread") {
  const TensorMemory outer(10);
  const TensorMemory inner(1000);
  const TensorMemory::Scope outer_scope(outer);
  {
    const TensorMemory::Scope scope(inner);
    CHECK(bytes(500).has_value());
    std::thread([] { CHECK(bytes(5000).has_value()); }).join();
  }
  CHECK_FALSE(inner.was_short());
  CHECK_FALSE(bytes(500).has_value());
  CHECK(TensorMemory::current() == &outer);
}

TEST_CASE("tensors outlive the memory that they came from") {
  std::optional<Tensor> kept;
  {
    const TensorMemory memory(100);
    const TensorMemory::Scope scope(memory);
    kept = bytes(100).value();
  }
  CHECK(kept->bytes().size() == 100);
}
