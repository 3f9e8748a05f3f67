#include "mlir_plugin/export_graph.hpp"

#include <fmt/format.h>
#include <llvm/ADT/DenseMap.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mlir_plugin/constants.hpp"
#include "mlir_plugin/moved_codes.hpp"
#include "mlir_plugin/seen.hpp"
#include "mlir_plugin/types.hpp"
#include "quadrant/ir/given_form.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/scales.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

using Axes = std::vector<std::int64_t>;

// Bytes of what sums begin with, beyond which nobody looks whether it is all the same.
constexpr std::uint64_t largest_init = std::uint64_t{1} << 20;

// Operations of real numbers that are computed element by element.
std::string_view elementwise_kind(llvm::StringRef name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 42> kinds{{
      {"arith.addf", ops::Add::kind},
      {"linalg.add", ops::Add::kind},
      {"tosa.add", ops::Add::kind},
      {"arith.mulf", ops::Multiply::kind},
      {"linalg.mul", ops::Multiply::kind},
      {"tosa.mul", ops::Multiply::kind},
      {"arith.subf", "onnx.Sub"},
      {"linalg.sub", "onnx.Sub"},
      {"tosa.sub", "onnx.Sub"},
      {"arith.divf", "onnx.Div"},
      {"linalg.div", "onnx.Div"},
      {"arith.maximumf", "onnx.Max"},
      {"linalg.max", "onnx.Max"},
      {"tosa.maximum", "onnx.Max"},
      {"arith.minimumf", "onnx.Min"},
      {"linalg.min", "onnx.Min"},
      {"tosa.minimum", "onnx.Min"},
      {"arith.negf", "onnx.Neg"},
      {"linalg.negf", "onnx.Neg"},
      {"math.exp", "onnx.Exp"},
      {"linalg.exp", "onnx.Exp"},
      {"tosa.exp", "onnx.Exp"},
      {"math.log", "onnx.Log"},
      {"linalg.log", "onnx.Log"},
      {"tosa.log", "onnx.Log"},
      {"math.tanh", "onnx.Tanh"},
      {"linalg.tanh", "onnx.Tanh"},
      {"tosa.tanh", "onnx.Tanh"},
      {"tosa.sigmoid", "onnx.Sigmoid"},
      {"math.sqrt", "onnx.Sqrt"},
      {"linalg.sqrt", "onnx.Sqrt"},
      {"math.erf", "onnx.Erf"},
      {"linalg.erf", "onnx.Erf"},
      {"tosa.erf", "onnx.Erf"},
      {"math.absf", "onnx.Abs"},
      {"linalg.abs", "onnx.Abs"},
      {"tosa.abs", "onnx.Abs"},
      {"tosa.reciprocal", "onnx.Reciprocal"},
      {"linalg.reciprocal", "onnx.Reciprocal"},
      {"math.floor", "onnx.Floor"},
      {"math.ceil", "onnx.Ceil"},
      {"math.roundeven", "onnx.Round"},
  }};
  const auto* const found =
      std::ranges::find(kinds, std::string_view(name), [](const auto& pair) { return pair.first; });
  return found == kinds.end() ? std::string_view() : found->second;
}

// A convolution as ONNX lays it out: how data, weight and result are transposed.
struct ImageLayout {
  llvm::StringRef name;
  Axes data;    // to [N, C, H, W]
  Axes weight;  // to [O, I, H, W]
  Axes result;  // back
};

const std::array<ImageLayout, 3>& image_layouts() {
  static const std::array<ImageLayout, 3> layouts{
      ImageLayout{"linalg.conv_2d_nchw_fchw", {}, {}, {}},
      ImageLayout{"linalg.conv_2d_nhwc_hwcf", {0, 3, 1, 2}, {3, 2, 0, 1}, {0, 2, 3, 1}},
      ImageLayout{"linalg.conv_2d_nhwc_fhwc", {0, 3, 1, 2}, {0, 3, 1, 2}, {0, 2, 3, 1}}};
  return layouts;
}

