// Constants as text.
#pragma once

#include <string>
#include <string_view>

#include "quadrant/ir/constant.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0::mlir_ir {

/// The operation that makes `contents` the value `name`, piece by piece: the hexadecimal digits of
/// its bytes, which MLIR takes to be little-endian, with a byte for an element of 4 bits, too.
void write_constant(const std::string& name, const Constant& contents, std::string_view location,
                    FunctionRef<void(std::string_view)> sink);

}  // namespace quadrant::inline v0::mlir_ir
