// Graphs made of the fuzzer's bytes: operations that the library knows, with operands, attributes,
// types and contents that mostly fit together. Reaches what hardly any damaged file does.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/onnx/names.hpp"
#include "ir/result_type.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/verify.hpp"
#include "quantize_and_write.hpp"
#include "require.hpp"

namespace {

using namespace quadrant;

// Operations of ops.hpp, those of weights more than once, and two that nobody knows.
constexpr std::array kinds{
    "identity",   "transpose",    "reshape",        "squeeze", "unsqueeze", "flatten",
    "cast",       "expand",       "slice",          "split",   "concat",    "gather",
    "einsum",     "add",          "multiply",       "matmul",  "matmul",    "gemm",
    "gemm",       "conv",         "conv_transpose", "rnn",     "gru",       "lstm",
    "linear",     "addmm",        "batch_matmul",   "baddbmm", "quantize",  "dequantize",
    "dequantize", "storage_cast", "onnx.Relu",      "strange",
};

constexpr std::array attribute_names{
    "perm",
    "axis",
    "axes",
    "transA",
    "transB",
    "alpha",
    "beta",
    "group",
    "strides",
    "dilations",
    "kernel_shape",
    "auto_pad",
    "pads",
    "allowzero",
    "keepdims",
    "split",
    "starts",
    "ends",
    "to",
    "num_outputs",
    "equation",
    "direction",
    "hidden_size",
    "layout",
    "output_shape",
    "output_padding",
    "onnx.absent_results",
    "onnx.captures",
};

constexpr std::array texts{
    "ij,jk->ik", "ij,kj->ik",  "bij,jk", "a,b->ab",
    "...i,ij",   "SAME_UPPER", "VALID",  "bidirectional",
};

constexpr std::array elements{
    ElementType::float32, ElementType::float32, ElementType::float32,   ElementType::float16,
    ElementType::int64,   ElementType::int8,    ElementType::bfloat16,  ElementType::float64,
    ElementType::uint8,   ElementType::int4,    ElementType::uint4,     ElementType::int32,
    ElementType::boolean, ElementType::opaque,  ElementType::undefined,
};

constexpr std::int64_t most_elements = 1 << 12;
constexpr std::uint32_t most_nodes = 24;

/// Contents that a computation has yet to make, and may fail to.
class Computed final : public ConstantSource {
 public:
  explicit Computed(bool fails) : fails_(fails) {}
  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (fails_) return fail(ErrorCode::io, "contents that cannot be read");
    for (std::byte& byte : out) byte = static_cast<std::byte>(offset++ % 64);
    return {};
  }

 private:
  bool fails_;
};

class Builder {
 public:
  explicit Builder(FuzzedDataProvider& data) : data_(data) {}

  Graph build() {
    if (one_in(2)) {
      graph_.attributes().set(std::string(onnx::key::opset_domains), std::vector<std::string>{""});
      graph_.attributes().set(std::string(onnx::key::opset_versions),
                              std::vector<std::int64_t>{number(7, 23)});
    }
    while (data_.remaining_bytes() > 0 && graph_.node_count() < most_nodes) add_node();
    for (auto count = number(1, 3); count > 0 && !values_.empty(); --count) {
      graph_.add_output(one_in(4) ? name() : std::string(), pick_value());
    }
    return std::move(graph_);
  }

 private:
  bool one_in(int times) { return data_.ConsumeIntegralInRange(1, times) == times; }
  std::int64_t number(std::int64_t min, std::int64_t max) {
    return data_.ConsumeIntegralInRange(min, max);
  }
  std::string name() { return data_.ConsumeRandomLengthString(6); }

  Value pick_value() {
    // Mostly one of the last: chains reach deeper than stars.
    const std::size_t from = one_in(3) || values_.size() < 4 ? 0 : values_.size() - 4;
    return values_[data_.ConsumeIntegralInRange(from, values_.size() - 1)];
  }

  // --- types and contents ---

  std::int64_t extent() {
    constexpr std::array strange{std::int64_t{0}, std::int64_t{-1}, std::int64_t{-2},
                                 std::int64_t{1} << 31, std::numeric_limits<std::int64_t>::max()};
    return one_in(32) ? data_.PickValueInArray(strange) : number(1, 4);
  }

