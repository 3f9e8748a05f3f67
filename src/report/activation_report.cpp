#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "calibration/value_errors.hpp"
#include "ir/behind_limits.hpp"
#include "ir/float_name.hpp"
#include "numerics/coded_range.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/report/summary.hpp"
#include "support/decibels.hpp"

namespace quadrant::inline v0 {
namespace {

ValueHistogram count_rounded(const Histogram& seen, const CodedRange& codes) {
  ValueHistogram made;
  made.low = std::min(static_cast<double>(seen.min()), codes.low);
  made.high = std::max(static_cast<double>(seen.max()), codes.high);
  made.non_finite = seen.non_finite_count();
  made.after.emplace();
  for (const WeightedValue& each : seen.values()) {
    made.before[made.bin_of(each.value)] += each.count;
    (*made.after)[made.bin_of(codes.rounded(each.value))] += each.count;
  }
  return made;
}

class ActivationReporter {
 public:
  explicit ActivationReporter(const ActivationReportSubject& subject)
      : subject_(subject), spelled_out_(subject.quantized) {
    if (subject.comparison != nullptr) errors_ = ValueErrors(*subject.comparison);
  }

  Expected<ActivationReport> run() {
    make_borders_real(spelled_out_);
    make_quantization_explicit(spelled_out_);
    QUADRANT_TRY(const std::vector<NodeId> order, topological_order(spelled_out_));
    ActivationReport report;
    if (subject_.statistics != nullptr) report.samples = subject_.statistics->samples;
    for (const NodeId node : order) {
      if (!is_rounded(node)) continue;
      QUADRANT_TRY(ReportedActivation made, in_tensor(describe(node), node));
      report.activations.push_back(std::move(made));
    }
    std::ranges::stable_sort(report.activations, {}, [](const ReportedActivation& each) {
      return each.sqnr_db.value_or(std::numeric_limits<double>::infinity());
    });
    const std::size_t shown = std::min(report.activations.size(), subject_.most);
    report.left_out = report.activations.size() - shown;
    report.activations.resize(shown);
    return report;
  }

 private:
  // Codes of 32 bits are sums of products, in the scale of these: as good as exact.
  [[nodiscard]] bool is_rounded(NodeId node) const {
    return spelled_out_.kind(node) == ops::Quantize::kind &&
           spelled_out_.type({node}).element != ElementType::int32 &&
           spelled_out_.constant(spelled_out_.operands(node)[0].node) == nullptr;
  }
  [[nodiscard]] const Graph& real() const { return subject_.real; }

  [[nodiscard]] Expected<ReportedActivation> describe(NodeId node) const {
    const TensorType& type = spelled_out_.type({node});
    ReportedActivation made;
    made.name = float_name(spelled_out_, real(), {node});
    const Value value = real().find_value(made.name);
    made.maker = value.is_absent() ? describe_maker(spelled_out_, spelled_out_.operands(node)[0])
                                   : describe_maker(real(), value);
    made.codes = to_string(type.element);
    made.sqnr_db_before = errors_.sqnr_db_before(real(), value);
    made.sqnr_db_behind = errors_.sqnr_db(made.name);
    QUADRANT_TRY(const auto range, coded_range(type.quantization));
    if (range) made.coded = {{range->low, range->high}, range->step, range->zero_point};
    if (const TensorStatistics* const seen = find_seen(made.name, value)) {
      add_seen(made, seen->histogram, range);
    }
    return made;
  }

  [[nodiscard]] const TensorStatistics* find_seen(std::string_view name, Value value) const {
    if (subject_.statistics == nullptr) return nullptr;
    if (!value.is_absent()) {
      const Value limited = behind_limits(real(), value);
      const auto* const found = subject_.statistics->find(real().value_name(limited));
      if (found != nullptr) return found;
    }
    return subject_.statistics->find(name);
  }

  static void add_seen(ReportedActivation& made, const Histogram& seen,
                       const std::optional<CodedRange>& range) {
    made.count = seen.finite_count();
    made.non_finite = seen.non_finite_count();
    if (made.count == 0) return;
    made.seen = {static_cast<double>(seen.min()), static_cast<double>(seen.max())};
    if (!range || !seen.has_bins()) return;
    const CodingEffect effect = coding_effect(seen, *range);
    const auto share = [&](std::uint64_t count) {
      return static_cast<double>(count) / static_cast<double>(effect.count);
    };
    made.shares = {share(effect.clipped), share(effect.at_low), share(effect.at_high)};
    const bool has_signal = effect.signal > 0 || effect.noise == 0;
    made.sqnr_db = has_signal ? decibels_of(effect.noise > 0 ? effect.noise / effect.signal : 0)
                              : -std::numeric_limits<double>::infinity();
    made.histogram = count_rounded(seen, *range);
  }

  static std::string describe_maker(const Graph& graph, Value value) {
    if (graph.kind(value.node) == ops::Input::kind) return "an input";
    return fmt::format("{} {}", graph.kind(value.node), label(graph, value.node));
  }

  template <class T>
  Expected<T> in_tensor(Expected<T> made, NodeId node) const {
    if (!made && made.error().place.tensor.empty()) {
      made.error().place.tensor = spelled_out_.value_name({node});
    }
    return made;
  }

  const ActivationReportSubject& subject_;
  Graph spelled_out_;
  ValueErrors errors_;
};

}  // namespace

Expected<ActivationReport> report_activations(const ActivationReportSubject& subject) {
  return ActivationReporter(subject).run();
}

}  // namespace quadrant::inline v0