class Exporting {
 public:
  Exporting(mlir::FunctionOpInterface function, mlir::Location& at)
      : function_(function), at_(&at) {}

  Expected<Graph> run() {
    mlir::Region& body = function_.getFunctionBody();
    if (!body.hasOneBlock()) {
      return fail(ErrorCode::impossible, "functions with branches are not exported");
    }
    for (const mlir::BlockArgument argument : body.getArguments()) {
      *at_ = argument.getLoc();
      QUADRANT_TRY(TensorType type, static_type(argument));
      const std::string name = fmt::format("argument_{}", argument.getArgNumber());
      values_[argument] = graph_.add_input(name, std::move(type));
    }
    for (mlir::Operation& op : body.front()) {
      *at_ = op.getLoc();
      QUADRANT_CHECK(convert(op));
    }
    drop_unread_constants();
    return std::move(graph_);
  }

 private:
  // Zeros that sums begin with, and lists in their former shapes.
  void drop_unread_constants() {
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (!node.is_valid() || graph_.constant(node) == nullptr) continue;
      if (graph_.uses(node).empty()) graph_.erase(node);
    }
  }

  [[nodiscard]] static tl::unexpected<Error> refuse(std::string what) {
    return fail(ErrorCode::impossible, std::move(what));
  }

  [[nodiscard]] static Expected<TensorType> static_type(mlir::Value value) {
    TensorType type = to_tensor_type(value.getType());
    if (!type.shape.is_static() || type.element == ElementType::opaque) {
      std::string text;
      llvm::raw_string_ostream(text) << value.getType();
      return refuse(fmt::format("values of type {} are not exported", text));
    }
    return type;
  }

  Value emit(std::string_view kind, std::vector<Value> operands, TensorType type,
             Attributes attributes = {}) {
    NodeSpec spec;
    spec.kind = kind;
    spec.operands = std::move(operands);
    spec.results.push_back({{}, std::move(type)});
    spec.attributes = std::move(attributes);
    return {graph_.add(std::move(spec))};
  }

  Value integers(const Axes& values) {
    return graph_.add_constant(
        {}, Constant::from_values<std::int64_t>(
                ElementType::int64, Shape{static_cast<std::int64_t>(values.size())}, values));
  }

  // `perm` empty: as it is.
  Value transposed(Value value, const Axes& perm) {
    if (perm.empty()) return value;
    TensorType type = graph_.type(value);
    Axes extents;
    for (const std::int64_t axis : perm) extents.push_back(type.shape[axis]);
    type.shape = Shape(std::move(extents));
    if (is_list(value)) return reshaped(value, type.shape);
    return emit_move(ops::Transpose::kind, {value}, std::move(type), Attributes{{"perm", perm}});
  }

  // A constant of which at most one extent is not 1: its elements stay in order wherever it goes.
  bool is_list(Value value) {
    const Constant* const constant = graph_.constant(value.node);
    if (constant == nullptr || graph_.type(value).is_quantized()) return false;
    return std::ranges::count_if(constant->shape().extents(),
                                 [](std::int64_t extent) { return extent != 1; }) <= 1;
  }

  Value reshaped(Value value, const Shape& shape) {
    if (is_list(value)) {
      return graph_.add_constant({}, graph_.constant(value.node)->reshaped(shape));
    }
    TensorType type = graph_.type(value);
    type.shape = shape;
    const Axes extents(shape.extents().begin(), shape.extents().end());
    return emit_move(ops::Reshape::kind, {value, integers(extents)}, std::move(type), {});
  }

  // Of codes, scales of an axis go where the axis goes; where they cannot stay together, these are
  // plain integers from there on.
  Value emit_move(std::string_view kind, std::vector<Value> operands, TensorType type,
                  Attributes attributes) {
    const auto quantization = std::exchange(type.quantization, nullptr);
    const Value made = emit(kind, std::move(operands), std::move(type), std::move(attributes));
    const auto before = quantization ? GivenForm::of(quantization) : std::nullopt;
    const auto moved = before ? moved_form(graph_.ref(made.node), *before) : std::nullopt;
    if (moved) {
      TensorType typed = graph_.type(made);
      typed.quantization = moved->type;
      graph_.set_type(made, std::move(typed));
    }
    return made;
  }

  Expected<void> convert(mlir::Operation& op) {
    if (op.getName().getStringRef() == "func.return") return add_outputs(op);
    // Destinations and scalars are looked at where they are used.
    if (op.getNumResults() == 1 && is_looked_at_later(op)) return {};
    if (op.getNumResults() != 1) return unknown(op);
    if (const auto axes = stretched_axes(op)) return stretch(op, *axes);
    QUADRANT_TRY(const Value made, converted(op));
    if (made.is_absent()) return unknown(op);
    values_[op.getResult(0)] = made;
    return {};
  }

  // Operations that are computed element by element repeat their operands themselves.
  Expected<void> stretch(mlir::Operation& op, const Axes& axes) {
    QUADRANT_TRY(const TensorType type, static_type(op.getResult(0)));
    QUADRANT_TRY(const Value operand, read(op.getOperand(0)));
    Axes extents(static_cast<std::size_t>(type.shape.rank()), 1);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      extents[static_cast<std::size_t>(axes[i])] =
          graph_.type(operand).shape[static_cast<std::int64_t>(i)];
    }
    stretched_[op.getResult(0)] = reshaped(operand, Shape(std::move(extents)));
    return {};
  }

  // `value`, perhaps not yet stretched.
  Expected<Value> read_for_broadcast(mlir::Value value) {
    const auto stretched = stretched_.find(value);
    if (stretched != stretched_.end()) return stretched->second;
    return read(value);
  }

  static tl::unexpected<Error> unknown(mlir::Operation& op) {
    return refuse(fmt::format("the operation {} is not exported",
                              std::string_view(op.getName().getStringRef())));
  }

  static bool is_looked_at_later(mlir::Operation& op) {
    const llvm::StringRef name = op.getName().getStringRef();
    return name == "tensor.empty" || !llvm::isa<mlir::ShapedType>(op.getResult(0).getType());
  }

  Expected<void> add_outputs(mlir::Operation& op) {
    for (const mlir::Value value : op.getOperands()) {
      QUADRANT_TRY(const Value known, read(value));
      graph_.add_output(fmt::format("result_{}", graph_.outputs().size()), known);
    }
    return {};
  }

  // Of its own shape: what was stretched is, once.
  Expected<Value> read(mlir::Value value) {
    const auto stretched = stretched_.find(value);
    if (stretched != stretched_.end()) {
      QUADRANT_TRY(TensorType type, static_type(value));
      const Axes extents(type.shape.extents().begin(), type.shape.extents().end());
      const Value whole =
          emit("onnx.Expand", {stretched->second, integers(extents)}, std::move(type));
      values_[value] = whole;
      stretched_.erase(stretched);
      return whole;
    }
    const auto found = values_.find(value);
    if (found != values_.end()) return found->second;
    mlir::Operation* const maker = value.getDefiningOp();
    return refuse(fmt::format("an operand that {} makes is not exported",
                              maker == nullptr
                                  ? std::string_view("another block")
                                  : std::string_view(maker->getName().getStringRef())));
  }

  Expected<Value> converted(mlir::Operation& op) {
    QUADRANT_TRY(TensorType type, static_type(op.getResult(0)));
    if (const mlir::Attribute contents = contents_of(op)) {
      const Constant constant = to_constant(contents, are_unsigned_codes(op.getResult(0)));
      if (!constant) return refuse("the contents of this constant are not there");
      return graph_.add_constant({}, constant);
    }
    const llvm::StringRef name = op.getName().getStringRef();
    if (name == "linalg.fill") return filled(op, type);
    const std::string_view kind = elementwise_kind(name);
    Seen seen = see(op);
    std::vector<Value> operands;
    const auto count = kind.empty() ? seen.operands : inputs_of(op);
    bool has_whole = kind.empty();
    for (std::uint32_t i = 0; i < count && seen.kind != MlirProduct::kind; ++i) {
      // One of them has the shape of the result.
      const bool is_last = i + 1 == count;
      const bool may_repeat = !kind.empty() && (has_whole || !is_last);
      QUADRANT_TRY(const Value operand,
                   may_repeat ? read_for_broadcast(op.getOperand(i)) : read(op.getOperand(i)));
      has_whole = has_whole || graph_.type(operand).shape == type.shape;
      operands.push_back(operand);
    }
    if (!kind.empty()) return emit(kind, std::move(operands), std::move(type));
    if (seen.kind == MlirProduct::kind) return product(op);
    if (seen.kind == ops::Reshape::kind) return reshaped(operands[0], type.shape);
    if (seen.kind == ops::Transpose::kind) {
      return transposed(operands[0], std::get<Axes>(*seen.attributes.find("perm")));
    }
    if (seen.kind == ops::StorageCast::kind) return storage_cast(operands[0], std::move(type));
    for (const std::string_view same :
         {ops::Identity::kind, ops::Quantize::kind, ops::Dequantize::kind}) {
      if (seen.kind == same) return emit(same, std::move(operands), std::move(type));
    }
    return Value{};
  }

  // Integers between two casts keep the type that they were cast from, while they are moved.
  Value storage_cast(Value value, TensorType type) {
    const TensorType& before = graph_.type(value);
    if (!type.quantization && before.quantization) return value;
    const bool is_known = before.quantization && type.quantization &&
                          mean_the_same(*before.quantization, *type.quantization);
    if (is_known) return value;
    if (before.quantization) {
      value = emit(ops::StorageCast::kind, {value}, {before.element, before.shape, nullptr});
    }
    return emit(ops::StorageCast::kind, {value}, std::move(type));
  }

  // Whether these integers, moved or not, become codes without a sign.
  static bool are_unsigned_codes(mlir::Value integers) {
    std::vector<mlir::Value> moved{integers};
    while (!moved.empty()) {
      const mlir::Value value = moved.back();
      moved.pop_back();
      for (mlir::Operation* const user : value.getUsers()) {
        if (is_move(user)) {
          moved.push_back(user->getResult(0));
        } else if (user->getName().getStringRef() == "quant.scast") {
          const auto quantized = llvm::dyn_cast<mlir::quant::QuantizedType>(
              mlir::getElementTypeOrSelf(user->getResult(0)));
          return quantized && !quantized.isSigned();
        }
      }
    }
    return false;
  }

  // Without destinations, and tosa.mul's shift.
  static std::uint32_t inputs_of(mlir::Operation& op) {
    if (auto linalg = llvm::dyn_cast<mlir::linalg::LinalgOp>(op)) {
      return static_cast<std::uint32_t>(linalg.getNumDpsInputs());
    }
    return std::min(op.getNumOperands(), 2U);
  }

  Expected<Value> filled(mlir::Operation& op, const TensorType& type) {
    mlir::Operation* const maker = op.getOperand(0).getDefiningOp();
    const auto number = llvm::dyn_cast_if_present<mlir::FloatAttr>(
        maker == nullptr ? mlir::Attribute() : contents_of(*maker));
    if (!number) return refuse("linalg.fill with a computed number is not exported");
    const auto splat = mlir::DenseElementsAttr::get(
        llvm::cast<mlir::ShapedType>(op.getResult(0).getType()), mlir::Attribute(number));
    const Constant contents = to_constant(splat);
    if (!contents) {
      return refuse(fmt::format("{} is not exported", to_string(type)));
    }
    return graph_.add_constant({}, contents);
  }

  // --- products -------------------------------------------------------------------------------

  Expected<Value> product(mlir::Operation& op) {
    QUADRANT_TRY(const TensorType type, static_type(op.getResult(0)));
    QUADRANT_TRY(const Value a, read(op.getOperand(0)));
    QUADRANT_TRY(const Value b, read(op.getOperand(1)));
    const llvm::StringRef name = op.getName().getStringRef();
    Value made;
    if (name.starts_with("linalg.matmul") || name.starts_with("linalg.batch_matmul") ||
        name == "tosa.matmul") {
      made = matrix_product(op, a, b, type);
    } else if (name.starts_with("linalg.conv_2d") || name.starts_with("linalg.depthwise")) {
      return convolution(op, a, b);
    }
    if (made.is_absent() || op.getNumOperands() < 3 || name.starts_with("tosa")) return made;
    return added_to_init(op, made, {}, type);
  }

  Value matrix_product(mlir::Operation& op, Value a, Value b, const TensorType& type) {
    const Seen seen = see(op);
    const auto axis = [&](std::string_view which, std::size_t operand) {
      const Attribute* found = seen.attributes.find(which);
      return found == nullptr ? -1 : std::get<Axes>(*found)[operand];
    };
    // The sum runs over the last axis of A and the last but one of B.
    const std::int64_t rank = type.shape.rank();
    Axes swapped;
    for (std::int64_t i = 0; i < rank; ++i) swapped.push_back(i);
    std::swap(swapped[static_cast<std::size_t>(rank - 1)],
              swapped[static_cast<std::size_t>(rank - 2)]);
    if (axis(MlirProduct::contracted, 0) != rank - 1) a = transposed(a, swapped);
    if (axis(MlirProduct::contracted, 1) != rank - 2) b = transposed(b, swapped);
    return emit(ops::MatMul::kind, {a, b}, type);
  }

  static Axes window(mlir::Operation& op, llvm::StringRef name) {
    const auto found = op.getAttrOfType<mlir::DenseIntElementsAttr>(name);
    if (!found) return {1, 1};
    Axes values;
    for (const llvm::APInt& value : found.getValues<llvm::APInt>()) {
      values.push_back(value.getSExtValue());
    }
    return values;
  }

  // Of [N, C, H, W] and [O, I, H, W].
  Value convolved(mlir::Operation& op, Value data, Value weight, std::int64_t groups) {
    const Shape& image = graph_.type(data).shape;
    const Shape& kernel = graph_.type(weight).shape;
    const Axes strides = window(op, "strides");
    const Axes dilations = window(op, "dilations");
    Axes extents{image[0], kernel[0]};
    for (std::size_t i = 0; i < 2; ++i) {
      const auto axis = static_cast<std::int64_t>(i) + 2;
      const std::int64_t reach = (kernel[axis] - 1) * dilations[i] + 1;
      extents.push_back((image[axis] - reach) / strides[i] + 1);
    }
    TensorType type{graph_.type(data).element, Shape(std::move(extents)), nullptr};
    return emit(ops::Conv::kind, {data, weight}, std::move(type),
                Attributes{{"strides", strides},
                           {"dilations", dilations},
                           {"group", groups},
                           {"kernel_shape", Axes{kernel[2], kernel[3]}}});
  }

  Expected<Value> convolution(mlir::Operation& op, Value data, Value weight) {
    const llvm::StringRef name = op.getName().getStringRef();
    const auto* const layout = std::ranges::find(image_layouts(), name, &ImageLayout::name);
    if (layout != image_layouts().end()) {
      const Value made =
          convolved(op, transposed(data, layout->data), transposed(weight, layout->weight), 1);
      QUADRANT_TRY(const Value sum, added_to_init(op, made, layout->data, graph_.type(made)));
      return transposed(sum, layout->result);
    }
    const Shape shape = graph_.type(weight).shape;  // [H, W, C] or [H, W, C, M]
    const bool is_multiplied = name == "linalg.depthwise_conv_2d_nhwc_hwcm";
    if (!is_multiplied && name != "linalg.depthwise_conv_2d_nhwc_hwc") return Value{};
    const std::int64_t channels = shape[2];
    const std::int64_t multiplier = is_multiplied ? shape[3] : 1;
    const Value channels_first =
        transposed(weight, is_multiplied ? Axes{2, 3, 0, 1} : Axes{2, 0, 1});
    const Value kernel =
        reshaped(channels_first, Shape{channels * multiplier, 1, shape[0], shape[1]});
    const Value made = convolved(op, transposed(data, {0, 3, 1, 2}), kernel, channels);
    if (!is_multiplied) {
      QUADRANT_TRY(const Value sum, added_to_init(op, made, {0, 3, 1, 2}, graph_.type(made)));
      return transposed(sum, {0, 2, 3, 1});
    }
    // [N, H, W, C, M], of which ONNX has the last two as one.
    QUADRANT_TRY(const TensorType type, static_type(op.getResult(0)));
    return added_to_init(op, reshaped(transposed(made, {0, 2, 3, 1}), type.shape), {}, type);
  }

  // linalg adds to its destination, which `made` is transposed from by `perm`. A number for each
  // channel is added as such: other formats make a bias of it.
  Expected<Value> added_to_init(mlir::Operation& op, Value made, const Axes& perm,
                                const TensorType& type) {
    mlir::Operation* const maker = op.getOperand(2).getDefiningOp();
    if (maker != nullptr && maker->getName().getStringRef() == "tensor.empty") {
      return refuse("a sum that begins with what is in memory is not exported");
    }
    QUADRANT_TRY(const Value init, read_for_broadcast(op.getOperand(2)));
    if (is_zero(init)) return made;
    return emit(ops::Add::kind, {made, transposed(narrowed(init), perm)}, type);
  }

  // A constant that is the same along all axes but the last, with one index of these: as a whole
  // one that was stretched before the module was read.
  Value narrowed(Value init) {
    const Constant* const constant = graph_.constant(init.node);
    if (constant == nullptr || constant->byte_size() > largest_init) return init;
    const Shape& shape = constant->shape();
    const auto bytes = constant->read();
    if (!bytes || shape.rank() == 0 || bytes->bytes().empty()) return init;
    const std::int64_t extent = shape[shape.rank() - 1];
    const auto row = static_cast<std::size_t>(extent * byte_width(constant->element()));
    const std::span<const std::byte> all = bytes->bytes();
    if (std::memcmp(all.data(), all.data() + row, all.size() - row) != 0) return init;
    Axes extents(static_cast<std::size_t>(shape.rank()), 1);
    extents.back() = extent;
    return graph_.add_constant(
        {}, Constant::from_bytes(constant->element(), Shape(extents),
                                 {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(row)}));
  }

  bool is_zero(Value value) {
    const Constant* constant = graph_.constant(value.node);
    if (constant == nullptr || constant->byte_size() > largest_init) return false;
    const auto bytes = constant->read();
    return bytes &&
           std::ranges::all_of(bytes->bytes(), [](std::byte b) { return b == std::byte{}; });
  }

  mlir::FunctionOpInterface function_;
  mlir::Location* at_;  // of what is looked at
  Graph graph_;
  llvm::DenseMap<mlir::Value, Value> values_;
  llvm::DenseMap<mlir::Value, Value> stretched_;  // of the result's rank, not its extents
};

}  // namespace

Expected<Graph> export_graph(mlir::FunctionOpInterface function, mlir::Location& at) {
  return Exporting(function, at).run();
}

}  // namespace quadrant::inline v0::mlir_plugin
