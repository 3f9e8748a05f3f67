#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "models.hpp"
#include "quadrant/targets/placement.hpp"

using namespace quadrant;

namespace {

using enum FileAdvice;

PlacementOptions with(std::initializer_list<std::string_view> names) {
  PlacementOptions options{.runtimes = {}};
  for (const RuntimeProfile& profile : snpe_runtimes()) {
    for (const std::string_view name : names) {
      if (profile.name == name) options.runtimes.push_back(profile);
    }
  }
  REQUIRE(options.runtimes.size() == names.size());
  return options;
}

FileChoice choose(const PlacementOptions& options, std::uint64_t float_bytes = 400,
                  std::uint64_t quantized_bytes = 100) {
  const auto floating = place(models::floating(), options);
  const auto quantized = place(models::quantized(), options);
  REQUIRE(floating);
  REQUIRE(quantized);
  const auto choice = choose_file({.bytes = float_bytes, .placement = *floating},
                                  {.bytes = quantized_bytes, .placement = *quantized});
  REQUIRE(choice);
  CHECK(!choice->reasons.empty());
  return *choice;
}

FileAdvice advice(std::initializer_list<std::string_view> names) {
  return choose(with(names)).advice;
}

RuntimeProfile only_floats() {
  return {.name = "floats", .floating = {.native = {ElementType::float32}, .becomes = {}}};
}

}  // namespace

TEST_CASE("which file to ship, for each set of runtimes") {
  CHECK(advice({"CPU"}) == either);
  CHECK(advice({"GPU"}) == either);
  CHECK(advice({"CPU", "GPU"}) == either);
  CHECK(advice({"DSP"}) == quantized);
  CHECK(advice({"AIP"}) == quantized);
  CHECK(advice({"DSP", "AIP"}) == quantized);
  CHECK(advice({"CPU", "DSP"}) == quantized);
  CHECK(advice({"CPU", "AIP"}) == quantized);
  CHECK(advice({"CPU", "GPU", "DSP", "AIP"}) == quantized);
}

TEST_CASE("what is said of each runtime") {
  const FileChoice choice = choose(with({"CPU", "DSP", "AIP"}));
  REQUIRE(choice.runtimes.size() == 3);
  CHECK(choice.runtimes[0].loads_faster == floating);
  CHECK(choice.runtimes[1].loads_faster == quantized);
  CHECK(choice.runtimes[2].loads_faster == quantized);
  CHECK(choice.runtimes[0].takes_float);
  CHECK(choice.runtimes[0].takes_quantized);
  CHECK(!choice.runtimes[2].takes_float);
  CHECK(choice.smaller == quantized);
  CHECK(choice.reasons ==
        std::vector<std::string>{
            "the float file is refused by AIP",
            "less of the quantized file is converted at load by DSP: the float one brings nothing "
            "there",
            "less of the float file is converted at load by CPU, and it may be more accurate there",
            "a float file beside it saves CPU the conversion"});
}

TEST_CASE("a quantized file that is not smaller has no merit on the CPU") {
  CHECK(choose(with({"CPU"}), 100, 100).smaller == either);
  CHECK(choose(with({"CPU"}), 100, 100).advice == floating);
  CHECK(choose(with({"CPU"}), 100, 101).smaller == floating);
  CHECK(choose(with({"CPU"}), 100, 101).advice == floating);
  CHECK(choose(with({"CPU"}), 100, 99).advice == either);
  // On the DSP it has one.
  CHECK(choose(with({"DSP"}), 100, 101).advice == quantized);
}

TEST_CASE("runtimes of one's own: floats alone, nothing at all, everything") {
  CHECK(choose({.runtimes = {only_floats()}}).advice == floating);
  PlacementOptions options = with({"AIP"});
  options.runtimes.push_back(only_floats());
  CHECK(choose(options).advice == both);
  RuntimeProfile nothing;
  nothing.name = "nothing";
  options.runtimes.push_back(nothing);
  const FileChoice choice = choose(options);
  CHECK(choice.advice == neither);
  CHECK(choice.runtimes[2].loads_faster == neither);
  RuntimeProfile everything = only_floats();
  everything.quantized.native = {ElementType::int8, ElementType::uint8, ElementType::int32};
  CHECK(choose({.runtimes = {everything}}).advice == either);
  CHECK(choose({.runtimes = {everything}}).runtimes[0].loads_faster == either);
}

TEST_CASE("files that are not what they are said to be") {
  const auto floats = place(models::floating());
  const auto codes = place(models::quantized());
  const auto empty = place(Graph());
  const auto cpu = place(models::quantized(), with({"CPU"}));
  const auto message = [](const Placement& first, const Placement& second) {
    const auto choice =
        choose_file({.bytes = 1, .placement = first}, {.bytes = 1, .placement = second});
    REQUIRE(!choice);
    CHECK(choice.error().code == ErrorCode::usage);
    return choice.error().message;
  };
  CHECK(message(*codes, *codes) == "the float file has quantized parameters");
  CHECK(message(*floats, *floats) == "the quantized file has no quantized parameters");
  CHECK(message(*floats, *empty) == "the quantized file has no quantized parameters");
  CHECK(message(*floats, *cpu) == "the two files were placed on different runtimes");
}
