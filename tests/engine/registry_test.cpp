#include "quadrant/engine/registry.hpp"

#include <doctest/doctest.h>

#include <string>

#include "engine/toy_scheme.hpp"

using namespace quadrant;

TEST_CASE("a registry finds what the scheme lists, each knowing its operation") {
  const Registry registry = toy::registry();
  REQUIRE(registry.find("shift") != nullptr);
  CHECK(registry.find("shift")->op() == "shift");
  CHECK(registry.find("shift")->name() == "PassMethod");
  CHECK(registry.find("pass")->op() == "pass");
  CHECK(registry.find("unheard of") == nullptr);
  CHECK(registry.methods().size() == 7);
  CHECK(registry.scheme().name() == "toy");
}

TEST_CASE("two methods for one operation are refused, naming both places") {
  auto builder = RegistryBuilder::of(toy::Scheme());
  builder.add("pass", std::make_unique<toy::JoinMethod>());
  const auto registry = std::move(builder).freeze();
  REQUIRE_FALSE(registry.has_value());
  const std::string message = registry.error().message;
  CHECK(registry.error().code == ErrorCode::usage);
  CHECK(message.find("'pass'") != std::string::npos);
  CHECK(message.find("PassMethod") != std::string::npos);
  CHECK(message.find("JoinMethod") != std::string::npos);
  CHECK(message.find("toy_scheme.hpp:") != message.rfind("toy_scheme.hpp:"));
}
