// Error feedback as a rounder of one's own (GPTQ, arXiv 2210.17323, as Babai's nearest plane, arXiv
// 2507.18553), in a command of one's own: the operations and scales are weight_only's.
//
//   build/release/bin/example_own_rounder quantize MODEL -o OUT --scheme feedback --calibration
//   DATA
#include <algorithm>
#include <cmath>

#include "quadrant/command.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/quadrant.hpp"

using namespace quadrant;

class Feedback final : public WeightOnly {
 public:
  explicit Feedback(const SchemeData& known) : WeightOnly(known.weights("int4")) {}
  QUADRANT_DERIVED_SCHEME(Feedback, WeightOnly, "feedback")
  [[nodiscard]] Expected<EncodedConstant> encode(const WeightToEncode& weight) const override;
};
QUADRANT_METHODS(Feedback) { add_all_of<WeightOnly>(); }

// The error e of a row costs the square of e L. From the last input to the first, each weight takes
// the code that brings its column of e L nearest to zero.
Expected<EncodedConstant> Feedback::encode(const WeightToEncode& weight) const {
  QUADRANT_TRY(EncodedConstant made, encode_constant(weight.real, weight.format));
  if (weight.moments == nullptr) return made;
  const auto round = [](const RowToRound& row) {
    const std::size_t n = row.real.size();
    std::vector<double> error(n);
    for (std::size_t j = n; j-- > 0;) {
      double aim = row.real[j];
      for (std::size_t k = j + 1; k < n; ++k) {
        aim -= error[k] * row.factor[k * n + j] / row.factor[j * n + j];
      }
      row.codes[j] = std::clamp(std::round(aim / row.step[j]), row.least, row.most);
      error[j] = row.codes[j] * row.step[j] - row.real[j];
    }
  };
  QUADRANT_CHECK(round_rows(weight.real, *weight.moments, 0.01, made, round));
  return made;
}

int main(int argc, char** argv) {
  const auto entry = scheme_entry<Feedback>("int4 by error feedback", SchemeInput::moments);
  return run_command(argc, argv, {entry});
}
