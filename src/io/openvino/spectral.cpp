// Fourier transforms. OpenVINO's are over several axes, and tell real numbers from complex ones by
// the operation; ONNX's over one axis, where the last one, of 1 or 2, tells.
#include <algorithm>

#include "io/openvino/chain.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/rules.hpp"
#include "ir/ops/functions.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

bool raise_transform(RaisedLayer& layer) {
  const bool is_real = layer.type() == "RDFT";
  const bool is_inverse = layer.type() == "IDFT";
  const Shape shape = layer.shape_of(layer.input(0));
  auto axes = layer.constant_integers(1);
  const auto sizes = layer.constant_integers(2);
  if (!axes || axes->empty() || !shape.is_ranked() || (layer.has_input(2) && !sizes)) return false;
  if (sizes && sizes->size() != axes->size()) invalid("sizes of other axes");
  const std::int64_t rank = shape.rank() - (is_real ? 0 : 1);  // without real and imaginary parts
  Value value = layer.input(0);
  if (is_real) {
    value = stepped(layer, ops::Unsqueeze::kind,
                    {value, layer.list("parts", std::array{std::int64_t{-1}})});
  }
  // Of real numbers the last one first: half of it follows from the other half.
  for (std::size_t i = axes->size(); i-- > 0;) {
    const auto axis = normalize_axis((*axes)[i], rank);
    if (!axis) invalid("an axis outside of the operand");
    const auto scalar = [&](std::string_view ending, std::int64_t number) {
      return layer.constant(ending, Constant::from_values<std::int64_t>(
                                        ElementType::int64, Shape::scalar(), std::array{number}));
    };
    const bool has_size = sizes && (*sizes)[i] != -1;
    const bool is_half = is_real && i + 1 == axes->size();
    value =
        stepped(layer, ops::DFT::kind,
                {value, has_size ? scalar("size", (*sizes)[i]) : Value{}, scalar("axis", *axis)},
                {{"inverse", std::int64_t{is_inverse ? 1 : 0}},
                 {"onesided", std::int64_t{is_half ? 1 : 0}}});
  }
  layer.finish(value);
  return true;
}

void lower_transform(LoweredNode& node) {
  const Shape& shape = node.ranked(0);
  const bool is_inverse = node.attribute_or<std::int64_t>("inverse", 0) != 0;
  const bool is_half = node.attribute_or<std::int64_t>("onesided", 0) != 0;
  const std::int64_t parts = shape.rank() > 1 ? shape[shape.rank() - 1].value_or(0) : 0;
  if (parts != 1 && parts != 2) impossible("an operand that is not known to be real or complex");
  if (is_half && (is_inverse || parts == 2)) impossible("half of a transform of complex numbers");
  const bool has_operand = node.opset() >= 20;
  const auto listed = has_operand && node.has(2) ? node.known_list(2) : std::nullopt;
  if (has_operand && node.has(2) && !listed) impossible("an axis that is computed");
  const std::int64_t stated =
      listed ? listed->front() : node.attribute_or<std::int64_t>("axis", has_operand ? -2 : 1);
  const auto axis = normalize_axis(stated, shape.rank());
  if (!axis || *axis + 1 == shape.rank()) invalid("an axis outside of the operand");
  LayerChain chain(node);
  Output value = node.operand(0);
  if (is_half) {
    value = chain.apply({"Squeeze"}, {value, chain.integers({-1})});
  } else if (parts == 1) {  // without imaginary parts
    std::vector<std::int64_t> behind(static_cast<std::size_t>(shape.rank()), 0);
    const Output before = chain.integers(behind);
    behind.back() = 1;
    value =
        chain.apply({"Pad", "opset12"}, {value, before, chain.integers(behind), chain.number(0)},
                    {{"pad_mode", "constant"}});
  }
  std::vector<Output> inputs{value, chain.integers({*axis})};
  if (node.has(1)) {
    const Output size = node.converted(chain.scalar(1), ElementType::int64, "size");
    inputs.push_back(chain.apply({"Unsqueeze"}, {size, chain.integers({0})}));
  }
  const std::string_view type = is_half ? "RDFT" : (is_inverse ? "IDFT" : "DFT");
  node.make({type, is_half ? "opset9" : "opset7"}, inputs);
}

constexpr std::array raised_spectral{
    RaiseRule{"DFT", raise_transform},
    RaiseRule{"IDFT", raise_transform},
    RaiseRule{"RDFT", raise_transform},
};

constexpr std::array lowered_spectral{LowerRule{ops::DFT::kind, lower_transform}};

}  // namespace

Rules spectral_rules() noexcept { return {raised_spectral, lowered_spectral}; }

}  // namespace quadrant::inline v0::openvino_ir
