#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "ir/scales.hpp"
#include "numerics/metrics.hpp"
#include "numerics/reals.hpp"
#include "quadrant/engine/declare/method.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/report/summary.hpp"
#include "report/weights.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t readers_shown = 3;

// A constant as real values.
Expected<std::vector<float>> read_floats(const Constant& constant, const TensorType& type) {
  QUADRANT_TRY(const std::vector<double> reals, type.is_quantized()
                                                    ? read_reals(constant, type.quantization)
                                                    : read_reals(constant));
  std::vector<float> values(reals.size());
  std::ranges::transform(reals, values.begin(),
                         [](double real) { return static_cast<float>(real); });
  return values;
}

class WeightReporter {
 public:
  explicit WeightReporter(const WeightReportSubject& subject) : subject_(subject) {}

  Expected<WeightReport> run() {
    std::vector<Weight> weights = find_weights(graph());
    std::ranges::sort(weights, [this](const Weight& a, const Weight& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : name(a.node) < name(b.node);
    });
    // By node, since explanations come in the order of the analysis.
    std::vector<const Explanation*> why(graph().index_bound(), nullptr);
    for (std::size_t i = 0; i < subject_.why.size(); ++i) {
      why[subject_.analysis.order[i].index] = &subject_.why[i];
    }

    WeightReport report;
    for (const Weight& weight : weights) add(report.before, weight);
    const std::size_t shown = std::min(weights.size(), subject_.most);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const Weight& weight = weights[i];
      const std::uint64_t bytes = bytes_after(weight);
      add(report.after, {weight.node, weight.elements, bytes, false});
      if (!weight.is_quantized && stored_as(weight).is_absent()) add(report.in_float, weight);
      if (i >= shown) {
        add(report.left_out, weight);
        continue;
      }
      if (subject_.sink != nullptr) subject_.sink->progress("report", i, shown);
      report.weights.push_back(describe(weight, bytes, *why[weight.node.index]));
      QUADRANT_CHECK(read(weight, report.weights.back()));
    }
    return report;
  }

 private:
  [[nodiscard]] const Graph& graph() const { return subject_.graph; }
  [[nodiscard]] std::string_view name(NodeId node) const { return graph().value_name({node, 0}); }

  // The value that holds the codes: the weight, or a reshape of it that is stored in its place.
  [[nodiscard]] Value stored_as(const Weight& weight) const {
    const Selection& selection = subject_.analysis.selection;
    const Value value{weight.node, 0};
    if (selection.is_selected(value)) return value;
    const auto uses = graph().uses(weight.node);
    if (uses.size() != 1 || graph().result_count(uses[0].user) != 1) return {};
    const Value made{uses[0].user, 0};
    return selection.is_selected(made) && change_of(made) ? made : Value{};
  }

  [[nodiscard]] std::optional<StorageChange> change_of(Value value) const {
    const RequestGraph& requests = subject_.analysis.requests;
    const ConstraintId form = requests[subject_.analysis.selection[value].request].constraint;
    const auto* method =
        subject_.analysis.eligibility.method(value.node, requests.constraints().scheme(form));
    if (method == nullptr) return std::nullopt;
    return method->erased_storage(requests.constraints().get(form), {&graph(), value.node});
  }

  [[nodiscard]] std::uint64_t bytes_after(const Weight& weight) const {
    const Value stored = stored_as(weight);
    if (stored.is_absent()) return weight.bytes;
    if (subject_.quantized != nullptr) {
      const Value codes = codes_of(stored);
      if (!codes.is_absent()) {
        return stored_bytes(subject_.quantized->type(codes).quantization,
                            subject_.quantized->type(codes).shape);
      }
    }
    const auto change = change_of(stored);
    return change ? change->after : weight.bytes;
  }

  // Where phase 4 put the codes of a value; absent where they are not found.
  [[nodiscard]] Value codes_of(Value stored) const {
    const Graph& quantized = *subject_.quantized;
    const auto holds_codes = [&quantized](Value value) {
      return !value.is_absent() && quantized.constant(value.node) != nullptr &&
             quantized.type(value).is_quantized();
    };
    if (quantized.contains(stored.node) && holds_codes(stored)) return stored;
    const std::string name(graph().value_name(stored));
    for (const std::string& candidate : {name, name + std::string(quantized_ending)}) {
      const Value found = quantized.find_value(candidate);
      if (holds_codes(found)) return found;
    }
    return {};
  }

  [[nodiscard]] ReportedWeight describe(const Weight& weight, std::uint64_t bytes,
                                        const Explanation& why) const {
    ReportedWeight entry;
    entry.name = name(weight.node);
    const TensorType real = graph().type({weight.node, 0}).expressed();
    entry.shape = to_string(real.shape);
    entry.element = to_string(real.element);
    entry.elements = weight.elements;
    entry.bytes_before = weight.bytes;
    entry.bytes_after = bytes;
    entry.why = why;
    for (const Use& use : graph().uses(weight.node)) {
      ++entry.reader_count;
      if (entry.readers.size() >= readers_shown) continue;
      entry.readers.push_back(
          fmt::format("{} {}", graph().kind(use.user), label(graph(), use.user)));
    }
    const Value stored = stored_as(weight);
    if (!stored.is_absent()) {
      const RequestGraph& requests = subject_.analysis.requests;
      entry.form = requests.constraints().print(
          requests[subject_.analysis.selection[stored].request].constraint);
    } else if (weight.is_quantized) {
      entry.form = "as it came";
    }
    return entry;
  }

  Expected<void> read(const Weight& weight, ReportedWeight& entry) const {
    if (subject_.quantized == nullptr) return {};
    const Value stored = stored_as(weight);
    const Value codes = stored.is_absent() ? Value{} : codes_of(stored);
    QUADRANT_TRY(const std::vector<float> before, floats_of(graph(), {weight.node, 0}));
    if (codes.is_absent() || has_own_meaning(codes)) {
      entry.histogram = count_values(before, std::nullopt);
      return {};
    }
    QUADRANT_TRY(const std::vector<float> after, floats_of(*subject_.quantized, codes));
    if (after.size() != before.size()) {
      entry.histogram = count_values(before, std::nullopt);
      return {};
    }
    entry.histogram = count_values(before, after);
    if (entry.histogram->non_finite == 0) entry.sqnr_db = sqnr_db(before, after);
    return {};
  }

  // Whether what reads the codes takes them for other numbers than their type says: bits, or
  // indices into a table of a scheme's own. What they stand for is that scheme's to know.
  [[nodiscard]] bool has_own_meaning(Value codes) const {
    const Graph& quantized = *subject_.quantized;
    const auto uses = quantized.uses(codes.node);
    return std::ranges::any_of(uses, [&](const Use& use) {
      const std::string_view kind = quantized.kind(use.user);
      return kind == ops::StorageCast::kind || (kind == ops::Gather::kind && use.operand == 1);
    });
  }

  [[nodiscard]] static Expected<std::vector<float>> floats_of(const Graph& graph, Value value) {
    Expected<std::vector<float>> values =
        read_floats(*graph.constant(value.node), graph.type(value));
    if (!values) values.error().place.tensor = graph.value_name(value);
    return values;
  }

  const WeightReportSubject& subject_;
};

}  // namespace

Expected<WeightReport> report_weights(const WeightReportSubject& subject) {
  return WeightReporter(subject).run();
}

}  // namespace quadrant::inline v0
