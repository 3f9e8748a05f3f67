// Graphs made of the fuzzer's bytes go through the transformations of float models, in any order:
// what comes out is valid, has the same inputs and outputs, and computes the same up to rounding,
// unless the transformation says that it does not.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "comparison.hpp"
#include "ir/aliases.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/methods/fake_quantize.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/transforms/equalize.hpp"
#include "quadrant/transforms/prepare.hpp"
#include "random_graph.hpp"
#include "require.hpp"
#include "runs.hpp"

namespace {

using namespace quadrant;

// A graph on its way.
struct Subject {
  Graph graph;
  MomentsTable moments;
  bool computes_the_same = true;
};

Expected<void> fold_normalizations(Subject& subject, bool all) {
  QUADRANT_TRY(FoldReport report, fold_batch_norm(subject.graph, {.fold_channelwise = all}));
  for (auto& [name, moments] : report.moments) subject.moments[name] = std::move(moments);
  return {};
}

Expected<void> equalize_layers(Subject& subject, std::int64_t clips) {
  const EqualizationOptions options{.clip = static_cast<ClipTreatment>(clips)};
  QUADRANT_TRY(const EqualizationReport report, equalize(subject.graph, subject.moments, options));
  subject.computes_the_same &= report.clips_dropped.empty();
  return {};
}

Expected<void> absorb(Subject& subject) {
  QUADRANT_TRY(const AbsorptionReport report, absorb_high_biases(subject.graph, subject.moments));
  const auto is_exact = [](const AbsorptionReport::Pair& pair) { return pair.is_exact; };
  subject.computes_the_same &= std::ranges::all_of(report.pairs, is_exact);
  return {};
}

// For weights that quantization does not change there is nothing to correct.
Expected<void> correct_nothing(Subject& subject) {
  const auto quantized = [&](Value weight) -> Expected<Constant> {
    const Constant* contents = subject.graph.constant(weight.node);
    const bool is_read = contents != nullptr && (contents->element() == ElementType::float32 ||
                                                 contents->element() == ElementType::float64);
    return is_read ? *contents : Constant();
  };
  QUADRANT_TRY(const BiasCorrectionReport report,
               correct_bias_analytic(subject.graph, subject.moments, quantized));
  for (const BiasCorrectionReport::Correction& correction : report.corrected) {
    fuzz::require(std::ranges::all_of(correction.shift, [](double shift) { return shift == 0; }),
                  "a bias is corrected for a weight that stays", [&] { return correction.layer; });
  }
  return {};
}

Expected<void> split_and_fuse(Subject& subject) {
  QUADRANT_TRY(SplitGraph split, split_fake_quantize(subject.graph));
  fuse_back_fake_quantize(split.graph, split.splits);
  subject.graph = std::move(split.graph);
  // Weights stay codes; what was rounded to a tie may now go to the other side of it.
  subject.computes_the_same &= split.splits.empty();
  return {};
}

Expected<void> transform(Subject& subject, std::int64_t which, fuzz::RandomValues& random) {
  switch (which) {
    case 0:
      return fold_normalizations(subject, !random.one_in(4));
    case 1:
      return equalize_layers(subject, random.number(0, 2));
    case 2:
      return absorb(subject);
    case 3:
      give_own_biases(subject.graph, {.add_missing = random.one_in(2)});
      return {};
    case 4:
      return fold_constants(subject.graph).map([](const auto&) {});
    case 5:
      return convert_fake_quant(subject.graph).map([](const auto&) {});
    case 6:
      return take_instrumentation(subject.graph).map([](const auto&) {});
    case 7:
      return resolve_aliases(subject.graph);
    case 8:
      return correct_nothing(subject);
    case 9:
      return split_and_fuse(subject);
    case 10:
      return limit_before_quantize(subject.graph).map([](const auto&) {});
    default:
      make_quantization_explicit(subject.graph);
      return {};
  }
}

void check(const Graph& original, fuzz::RandomValues& random) {
  std::optional<fuzz::Reference> reference;
  if (auto inputs = fuzz::random_inputs(random, original)) {
    reference = fuzz::reference(original, *std::move(inputs));
  }
  Subject subject{original, {}};
  std::string done;
  for (auto count = random.number(1, 6); count > 0; --count) {
    const std::int64_t which = random.number(0, 11);
    done += ' ' + std::to_string(which);
    const Graph before = subject.graph;
    const auto status = transform(subject, which, random);
    const auto show = [&] {
      return "transformations" + done + '\n' + print_graph(before) + "\nbecame\n" +
             print_graph(subject.graph);
    };
    // What is computed from constants may be no axis, which nobody sees before.
    if (which == 4 && !verify(subject.graph)) return;
    // After an error, too, the graph is whole.
    fuzz::require_value(verify(subject.graph), "a transformation made an invalid graph", show);
    const std::string what = "another signature after transformations" + done;
    fuzz::require_same_signature(before, subject.graph, what);
    fuzz::require_same_names(before, subject.graph, what);
    if (!status) return;
    if (!reference || !subject.computes_the_same) continue;
    fuzz::require_near(*reference, subject.graph, before, "other results after" + done);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  const auto of_choices = data.ConsumeBytes<std::uint8_t>(32);
  const Graph graph = fuzz::random_graph(data, fuzz::Purpose::computed, fuzz::computed_kinds());
  if (!verify(graph)) return 0;
  FuzzedDataProvider rest(of_choices.data(), of_choices.size());
  fuzz::RandomValues random(rest, fuzz::Purpose::computed);
  check(graph, random);
  return 0;
}
