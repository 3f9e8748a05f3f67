#include "command.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "my_scheme.hpp"
#include "quadrant/recipe/scheme_table.hpp"

namespace my {

using namespace quadrant;

namespace {

// `bits` in recipes, `--power-of-two-bits` of the command.
std::span<const OptionSpec> options() {
  static const std::vector<OptionSpec> table{{.key = "bits",
                                              .kind = OptionSpec::Kind::integer,
                                              .summary = "Bits of a code",
                                              .least = 2,
                                              .most = 16,
                                              .placeholder = "N",
                                              .fallback = "8"}};
  return table;
}

Expected<Registry> make(const OptionValues& values, const SchemeData&) {
  QUADRANT_CHECK(check_options(options(), values, "power_of_two"));
  TensorWise form;
  if (const auto* bits = given<std::int64_t>(values, "bits")) form.bits = static_cast<int>(*bits);
  return RegistryBuilder::of(PowerOfTwo(form)).freeze();
}

// What a budget chooses from: codes of one byte and of two.
Expected<std::vector<SchemeChoice>> variants() {
  return std::vector<SchemeChoice>{{"p8", "power_of_two", {}},
                                   {"p16", "power_of_two", {{"bits", std::int64_t{16}}}}};
}

}  // namespace

SchemeEntry power_of_two() {
  return {.name = "power_of_two",
          .summary = "weights become integers with one scale each, a power of two",
          .gain = "bytes",
          .options = options(),
          .make = make,
          .variants = variants};
}

}  // namespace my
