// Poolings over windows. Those over whole images are reductions.
#include <algorithm>
#include <array>

#include "io/tflite/chain.hpp"
#include "io/tflite/elementwise.hpp"
#include "io/tflite/failure.hpp"
#include "io/tflite/window.hpp"
#include "ir/ops/windows.hpp"

namespace quadrant::inline v0::tflite {
namespace {

using enum BuiltinOperator;

/// How many elements ONNX divides the sum of each window by. A window that lies in the padding
/// alone has the mean 0.
std::vector<std::int64_t> counts_of(const WindowAxis& axis, bool include_pad) {
  std::vector<std::int64_t> counts;
  const std::int64_t first = include_pad ? -axis.before : 0;
  const std::int64_t last = axis.extent.value() + (include_pad ? axis.after : 0);
  for (std::int64_t i = 0; i < axis.count.value(); ++i) {
    const std::int64_t begin = i * axis.stride - axis.before;
    const std::int64_t counted = std::min(begin + axis.kernel, last) - std::max(begin, first);
    counts.push_back(std::max<std::int64_t>(counted, 1));
  }
  return counts;
}

/// What the means of full windows have to be multiplied with, one factor a position.
struct Corrections {
  std::vector<float> factors;   ///< empty where all are 1
  std::vector<Extent> extents;  ///< 1 along an axis whose positions are alike
};

Corrections corrections(const std::vector<WindowAxis>& windows, bool include_pad) {
  Corrections made{.factors = {1.0F}, .extents = {}};
  bool is_needed = false;
  for (const WindowAxis& axis : windows) {
    const bool is_open = !axis.extent.is_known();
    if (is_open && !include_pad && (axis.before != 0 || axis.after != 0)) {
      impossible("means at borders that are not known");
    }
    const std::vector<std::int64_t> counts =
        is_open ? std::vector{axis.kernel} : counts_of(axis, include_pad);
    std::vector<float> next;
    for (const float factor : made.factors) {
      for (const std::int64_t count : counts) {
        is_needed = is_needed || count != axis.kernel;
        next.push_back(factor * static_cast<float>(axis.kernel) / static_cast<float>(count));
      }
    }
    made.factors = std::move(next);
    made.extents.emplace_back(static_cast<std::int64_t>(counts.size()));
  }
  if (!is_needed) made.factors.clear();
  return made;
}

/// Whether ONNX leaves the padding out everywhere, as TFLite's SAME does.
bool leaves_out_padding(const std::vector<WindowAxis>& windows, bool include_pad) {
  return std::ranges::all_of(windows, [&](const WindowAxis& axis) {
    return !include_pad ||
           (axis.extent.is_known() && counts_of(axis, true) == counts_of(axis, false));
  });
}

bool includes_padding(const NodeRef& node) {
  return node.attribute_or<std::int64_t>("count_include_pad", 0) != 0;
}

/// The padding that an AVERAGE_POOL_2D has, or that goes before it.
WindowPadding padding_of_means(const std::vector<WindowAxis>& windows, bool include_pad) {
  const WindowPadding padding = padding_of(windows);
  const bool is_same = padding.padding == schema::Padding::SAME;
  return is_same && !leaves_out_padding(windows, include_pad) ? explicit_padding(windows) : padding;
}

std::vector<std::int64_t> kernel_shape(const NodeRef& node) {
  return node.attribute_or<std::vector<std::int64_t>>("kernel_shape", {});
}

/// Whether the operator alone gives the means: only real numbers can be corrected afterwards.
bool needs_no_correction(const NodeRef& node) {
  const TensorType* data = node.operand_type(0);
  if (!data || !data->shape.is_ranked()) return true;
  const bool include_pad = includes_padding(node);
  const std::vector<WindowAxis> windows = read_windows(node, data->shape, kernel_shape(node));
  return padding_of_means(windows, include_pad).padding == schema::Padding::SAME ||
         corrections(windows, include_pad).factors.empty();
}

schema::Pool2DOptionsT pool_options(const std::vector<WindowAxis>& windows,
                                    schema::Padding padding) {
  const WindowAxis row = windows.size() == 2 ? windows.front() : WindowAxis{};
  schema::Pool2DOptionsT options;
  options.padding = padding;
  options.stride_h = static_cast<std::int32_t>(row.stride);
  options.stride_w = static_cast<std::int32_t>(windows.back().stride);
  options.filter_height = static_cast<std::int32_t>(row.kernel);
  options.filter_width = static_cast<std::int32_t>(windows.back().kernel);
  return options;
}

void lower_pool(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value data = node.operand(0);
  const Value result = node.result();
  const TensorType type = lowering.type(data);
  const Shape shape = lowering.ranked(data);
  if (lowering.graph().result_count(node.id) > 1) impossible("indices of the largest elements");
  const std::vector<WindowAxis> windows = read_windows(node, shape, kernel_shape(node));
  std::vector<Extent> extents{shape[0], shape[1]};
  for (const WindowAxis& axis : windows) {
    if (axis.dilation != 1) impossible("dilations");
    extents.push_back(axis.count);
  }
  lowering.settle(result, type.element, Shape(std::move(extents)));

  const bool is_mean = rule.code == AVERAGE_POOL_2D;
  const bool include_pad = includes_padding(node);
  const WindowPadding padding =
      is_mean ? padding_of_means(windows, include_pad) : padding_of(windows);
  Corrections corrected;
  if (is_mean && padding.padding != schema::Padding::SAME) {
    corrected = corrections(windows, include_pad);
  }
  const TensorId image =
      pad_image(lowering, node, image_of(lowering, node, data), type, padding, !is_mean);
  const schema::Pool2DOptionsT options = pool_options(windows, padding.padding);
  Model& model = lowering.model();
  const TensorId output = define_image(lowering, node, result);
  if (corrected.factors.empty()) {
    model.emit({rule.code}, {image}, {output}, options);
  } else {
    lowering.decomposed(node, "a PAD and an AVERAGE_POOL_2D, whose borders are corrected by a MUL");
    std::vector<Extent> spatial;
    spatial.reserve(windows.size());
    for (const WindowAxis& axis : windows) spatial.push_back(axis.count);
    const Shape result_shape = lowering.shape(result);
    const TensorId means = lowering.temporary(
        node, "means",
        {type.element, image_shape(result_shape[0], spatial, result_shape[1]), nullptr});
    model.emit({rule.code}, {image}, {means}, options);
    const TensorId table = model.add_constant(
        lowering.name(node, "corrections"),
        Constant::from_values(ElementType::float32, image_shape(1, corrected.extents, 1),
                              std::span<const float>(corrected.factors)),
        nullptr, plain_axes(4));
    emit_elementwise(model, MUL, {means, table}, output);
  }
  finish_image(lowering, result, output);
}

/// (sum of |x|^p)^(1/p) over each window: the mean of what may be a square, times its size. Zeros
/// around the image change no sum.
void lower_lp_pool(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value data = node.operand(0);
  const Value result = node.result();
  const TensorType type = lowering.type(data);
  const Shape shape = lowering.ranked(data);
  if (type.element != ElementType::float32) {
    impossible(fmt::format("computes in {}", to_string(type.element)));
  }
  const std::vector<WindowAxis> windows = read_windows(node, shape, kernel_shape(node));
  std::vector<Extent> extents{shape[0], shape[1]};
  std::vector<Extent> spatial;
  double size = 1.0;
  for (const WindowAxis& axis : windows) {
    if (axis.dilation != 1) impossible("dilations");
    extents.push_back(axis.count);
    spatial.push_back(axis.count);
    size *= static_cast<double>(axis.kernel);
  }
  const auto p = node.attribute_or<std::int64_t>("p", 2);
  if (p < 1) impossible("a power below 1");
  lowering.settle(result, type.element, Shape(std::move(extents)));
  lowering.decomposed(node, "powers, AVERAGE_POOL_2D times the size of the window, and a root");

  const TensorId image = image_of(lowering, node, data);
  const Shape image_extents = image_shape(shape[0], shape.extents().subspan(2), shape[1]);
  Chain chain(lowering, node, image_extents);
  TensorId powers = p == 2 ? chain.apply(MUL, {image, image}) : chain.apply(ABS, {image});
  if (p > 2) powers = chain.apply(POW, {powers, chain.real(static_cast<double>(p))});
  const WindowPadding padding = padding_of(windows).padding == schema::Padding::VALID
                                    ? padding_of(windows)
                                    : explicit_padding(windows);
  powers = pad_image(lowering, node, powers, type, padding, false);
  chain.set_shape(image_shape(shape[0], spatial, shape[1]));
  const TensorId means = chain.next();
  lowering.model().emit({rule.code}, {powers}, {means},
                        pool_options(windows, schema::Padding::VALID));
  const TensorId output = define_image(lowering, node, result);
  Model& model = lowering.model();
  if (p == 1) {
    emit_elementwise(model, MUL, {means, chain.real(size)}, output);
  } else {
    const TensorId sums = chain.apply(MUL, {means, chain.real(size)});
    if (p == 2) {
      emit_elementwise(model, SQRT, {sums}, output);
    } else {
      emit_elementwise(model, POW, {sums, chain.real(1.0 / static_cast<double>(p))}, output);
    }
  }
  finish_image(lowering, result, output);
}

constexpr std::array pooling_rows{
    Rule{.kind = ops::MaxPool::kind,
         .lower = lower_pool,
         .code = MAX_POOL_2D,
         .codes = Codes::all,
         .same = true},
    Rule{.kind = ops::AveragePool::kind,
         .lower = lower_pool,
         .code = AVERAGE_POOL_2D,
         .codes = Codes::all,
         .same = true,
         .fits = needs_no_correction},
    Rule{.kind = ops::LpPool::kind, .lower = lower_lp_pool, .code = AVERAGE_POOL_2D},
};

}  // namespace

std::span<const Rule> pooling_rules() noexcept { return pooling_rows; }

}  // namespace quadrant::inline v0::tflite