  Shape shape() {
    if (one_in(32)) return {};
    std::vector<std::int64_t> extents(static_cast<std::size_t>(one_in(2) ? number(0, 5) : 2));
    for (std::int64_t& extent : extents) extent = this->extent();
    return Shape(std::move(extents));
  }

  Constant constant(ElementType element, Shape shape) {
    const auto count = shape.element_count();
    const auto width = static_cast<std::int64_t>(byte_width(element));
    if (!count || width == 0) return {};
    if (*count > most_elements) return {};
    if (one_in(8)) {
      return Constant::deferred(element, std::move(shape), std::make_shared<Computed>(one_in(4)));
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(*count * width));
    // A few bytes, over and over: the rest of the data is for the graph.
    const auto pattern = data_.ConsumeBytes<std::uint8_t>(8);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = pattern.empty() ? std::byte{0} : std::byte{pattern[i % pattern.size()]};
    }
    return Constant::from_bytes(element, std::move(shape), std::move(bytes));
  }

  std::shared_ptr<const UniformType> quantization(const Shape& shape) {
    UniformType type;
    type.storage = data_.PickValueInArray(elements);
    type.expressed = one_in(4) ? data_.PickValueInArray(elements) : ElementType::float32;
    if (const auto range = integer_range(type.storage)) {
      type.storage_min = one_in(4) ? number(range->min, range->max) : range->min;
      type.storage_max = range->max;
    }
    const std::int64_t rank = shape.rank();
    type.granularity = {static_cast<Granularity::Kind>(number(0, 2)), number(-1, rank),
                        one_in(8) ? number(-1, 0) : number(1, 4)};
    const bool has_axis = type.granularity.axis >= 0 && type.granularity.axis < rank;
    const bool fits = type.granularity.kind == Granularity::Kind::tensor ||
                      (has_axis && type.granularity.block_size > 0);
    const Shape parameters =
        fits && !one_in(16) ? parameter_shape(shape, type.granularity) : this->shape();
    type.scales = constant(one_in(16) ? ElementType::float16 : ElementType::float32, parameters);
    if (one_in(2)) type.zero_points = constant(type.storage, parameters);
    return std::make_shared<const UniformType>(std::move(type));
  }

  TensorType type() {
    TensorType type{data_.PickValueInArray(elements), shape(), nullptr};
    if (one_in(8)) {
      type.quantization = quantization(type.shape);
      if (!one_in(16)) type.element = type.quantization->storage;
    }
    return type;
  }

  Attribute attribute() {
    switch (number(0, 4)) {
      case 0:
        return one_in(8) ? data_.ConsumeIntegral<std::int64_t>() : number(-2, 4);
      case 1: {
        std::vector<std::int64_t> list(static_cast<std::size_t>(number(0, 4)));
        for (std::int64_t& element : list) element = one_in(16) ? extent() : number(-1, 3);
        return list;
      }
      case 2:
        return data_.ConsumeFloatingPoint<double>();
      case 3:
        return std::string(data_.PickValueInArray(texts));
      default:
        return name();
    }
  }

  // --- nodes ---

  void add_node() {
    if (values_.empty() || one_in(4)) {
      add_source();
    } else {
      add_operation();
    }
  }

  void add_source() {
    if (one_in(3)) {
      add_settled(graph_.add_input(name(), type()).node);
      return;
    }
    if (one_in(8)) {  // a shape
      std::vector<std::int64_t> extents(static_cast<std::size_t>(number(0, 4)));
      for (std::int64_t& element : extents) element = one_in(4) ? -1 : extent();
      const Shape shape{static_cast<std::int64_t>(extents.size())};
      values_.push_back(graph_.add_constant(
          name(), Constant::from_values<std::int64_t>(ElementType::int64, shape, extents)));
      return;
    }
    TensorType type = this->type();
    Constant contents = constant(type.element, type.shape);
    if (!contents) return;
    const Value value = graph_.add_constant(name(), contents);
    if (type.is_quantized()) graph_.set_type(value, std::move(type));
    add_settled(value.node);
  }

  void add_operation() {
    NodeSpec spec;
    spec.kind = data_.PickValueInArray(kinds);
    const bool is_unknown = spec.kind == "onnx.Relu" || spec.kind == "strange";
    if (one_in(4)) spec.name = name();
    // What it means to compute on codes is for those to know who made such a graph.
    constexpr std::array of_codes{ops::Identity::kind, ops::Transpose::kind, ops::Reshape::kind,
                                  ops::Dequantize::kind, ops::StorageCast::kind};
    const bool computes = std::ranges::find(of_codes, spec.kind) == of_codes.end();
    // The verifier looks at shapes and axes that are constants, the file's reader finds more of
    // them.
    constexpr std::array of_lists{ops::Reshape::kind, ops::Squeeze::kind, ops::Unsqueeze::kind,
                                  ops::Expand::kind,  ops::Slice::kind,   ops::Split::kind};
    const bool reads_lists = std::ranges::find(of_lists, spec.kind) != of_lists.end();
    for (auto count = number(1, one_in(8) ? 6 : 2); count > 0; --count) {
      const Value value = one_in(16) ? Value{} : pick_value();
      if (computes && !value.is_absent() && graph_.type(value).is_quantized()) return;
      if (reads_lists && !spec.operands.empty() && !may_be_list(value)) return;
      spec.operands.push_back(value);
    }
    const auto results = one_in(16) ? number(0, 3) : 1;
    for (auto count = results; count > 0; --count) {
      ResultSpec result;
      if (one_in(4)) result.name = name();
      if (one_in(4) || is_unknown) result.type = type();
      if (spec.kind == ops::Quantize::kind) {
        const Value data = spec.operands[0];
        if (!data.is_absent() && !one_in(8)) result.type = quantized(graph_.type(data).shape);
      }
      spec.results.push_back(std::move(result));
    }
    for (auto count = one_in(2) ? number(0, 3) : 0; count > 0; --count) {
      spec.attributes.set(data_.PickValueInArray(attribute_names), attribute());
    }
    add_settled(graph_.add(std::move(spec)));
  }

  // What is wrong by itself would hide all that comes after it: it goes again.
  void add_settled(NodeId node) {
    if (!settle(node)) {
      graph_.erase(node);
      return;
    }
    for (std::uint32_t result = 0; result < graph_.result_count(node); ++result) {
      values_.push_back({node, result});
    }
  }

  [[nodiscard]] bool may_be_list(Value value) const {
    if (value.is_absent()) return true;
    const TensorType& type = graph_.type(value);
    return type.element == ElementType::int64 && !type.is_quantized() && type.shape.rank() == 1;
  }

  TensorType quantized(const Shape& shape) {
    TensorType type;
    type.shape = shape;
    type.quantization = quantization(shape);
    type.element = type.quantization->storage;
    return type;
  }

  // Fills in the types of the results and says whether the node is valid: what `infer_shapes` and
  // `verify` do, for the one node that is new.
  bool settle(NodeId id) {
    const NodeRef node = graph_.ref(id);
    const auto inferred = detail::infer_results(node);
    if (!inferred) return false;
    const auto known = std::min<std::size_t>(inferred->size(), graph_.result_count(id));
    for (std::uint32_t result = 0; result < known; ++result) {
      auto merged = detail::merge(node.type(result), (*inferred)[result]);
      if (!merged) return false;
      graph_.set_type(node.result(result), *std::move(merged));
    }
    for (std::uint32_t result = 0; result < graph_.result_count(id); ++result) {
      const TensorType& type = node.type(result);
      // A file says more than the graph did, and may then contradict itself.
      if (type.element == ElementType::undefined) return false;
      if (!detail::check_extents(type.shape)) return false;
      if (type.is_quantized() && !verify(*type.quantization, type.shape)) return false;
    }
    return true;
  }

  FuzzedDataProvider& data_;
  Graph graph_;
  std::vector<Value> values_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  const auto choices = data.ConsumeIntegral<std::uint64_t>();
  const Graph graph = Builder(data).build();
  if (!verify(graph)) return 0;
  (void)fuzz::write_and_read(graph, choices);
  fuzz::quantize_and_write(graph, choices);
  return 0;
}
