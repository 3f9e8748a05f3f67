#include "quadrant/support/error.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace quadrant;

TEST_CASE("every error code has a name of its own") {
  std::set<std::string> names;
  for (const ErrorCode code :
       {ErrorCode::usage, ErrorCode::invalid_model, ErrorCode::impossible, ErrorCode::io}) {
    names.insert(std::string(to_string(code)));
  }
  CHECK(names.size() == 4);
  CHECK(names.count("unknown") == 0);
}

TEST_CASE("an error is one line that starts with its place") {
  Error error{ErrorCode::invalid_model, "too short", {}};
  CHECK(to_string(error) == "too short");

  error.place.file = "model.onnx";
  CHECK(to_string(error) == "model.onnx: too short");

  error.place.tensor = "w";
  error.place.offset = 120;
  const std::string text = to_string(error);
  CHECK(text.find("model.onnx") == 0);
  CHECK(text.find("'w'") != std::string::npos);
  CHECK(text.find("120") != std::string::npos);
  CHECK(text.rfind("too short") == text.size() - 9);
  CHECK(text.find('\n') == std::string::npos);
}

TEST_CASE("an offset of zero is a place") {
  CHECK(to_string(Place{}).empty());
  CHECK(to_string(Place{.offset = 0}).find('0') != std::string::npos);
  CHECK(to_string(Place{.node = "dense"}).find("'dense'") != std::string::npos);
}

TEST_CASE("errors compare by all their parts") {
  const Error error{ErrorCode::io, "gone", {.file = "a"}};
  CHECK(error == Error{ErrorCode::io, "gone", {.file = "a"}});
  CHECK(error != Error{ErrorCode::usage, "gone", {.file = "a"}});
  CHECK(error != Error{ErrorCode::io, "gone", {.file = "b"}});
  CHECK(error != Error{ErrorCode::io, "there", {.file = "a"}});
}
