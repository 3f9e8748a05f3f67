#include "io/onnx/transposed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "shortened.hpp"

namespace quadrant {
namespace {

// Contents that have no view.
class Hidden final : public ConstantSource {
 public:
  explicit Hidden(Constant constant) : constant_(std::move(constant)) {}
  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    return constant_.read(offset, out);
  }

 private:
  Constant constant_;
};

template <class T>
void check_transposed(ElementType element, std::int64_t rows, std::int64_t columns) {
  std::vector<T> values(static_cast<std::size_t>(rows * columns));
  std::iota(values.begin(), values.end(), T{1});
  const Constant matrix = Constant::from_values<T>(element, {rows, columns}, values);
  std::vector<T> expected;
  for (std::int64_t column = 0; column < columns; ++column) {
    for (std::int64_t row = 0; row < rows; ++row) {
      expected.push_back(values[static_cast<std::size_t>(row * columns + column)]);
    }
  }
  const auto bytes = std::as_bytes(std::span(expected));
  std::mt19937_64 random(1);
  const auto hidden =
      Constant::deferred(element, {rows, columns}, std::make_shared<const Hidden>(matrix));
  for (const Constant& from : {matrix, hidden}) {
    const Constant made = onnx::transposed(from, rows, columns, {rows * columns});
    CHECK(made.element() == element);
    CHECK(std::ranges::equal(made.read().value().bytes(), bytes));
    for (int i = 0; i < (test::is_whole() ? 20 : 2); ++i) {  // from any byte to any byte
      const std::size_t begin = random() % bytes.size();
      std::vector<std::byte> part(random() % (bytes.size() - begin) + 1);
      REQUIRE(made.read(begin, part));
      CHECK(std::ranges::equal(part, bytes.subspan(begin, part.size())));
    }
  }
}

TEST_CASE("transposed: any part of matrices of any form") {
  for (const auto& [rows, columns] :
       {std::pair{1, 1}, {1, 70'000}, {70'000, 1}, {3, 5}, {130, 999}, {40'001, 3}, {3, 40'001}}) {
    check_transposed<std::uint32_t>(ElementType::float32, rows, columns);
    check_transposed<std::uint16_t>(ElementType::float16, rows, columns);
  }
}

}  // namespace
}  // namespace quadrant
