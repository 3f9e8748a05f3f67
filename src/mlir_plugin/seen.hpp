// What the engine sees of an operation of MLIR.
#pragma once

#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/Operation.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Sums of products, whatever they are called and however their operands lie: linalg's
/// contractions and convolutions, by name or `linalg.generic`, and tosa's. Attributes: for operand
/// 0 and 1, the axis along which the result keeps scales apart, and one that is summed; -1: none.
/// The axis of the result along which the channels of operand 1 are, -1: none; and how many
/// products each sum has: those along an axis that is not known count as 32.
struct MlirProduct {
  static constexpr std::string_view kind = "mlir.product";
  static constexpr std::string_view channels = "channels";
  static constexpr std::string_view contracted = "contracted";
  static constexpr std::string_view of_sum = "of_sum";
  static constexpr std::string_view terms = "terms";
};

/// Such a product that cannot be summed in integers. Attribute: why.
struct MlirRealProduct {
  static constexpr std::string_view kind = "mlir.real_product";
  static constexpr std::string_view reason = "reason";
};

/// Elements of tables, at places that are computed: `tensor.gather`, `tosa.gather`, and
/// `linalg.generic` whose body extracts from tensors outside. Attribute: for each operand, the axis
/// of a table along which its rows are found; -1: it is none.
struct MlirLookup {
  static constexpr std::string_view kind = "mlir.lookup";
  static constexpr std::string_view channels = "channels";
};

/// A `func.call` of a function whose arguments are weights, as `mark_calls` says on it. Attributes:
/// for each operand, channels and contracted as MlirProduct's, -1 both for one that is none.
struct MlirCall {
  static constexpr std::string_view kind = "mlir.call";
  static constexpr std::string_view channels = "quadrant.weight_channels";
  static constexpr std::string_view contracted = "quadrant.weight_contracted";
};

/// `linalg.broadcast`. Attribute: the axes of the result that are the operand's, in order.
struct MlirBroadcast {
  static constexpr std::string_view kind = "mlir.broadcast";
  static constexpr std::string_view axes = "axes";
};

struct Seen {
  /// The library's name where the operation means exactly that, or MlirProduct's; else MLIR's.
  std::string kind;
  /// Its first ones; what follows says where the result is put, or which shape it has.
  std::uint32_t operands = 0;
  Attributes attributes;
};

/// Linear in the operands and in the rank.
[[nodiscard]] Seen see(mlir::Operation& op);

/// Whether the operand only says where the result is put: of what `see` leaves out, linalg's.
[[nodiscard]] bool is_unread_destination(mlir::OpOperand& operand);

/// Operands that are weights where they are constants: factors of products, tables of lookups. Of a
/// lookup's body, what it reads from outside.
[[nodiscard]] std::vector<mlir::Value> factors_and_tables(mlir::Operation& op);

/// Of an operation of linalg that moves the elements of its operand, and may repeat them along
/// other axes of the result: the axes of the result that are the operand's, in its order; -1 for
/// one of extent 1 that is none of them. Empty optional: it does something else.
[[nodiscard]] std::optional<std::vector<std::int64_t>> moved_axes(mlir::Operation& op);

/// The same where all the operand's axes are the result's, in the same order.
[[nodiscard]] std::optional<std::vector<std::int64_t>> stretched_axes(mlir::Operation& op);

/// Whether the operations of its regions are its own business: what they read from outside counts
/// as its operands.
[[nodiscard]] bool hides_regions(mlir::Operation& op);

/// The float that a constant is; empty: it is none.
[[nodiscard]] std::optional<mlir::APFloat> number_of(mlir::Value value);

/// The attribute that holds a constant's contents; null for other operations.
[[nodiscard]] mlir::Attribute contents_of(mlir::Operation& op);

}  // namespace quadrant::inline v0::mlir_plugin
