#include <doctest/doctest.h>

#include <stop_token>
#include <string>
#include <vector>

#include "quadrant/pipeline/model_file.hpp"

using namespace quadrant;

namespace {

struct Heard final : Sink {
  void report(const Diagnostic& diagnostic) override { all.push_back(diagnostic); }
  std::vector<Diagnostic> all;
};

}  // namespace

TEST_CASE("notes and warnings reach the sink with their places") {
  Heard heard;
  const RunContext context{.sink = &heard};
  context.note("one", {.file = "m.onnx"});
  context.warn("two");
  REQUIRE(heard.all.size() == 2);
  CHECK(heard.all[0].severity == Severity::note);
  CHECK(heard.all[0].place.file == "m.onnx");
  CHECK(heard.all[1].severity == Severity::warning);
  CHECK(heard.all[1].message == "two");
}

TEST_CASE("without a sink nothing is said, and without a stop nothing stops") {
  const RunContext context;
  context.note("nobody hears");
  CHECK(context.check_stop());
}

TEST_CASE("a stop that was asked for is an error of its own") {
  std::stop_source source;
  const RunContext context{.stop = source.get_token()};
  CHECK(context.check_stop());
  source.request_stop();
  const auto stopped = context.check_stop();
  REQUIRE(!stopped);
  CHECK(stopped.error().code == ErrorCode::cancelled);
}
