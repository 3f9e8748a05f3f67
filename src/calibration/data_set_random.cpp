// Samples of random numbers that do not depend on the machine.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "calibration/data_set_inputs.hpp"
#include "ir/float16.hpp"
#include "quadrant/calibration/data_set.hpp"

namespace quadrant::inline v0 {
namespace data_set {
namespace {

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
/// 2014).
class Dice {
 public:
  /// A sequence of its own for each pair of numbers and a seed.
  Dice(std::uint64_t seed, std::uint64_t a, std::uint64_t b) : state_(mixed(mixed(seed) ^ a) ^ b) {}

  /// 64 uniform bits.
  std::uint64_t throw_one() {
    const std::uint64_t bits = mixed(state_);
    state_ += step;
    return bits;
  }

  /// The sum of twelve numbers that are uniform over [0, 1] has a variance of 1 and a density close
  /// to the normal one, and takes no function that differs between machines. Each has 16 bits.
  float near_normal() {
    std::int32_t sum = 0;
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t bits = throw_one();
      for (unsigned shift = 0; shift < 64; shift += 16)
        sum += static_cast<std::int32_t>(bits >> shift & 0xffffU);
    }
    constexpr std::int32_t twice_mean = 12 * 0xffff;
    return static_cast<float>(2 * sum - twice_mean) * 0x1p-17F;
  }

  /// A uniform integer of 0 ... `largest`.
  std::uint64_t up_to(std::uint64_t largest) {
    return largest == UINT64_MAX ? throw_one() : throw_one() % (largest + 1);
  }

 private:
  static constexpr std::uint64_t step = 0x9e3779b97f4a7c15U;

  /// What a generator in this state throws.
  static std::uint64_t mixed(std::uint64_t state) {
    std::uint64_t bits = state + step;
    bits = (bits ^ bits >> 30U) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ bits >> 27U) * 0x94d049bb133111ebU;
    return bits ^ bits >> 31U;
  }

  std::uint64_t state_;
};

/// The largest integer of the type that is not above `limit`; 1 for booleans.
std::uint64_t largest_of(ElementType element, std::int64_t limit) {
  if (element == ElementType::boolean) return 1;
  const auto range = integer_range(element);  // none for 64 bits
  const std::int64_t largest = range ? std::min(range->max, limit) : limit;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(largest, 0));
}

template <class T, class Draw>
void fill(Tensor& tensor, Draw draw) {
  for (T& element : tensor.fill<T>()) element = static_cast<T>(draw());
}

void fill_floats(Tensor& tensor, Dice& dice) {
  const auto draw = [&] { return dice.near_normal(); };
  switch (tensor.element()) {
    case ElementType::float16:
      fill<std::uint16_t>(tensor, [&] { return round_to_float16(draw()); });
      break;
    case ElementType::bfloat16:
      fill<std::uint16_t>(tensor, [&] { return round_to_bfloat16(draw()); });
      break;
    case ElementType::float32:
      fill<float>(tensor, draw);
      break;
    default:
      fill<double>(tensor, draw);
  }
}

void fill_integers(Tensor& tensor, Dice& dice, std::uint64_t largest) {
  const auto draw = [&] { return dice.up_to(largest); };
  switch (byte_width(tensor.element())) {
    case 1:
      fill<std::uint8_t>(tensor, draw);
      break;
    case 2:
      fill<std::uint16_t>(tensor, draw);
      break;
    case 4:
      fill<std::uint32_t>(tensor, draw);
      break;
    default:
      fill<std::uint64_t>(tensor, draw);
  }
}

class RandomDataSet final : public DataSet {
 public:
  RandomDataSet(std::vector<Input> inputs, std::size_t count, std::uint64_t seed,
                const RandomDataOptions& options)
      : inputs_(std::move(inputs)),
        count_(count),
        seed_(seed),
        largest_integer_(options.largest_integer),
        largest_input_(options.largest_input) {
    for (Input& input : inputs_) {
      const auto given = options.shapes.find(input.name);
      if (given != options.shapes.end()) {
        input.shape = given->second;
      } else {
        complete(input, options.sink);
      }
    }
  }

  [[nodiscard]] std::size_t size() const override { return count_; }
  [[nodiscard]] std::string name(std::size_t i) const override {
    return fmt::format("random_{}", i);
  }

  [[nodiscard]] Expected<Sample> sample(std::size_t i) const override {
    Sample sample;
    for (std::size_t number = 0; number < inputs_.size(); ++number) {
      const Input& input = inputs_[number];
      auto tensor = Tensor::make(input.element, input.shape, largest_input_);
      if (!tensor) {
        // Where there can be such a tensor, its size is in the way.
        const bool is_large = input.shape.is_static() && byte_width(input.element) != 0;
        return fail(
            ErrorCode::impossible,
            fmt::format("there are no random numbers for {} [{}]: {}", to_string(input.element),
                        to_string(input.shape), tensor.error().message),
            {.tensor = input.name}, is_large ? Remedy::more_memory : Remedy::none);
      }
      Dice dice(seed_, i, number);
      if (is_float(input.element)) {
        fill_floats(*tensor, dice);
      } else {
        fill_integers(*tensor, dice, largest_of(input.element, largest_integer_));
      }
      sample.inputs.push_back(*std::move(tensor));
    }
    return sample;
  }

 private:
  /// Extents that the model does not know are 1.
  static void complete(Input& input, Sink* sink) {
    if (!input.shape.is_ranked() || input.shape.is_static()) return;
    std::vector<std::int64_t> extents;
    for (const Extent extent : input.shape.extents()) extents.push_back(extent.value_or(1));
    Shape complete(extents);
    if (sink != nullptr) {
      sink->report({Severity::note,
                    fmt::format("random samples are made of shape [{}], where the model takes [{}]",
                                to_string(complete), to_string(input.shape)),
                    {.tensor = input.name}});
    }
    input.shape = std::move(complete);
  }

  std::vector<Input> inputs_;
  std::size_t count_;
  std::uint64_t seed_;
  std::int64_t largest_integer_;
  std::uint64_t largest_input_;
};

}  // namespace
}  // namespace data_set

std::unique_ptr<DataSet> random_data_set(const Graph& graph, std::size_t count, std::uint64_t seed,
                                         const RandomDataOptions& options) {
  return std::make_unique<data_set::RandomDataSet>(data_set::inputs_of(graph), count, seed,
                                                   options);
}

}  // namespace quadrant::inline v0
