#include "weight_only/take_place.hpp"

#include <utility>

#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::weight_only {

Expected<void> take_place(Value value, Value made, std::string_view suffix,
                          RewriteContext& context) {
  const std::string name(context.view().value_name(value));
  QUADRANT_CHECK(context.replace(value, made));
  QUADRANT_CHECK(context.graph().set_value_name(value, name + std::string(suffix)));
  return context.graph().set_value_name(made, name);
}

Expected<Value> relabel(Value codes, std::shared_ptr<const UniformType> type,
                        const std::string& name, RewriteContext& context) {
  const TensorType coded = context.view().type(codes);
  QUADRANT_TRY(const Value plain, context.emit(ops::StorageCast::kind, {codes}, name,
                                               {coded.element, coded.shape, nullptr}));
  return context.emit(ops::StorageCast::kind, {plain}, name,
                      {coded.element, coded.shape, std::move(type)});
}

}  // namespace quadrant::inline v0::weight_only
