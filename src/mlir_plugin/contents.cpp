#include "mlir_plugin/contents.hpp"

#include <mlir/IR/Builders.h>

#include <memory>
#include <vector>

#include "mlir_plugin/constants.hpp"
#include "mlir_plugin/seen.hpp"
#include "mlir_plugin/types.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

Expected<mlir::ElementsAttr> elements_of(const Contents& contents, std::string_view name) {
  const auto bytes = contents.held.bytes();
  if (contents.is_splat) {
    return mlir::DenseElementsAttr::getFromRawBuffer(
        contents.type, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  const TensorType type = to_tensor_type(contents.type);
  const Constant held =
      Constant::from_bytes(type.element, type.shape, {bytes.begin(), bytes.end()});
  return to_elements(contents.type, held, name);
}

}  // namespace

Expected<Contents> read_contents(mlir::Operation& constant) {
  const auto type = llvm::cast<mlir::RankedTensorType>(constant.getResult(0).getType());
  const Constant held = to_constant(contents_of(constant));
  const auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(contents_of(constant));
  if (dense && dense.isSplat()) {
    const auto element = std::make_shared<std::vector<std::byte>>(
        static_cast<std::size_t>(byte_width(held.element())));
    QUADRANT_CHECK(held.read(0, *element));
    return Contents{type, ConstantBytes(element, *element), true};
  }
  QUADRANT_TRY(ConstantBytes bytes, held.read());
  return Contents{type, std::move(bytes)};
}

Expected<mlir::Value> make_constant(mlir::Operation& op, const Contents& contents,
                                    std::string_view name) {
  QUADRANT_TRY(const mlir::ElementsAttr elements, elements_of(contents, name));
  mlir::OpBuilder builder(&op);
  mlir::OperationState state(op.getLoc(), "arith.constant");
  // NOLINTNEXTLINE(cppcoreguidelines-slicing): an interface is what it is of, and its functions
  state.addAttribute("value", elements);
  state.addAttributes(llvm::to_vector(op.getDiscardableAttrs()));
  state.addTypes(contents.type);
  return builder.create(state)->getResult(0);
}

}  // namespace quadrant::inline v0::mlir_plugin
