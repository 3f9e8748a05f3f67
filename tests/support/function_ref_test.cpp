#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <type_traits>

#include "quadrant/support/executor.hpp"

using namespace quadrant;

namespace {
int twice(int number) { return 2 * number; }
int apply(FunctionRef<int(int)> function, int number) { return function(number); }
}  // namespace

TEST_CASE("calls functions, lambdas and objects, by reference") {
  int (*pointer)(int) = twice;
  CHECK(apply(pointer, 4) == 8);

  int calls = 0;
  const auto counting = [&calls](int number) { return ++calls + number; };
  const FunctionRef<int(int)> reference = counting;
  CHECK(reference(10) == 11);
  CHECK(reference(10) == 12);
  CHECK(calls == 2);

  struct Counter {
    int calls = 0;
    int operator()(int number) { return number * ++calls; }
  } counter;
  CHECK(apply(counter, 5) == 5);
  CHECK(apply(counter, 5) == 10);
  CHECK(counter.calls == 2);
}

TEST_CASE("arguments are forwarded without a copy") {
  const FunctionRef<std::string(std::unique_ptr<std::string>)> reference =
      [](std::unique_ptr<std::string> text) { return *text + "!"; };
  CHECK(reference(std::make_unique<std::string>("moved")) == "moved!");
}

TEST_CASE("is small, and made of nothing that has another signature") {
  CHECK(sizeof(FunctionRef<void()>) == 2 * sizeof(void*));
  CHECK(std::is_constructible_v<FunctionRef<int(int)>, int (*)(int)>);
  CHECK(!std::is_constructible_v<FunctionRef<int(std::string)>, int (*)(int)>);
  CHECK(!std::is_default_constructible_v<FunctionRef<void()>>);
}
