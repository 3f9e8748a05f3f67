// Statistics as JSON: what is read reads back as the same table, which can be added to and asked.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/recipe/documents.hpp"
#include "require.hpp"

namespace {

using namespace quadrant;

void check_values(const Histogram& histogram, const std::string& printed) {
  const auto text_of_it = [&] { return printed; };
  const std::vector<WeightedValue> values = histogram.values();
  std::uint64_t count = 0;
  for (const WeightedValue& value : values) count += value.count;
  fuzz::require(count == histogram.finite_count(), "values were lost", text_of_it);
  // Each is more than the one before.
  fuzz::require(std::ranges::is_sorted(values, std::ranges::less_equal{}, &WeightedValue::value),
                "values are not in order", text_of_it);
  if (values.empty()) return;
  fuzz::require(values.front().value == static_cast<double>(histogram.min()) &&
                    values.back().value == static_cast<double>(histogram.max()),
                "values have another range", text_of_it);
}

void check(std::string_view text) {
  const auto table = parse_statistics(text);
  if (!table) return;
  const std::string printed = print_statistics(*table);
  const auto text_of_it = [&] { return printed; };
  const auto again = parse_statistics(printed);
  fuzz::require_value(again, "what was printed cannot be read", text_of_it);
  fuzz::require(*again == *table, "it reads back as another table", text_of_it);
  StatisticsTable twice = *table;
  twice.merge(*again);
  fuzz::require(twice.values.size() == table->values.size(), "values were lost", text_of_it);
  for (const auto& [name, statistics] : table->values) {
    check_values(statistics.histogram, printed);
    fuzz::require(twice.find(name)->mean() == statistics.mean(), "the mean of all twice is another",
                  text_of_it);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({reinterpret_cast<const char*>(data), size});
  return 0;
}
