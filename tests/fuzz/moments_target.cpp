// Second moments and their grids as files: what is read is written again byte for byte, and can be
// added to and asked.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "quadrant/calibration/second_moments.hpp"
#include "require.hpp"

namespace {

using namespace quadrant;

void check_means(const SecondMomentsTable& table) {
  for (const auto& [name, kept] : table.weights) {
    const SecondMoments& moments = *kept.in_memory();
    for (std::size_t matrix = 0; matrix < moments.layout().matrices.size(); ++matrix) {
      // As many as the file has, which has no more than bytes.
      const std::vector<double> mean = moments.block_means(matrix);
      const std::size_t n = moments.layout().columns.size();
      const std::size_t block = moments.block();
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t first = i - i % block;
        fuzz::require(mean[i * block + i - first] >= 0, "a mean of squares is negative",
                      [&] { return name; });
        for (std::size_t j = first; j < i; ++j) {
          const double below = mean[i * block + j - first];
          fuzz::require(below == mean[j * block + i - first] || std::isnan(below),
                        "means are not symmetric", [&] { return name; });
        }
      }
    }
  }
}

void check(std::string_view bytes) {
  const auto saved = parse_moments(bytes);
  if (!saved) return;
  const auto text = [&] { return std::string(bytes); };
  const std::string printed =
      std::visit([](const auto& table) { return print_moments(table); }, *saved);
  fuzz::require(printed == bytes, "it is written in another way", text);
  if (const auto* const grid = std::get_if<MomentsGrid>(&*saved)) {
    MomentsGrid twice = *grid;
    fuzz::require_value(twice.merge(*grid), "a grid does not go with itself", text);
    fuzz::require(twice.weights == grid->weights && twice.left == grid->left,
                  "a grid with itself is another", text);
    return;
  }
  const auto& moments = std::get<SecondMomentsTable>(*saved);
  check_means(moments);
  SecondMomentsTable twice = moments;
  const auto added = twice.merge(moments);
  fuzz::require(added || added.error().code == ErrorCode::impossible,
                "moments do not go with themselves", text);
  if (added) check_means(twice);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({reinterpret_cast<const char*>(data), size});
  return 0;
}
