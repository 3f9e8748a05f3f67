// The contents of MLIR's constants, and the library's.
#pragma once

#include <mlir/IR/BuiltinAttributes.h>

#include <string_view>

#include "quadrant/ir/constant.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Contents that stay where MLIR keeps them, which is as long as its context lives: nothing is
/// copied. Empty for attributes of other kinds than dense, splat and resources; for elements that
/// the library has no type for; for resources that were elided, or whose size is not that of the
/// type; for splats of more than 2^31 elements.
///
/// Integers of MLIR have no sign: `is_unsigned` says how those that are codes are meant.
[[nodiscard]] Constant to_constant(mlir::Attribute attribute, bool is_unsigned = false);

/// Reads `codes`, integers, into an attribute of type `type`. Contents of 64 KiB and more
/// become a resource called after `name`, where they are not hashed and copied; elements smaller
/// than a byte, and contents that are all the same, do not.
[[nodiscard]] Expected<mlir::ElementsAttr> to_elements(mlir::RankedTensorType type,
                                                       const Constant& codes,
                                                       std::string_view name);

}  // namespace quadrant::inline v0::mlir_plugin
