// MLIR's headers that moved between the versions that the plug-in is built for.
//
// The plug-in asks no operation for its traits (`hasTrait`, `matchPattern(m_Constant)`): their
// identity is a name that compilers print differently, and mlir-opt may come from another one.
#pragma once

#include <llvm/ADT/BitVector.h>
#include <llvm/Config/llvm-config.h>
#include <mlir/IR/Builders.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

#include <string_view>
#include <utility>

#if LLVM_VERSION_MAJOR >= 20
#include <mlir/Dialect/Quant/IR/Quant.h>
#include <mlir/Dialect/Quant/IR/QuantTypes.h>
#else
#include <mlir/Dialect/Quant/QuantOps.h>
#include <mlir/Dialect/Quant/QuantTypes.h>
#endif

namespace quadrant::inline v0::mlir_plugin {

#if LLVM_VERSION_MAJOR >= 20
using QuantDialect = mlir::quant::QuantDialect;
inline constexpr std::string_view tosa_constant_attribute = "values";
/// Whether quantized types may have a scale for each block: sub-channel types.
inline constexpr bool has_blocks = true;
#else
using QuantDialect = mlir::quant::QuantizationDialect;
inline constexpr std::string_view tosa_constant_attribute = "value";
inline constexpr bool has_blocks = false;
#endif

/// A new operation where `builder` stands.
template <class Op, class... Arguments>
Op make_op(mlir::OpBuilder& builder, mlir::Location location, Arguments&&... arguments) {
#if LLVM_VERSION_MAJOR >= 21
  return Op::create(builder, location, std::forward<Arguments>(arguments)...);
#else
  return builder.create<Op>(location, std::forward<Arguments>(arguments)...);
#endif
}

/// Takes an argument that nothing reads from a function. It fails where there is no such one.
inline void erase_argument(mlir::FunctionOpInterface function, unsigned index) {
#if LLVM_VERSION_MAJOR >= 21
  (void)function.eraseArgument(index);
#else
  function.eraseArgument(index);
#endif
}

/// The same of several.
inline void erase_arguments(mlir::FunctionOpInterface function, const llvm::BitVector& which) {
#if LLVM_VERSION_MAJOR >= 21
  (void)function.eraseArguments(which);
#else
  function.eraseArguments(which);
#endif
}

/// Puts arguments in front of those at `places`, which ascend, of a function with a body.
inline void insert_arguments(mlir::FunctionOpInterface function, llvm::ArrayRef<unsigned> places,
                             llvm::ArrayRef<mlir::Type> types,
                             llvm::ArrayRef<mlir::DictionaryAttr> attributes,
                             llvm::ArrayRef<mlir::Location> locations) {
#if LLVM_VERSION_MAJOR >= 21
  (void)function.insertArguments(places, types, attributes, locations);
#else
  function.insertArguments(places, types, attributes, locations);
#endif
}

}  // namespace quadrant::inline v0::mlir_plugin
