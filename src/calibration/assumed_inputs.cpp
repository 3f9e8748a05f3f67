#include "calibration/assumed_inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/data_set_inputs.hpp"
#include "calibration/handed_out.hpp"
#include "calibration/measure.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

// Of the tables that `input`, or integers made of it, pick rows of: those of the smallest; 0: none.
std::int64_t rows_picked(const Graph& graph, NodeId input) {
  std::int64_t rows = 0;
  std::vector<bool> is_seen(graph.index_bound(), false);
  std::vector<NodeId> open{input};
  is_seen[input.index] = true;
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    for (const Use& use : graph.uses(node)) {
      const NodeRef user = graph.ref(use.user);
      const std::optional<std::int64_t> axis =
          user.kind() == ops::Gather::kind ? ops::Gather{user}.axis() : std::nullopt;
      if (axis && use.operand == 1) {
        const Extent extent = user.operand_type(0)->shape[*axis];
        if (extent.is_known()) rows = rows == 0 ? extent.value() : std::min(rows, extent.value());
        continue;
      }
      const bool hands_integers_on = graph.result_count(use.user) == 1 &&
                                     !is_seen[use.user.index] && !is_float(user.type().element);
      if (!hands_integers_on) continue;
      is_seen[use.user.index] = true;
      open.push_back(use.user);
    }
  }
  return rows;
}

class AssumedInputs final : public DataSet {
 public:
  AssumedInputs(const Graph& graph, std::size_t count, std::int64_t extent) : extent_(extent) {
    RandomDataOptions options;
    options.largest_integer = std::numeric_limits<std::int32_t>::max();
    options.largest_input = std::uint64_t{256} << 20U;
    for (const data_set::Input& input : data_set::inputs_of(graph)) {
      if (!input.shape.is_ranked()) continue;  // is refused where it is made
      std::vector<std::int64_t> extents;
      for (const Extent known : input.shape.extents()) {
        const bool is_batch = extents.empty() && input.shape.rank() > 1;
        extents.push_back(known.value_or(is_batch ? 1 : extent));
      }
      options.shapes.emplace(input.name, Shape(extents));
    }
    for (const NodeId input : graph.inputs()) rows_.push_back(rows_picked(graph, input));
    random_ = random_data_set(graph, count, 0, options);
  }

  [[nodiscard]] std::size_t size() const override { return random_->size(); }
  [[nodiscard]] std::string name(std::size_t i) const override { return random_->name(i); }
  [[nodiscard]] Expected<Sample> sample(std::size_t i) const override {
    QUADRANT_TRY(Sample sample, random_->sample(i));
    for (std::size_t input = 0; input < rows_.size(); ++input) {
      Tensor& tensor = sample.inputs[input];
      const ElementType element = tensor.element();
      if (element == ElementType::int64) {
        settle<std::int64_t>(tensor, rows_[input]);
      } else if (element == ElementType::int32) {
        settle<std::int32_t>(tensor, rows_[input]);
      }
    }
    return sample;
  }

 private:
  template <class T>
  void settle(Tensor& tensor, std::int64_t rows) const {
    const auto other = static_cast<T>(tensor.rank() <= 1 ? extent_ : 1);
    for (T& element : tensor.fill<T>()) {
      element = rows > 0 ? static_cast<T>(element % static_cast<T>(rows)) : other;
    }
  }

  std::int64_t extent_;
  std::vector<std::int64_t> rows_;  // by input
  std::unique_ptr<DataSet> random_;
};

bool says_something(const ModelExecutor& model, const DataSet& data, std::size_t outputs) {
  const auto sample = data.sample(0);
  if (!sample) return false;
  const auto results = run_model(model, sample->inputs, outputs);
  if (!results) return false;
  double power = 0;
  for (const Tensor& result : *results) {
    if (!is_float(result.element())) continue;
    Agreement agreement;
    if (!measure_agreement({}, result, result, agreement)) return false;
    if (agreement.nan != 0) return false;
    power += agreement.signal;
  }
  return power > 0 && std::isfinite(power);
}

}  // namespace

std::unique_ptr<DataSet> assumed_inputs(const Graph& graph, std::size_t count,
                                        const Runtime& runtime) {
  const std::vector<Value> outputs = output_values(graph);
  const auto model = load_checked(runtime, graph, outputs);
  if (!model) return nullptr;
  for (const std::int64_t extent : {32, 8, 64, 1}) {
    auto data = std::make_unique<AssumedInputs>(graph, count, extent);
    if (says_something(**model, *data, outputs.size())) return data;
  }
  return nullptr;
}

}  // namespace quadrant::inline v0
