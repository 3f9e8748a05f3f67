#include "mlir_plugin/export_product.hpp"

#include <mlir/IR/BuiltinAttributes.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "mlir_plugin/seen.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

using Axes = ExportedValues::Axes;

// Bytes of what sums begin with, beyond which nobody looks whether it is all the same.
constexpr std::uint64_t largest_init = std::uint64_t{1} << 20;

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

class ProductExport {
 public:
  ProductExport(ExportedValues& values, mlir::Operation& op) : values_(values), op_(op) {}

  Expected<Value> run() {
    QUADRANT_TRY(const TensorType type, exported_type(op_.getResult(0)));
    QUADRANT_TRY(const Value a, values_.read(op_.getOperand(0)));
    QUADRANT_TRY(const Value b, values_.read(op_.getOperand(1)));
    const llvm::StringRef name = op_.getName().getStringRef();
    Value made;
    if (name.starts_with("linalg.matmul") || name.starts_with("linalg.batch_matmul") ||
        name == "tosa.matmul") {
      made = matrix_product(a, b, type);
    } else if (name.starts_with("linalg.conv_2d") || name.starts_with("linalg.depthwise")) {
      return convolution(a, b);
    }
    if (made.is_absent() || op_.getNumOperands() < 3 || name.starts_with("tosa")) return made;
    return added_to_init(made, {}, type);
  }

 private:
  Value matrix_product(Value a, Value b, const TensorType& type) {
    const Seen seen = see(op_);
    const auto axis = [&](std::string_view which, std::size_t operand) {
      const Attribute* found = seen.attributes.find(which);
      return found == nullptr ? -1 : std::get<Axes>(*found)[operand];
    };
    // The sum runs over the last axis of A and the last but one of B.
    const std::int64_t rank = type.shape.rank();
    // Maps of one's own may leave out the axes of rows.
    if (values_.type(a).shape.rank() != rank || values_.type(b).shape.rank() != rank) return {};
    Axes swapped;
    for (std::int64_t i = 0; i < rank; ++i) swapped.push_back(i);
    std::swap(swapped[static_cast<std::size_t>(rank - 1)],
              swapped[static_cast<std::size_t>(rank - 2)]);
    if (axis(MlirProduct::contracted, 0) != rank - 1) a = values_.transposed(a, swapped);
    if (axis(MlirProduct::contracted, 1) != rank - 2) b = values_.transposed(b, swapped);
    return values_.emit(ops::MatMul::kind, {a, b}, type);
  }

  [[nodiscard]] Axes window(llvm::StringRef name) const {
    const auto found = op_.getAttrOfType<mlir::DenseIntElementsAttr>(name);
    if (!found) return {1, 1};
    Axes values;
    for (const llvm::APInt& value : found.getValues<llvm::APInt>()) {
      values.push_back(value.getSExtValue());
    }
    return values;
  }

