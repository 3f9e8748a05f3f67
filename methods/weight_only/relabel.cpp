#include "weight_only/relabel.hpp"

#include <utility>

#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::weight_only {

Expected<Value> relabel(Value codes, std::shared_ptr<const UniformType> type,
                        const std::string& name, RewriteContext& context) {
  const TensorType coded = context.view().type(codes);
  QUADRANT_TRY(const Value plain, context.emit(ops::StorageCast::kind, {codes}, name,
                                               {coded.element, coded.shape, nullptr}));
  return context.emit(ops::StorageCast::kind, {plain}, name,
                      {coded.element, coded.shape, std::move(type)});
}

}  // namespace quadrant::inline v0::weight_only
