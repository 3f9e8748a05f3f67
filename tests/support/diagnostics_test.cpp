#include "quadrant/support/diagnostics.hpp"

#include <doctest/doctest.h>

#include <type_traits>
#include <vector>

using namespace quadrant;

TEST_CASE("a sink may listen to nothing") {
  Sink sink;
  sink.report({Severity::warning, "ignored", {}});
  sink.progress("reading", 1, 2);
  CHECK(!std::is_copy_constructible_v<Sink>);
}

TEST_CASE("a sink gets what is reported, through the base class") {
  class Collector final : public Sink {
   public:
    void report(const Diagnostic& diagnostic) override { diagnostics.push_back(diagnostic); }
    void progress(std::string_view task, std::uint64_t done, std::uint64_t total) override {
      last = std::string(task) + " " + std::to_string(done) + "/" + std::to_string(total);
    }
    std::vector<Diagnostic> diagnostics;
    std::string last;
  } collector;

  Sink& sink = collector;
  sink.report({Severity::warning, "dropped", {.node = "n"}});
  sink.report({});
  sink.progress("writing", 3, 4);
  REQUIRE(collector.diagnostics.size() == 2);
  CHECK(collector.diagnostics[0].severity == Severity::warning);
  CHECK(collector.diagnostics[0].place.node == "n");
  CHECK(collector.diagnostics[1].severity == Severity::note);
  CHECK(collector.last == "writing 3/4");
}