  // Of [N, C, H, W] and [O, I, H, W].
  Value convolved(Value data, Value weight, std::int64_t groups) {
    const auto image = values_.graph.type(data).shape.known_extents();
    const auto kernel = values_.graph.type(weight).shape.known_extents();
    const Axes strides = window("strides");
    const Axes dilations = window("dilations");
    Axes extents{image[0], kernel[0]};
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t reach = (kernel[i + 2] - 1) * dilations[i] + 1;
      extents.push_back((image[i + 2] - reach) / strides[i] + 1);
    }
    TensorType type{values_.graph.type(data).element, Shape(std::move(extents)), nullptr};
    return values_.emit(ops::Conv::kind, {data, weight}, std::move(type),
                        Attributes{{"strides", strides},
                                   {"dilations", dilations},
                                   {"group", groups},
                                   {"kernel_shape", Axes{kernel[2], kernel[3]}}});
  }

  Expected<Value> convolution(Value data, Value weight) {
    const llvm::StringRef name = op_.getName().getStringRef();
    const auto* const layout = std::ranges::find(image_layouts(), name, &ImageLayout::name);
    if (layout != image_layouts().end()) {
      const Value made = convolved(values_.transposed(data, layout->data),
                                   values_.transposed(weight, layout->weight), 1);
      QUADRANT_TRY(const Value sum, added_to_init(made, layout->data, values_.graph.type(made)));
      return values_.transposed(sum, layout->result);
    }
    const Shape shape = values_.graph.type(weight).shape;  // [H, W, C] or [H, W, C, M]
    const bool is_multiplied = name == "linalg.depthwise_conv_2d_nhwc_hwcm";
    if (!is_multiplied && name != "linalg.depthwise_conv_2d_nhwc_hwc") return Value{};
    const std::int64_t channels = shape[2].value();
    const std::int64_t multiplier = is_multiplied ? shape[3].value() : 1;
    const Value channels_first =
        values_.transposed(weight, is_multiplied ? Axes{2, 3, 0, 1} : Axes{2, 0, 1});
    const Value kernel =
        values_.reshaped(channels_first, Shape{channels * multiplier, 1, shape[0], shape[1]});
    const Value made = convolved(values_.transposed(data, {0, 3, 1, 2}), kernel, channels);
    if (!is_multiplied) {
      QUADRANT_TRY(const Value sum, added_to_init(made, {0, 3, 1, 2}, values_.graph.type(made)));
      return values_.transposed(sum, {0, 2, 3, 1});
    }
    // [N, H, W, C, M], of which ONNX has the last two as one.
    QUADRANT_TRY(const TensorType type, exported_type(op_.getResult(0)));
    return added_to_init(values_.reshaped(values_.transposed(made, {0, 2, 3, 1}), type.shape), {},
                         type);
  }

  // linalg adds to its destination, which `made` is transposed from by `perm`. A number for each
  // channel is added as such: other formats make a bias of it.
  Expected<Value> added_to_init(Value made, const Axes& perm, const TensorType& type) {
    mlir::Operation* const maker = op_.getOperand(2).getDefiningOp();
    if (maker != nullptr && maker->getName().getStringRef() == "tensor.empty") {
      return refuse_export("a sum that begins with what is in memory is not exported");
    }
    QUADRANT_TRY(const Value init, values_.read_for_broadcast(op_.getOperand(2)));
    if (is_zero(init)) return made;
    const std::int64_t rank = values_.type(init).shape.rank();
    const bool is_channels_first = op_.getName().getStringRef() == "linalg.conv_2d_nchw_fchw";
    const std::int64_t kept = is_channels_first ? 1 : rank - 1;
    return values_.emit(ops::Add::kind, {made, values_.transposed(narrowed(init, kept), perm)},
                        type);
  }

  // A constant that is the same along all axes but `kept`, with one index of these: as a whole one
  // that was stretched before the module was read.
  Value narrowed(Value init, std::int64_t kept) {
    const Constant* const constant = values_.graph.constant(init.node);
    if (constant == nullptr || constant->byte_size() > largest_init) return init;
    const Shape& shape = constant->shape();
    const auto bytes = constant->read();
    if (!bytes || shape.rank() == 0 || bytes->bytes().empty()) return init;
    const auto width = static_cast<std::size_t>(byte_width(constant->element()));
    const auto extent = static_cast<std::size_t>(shape[kept].value());
    std::size_t inner = 1;
    for (std::int64_t axis = kept + 1; axis < shape.rank(); ++axis) {
      inner *= static_cast<std::size_t>(shape[axis].value());
    }
    const std::span<const std::byte> all = bytes->bytes();
    std::vector<std::byte> list(extent * width);
    for (std::size_t i = 0; i < extent; ++i) {
      std::memcpy(&list[i * width], &all[i * inner * width], width);
    }
    for (std::size_t i = 0; i < all.size() / width; ++i) {
      const std::size_t index = i / inner % extent;
      if (std::memcmp(&all[i * width], &list[index * width], width) != 0) return init;
    }
    Axes extents(static_cast<std::size_t>(shape.rank()), 1);
    extents[static_cast<std::size_t>(kept)] = shape[kept].value();
    return values_.graph.add_constant(
        {}, Constant::from_bytes(constant->element(), Shape(extents), std::move(list)));
  }

  [[nodiscard]] bool is_zero(Value value) const {
    const Constant* constant = values_.graph.constant(value.node);
    if (constant == nullptr || constant->byte_size() > largest_init) return false;
    const auto bytes = constant->read();
    return bytes &&
           std::ranges::all_of(bytes->bytes(), [](std::byte b) { return b == std::byte{}; });
  }

  ExportedValues& values_;
  mlir::Operation& op_;
};

}  // namespace

Expected<Value> export_product(ExportedValues& values, mlir::Operation& op) {
  return ProductExport(values, op).run();
}

}  // namespace quadrant::inline v0::mlir_plugin
