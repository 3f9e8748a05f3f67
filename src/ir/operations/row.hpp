// What makes the rows of the table of operations.
#pragma once

#include <utility>
#include <vector>

#include "ir/shape_rules.hpp"
#include "quadrant/ir/operations.hpp"

namespace quadrant::inline v0::detail {

/// A rule for the one result of an operation, as one for all.
template <Expected<TensorType> (*infer)(NodeRef)>
Results one(NodeRef node) {
  QUADRANT_TRY(TensorType type, infer(node));
  std::vector<TensorType> types;
  types.push_back(std::move(type));
  return types;
}

inline Results infer_nothing(NodeRef /*node*/) { return {}; }

inline constexpr Traits same_shape{Trait::keeps_shape};
inline constexpr Traits in_range{Trait::stays_in_range};
inline constexpr Traits taking = in_range | Traits{Trait::takes_elements};
inline constexpr Traits keeping = taking | Traits{Trait::keeps_elements};
inline constexpr Traits reshaping = keeping | Traits{Trait::keeps_order};

/// Makes rows of a family.
struct RowsOf {
  Family family;
  constexpr Operation operator()(std::string_view kind, Count operands = {1, 1},
                                 Results (*infer)(NodeRef) = nullptr, Traits traits = {},
                                 Count results = {1, 1}) const {
    return {kind, family, operands, results, traits, infer};
  }
};
inline constexpr RowsOf border{Family::border};
inline constexpr RowsOf elementwise{Family::elementwise};
inline constexpr RowsOf window{Family::window};
inline constexpr RowsOf reduction{Family::reduction};
inline constexpr RowsOf normalization{Family::normalization};
inline constexpr RowsOf recurrent{Family::recurrent};
inline constexpr RowsOf place{Family::place};
inline constexpr RowsOf code{Family::code};
inline constexpr RowsOf simulation{Family::simulation};
inline constexpr RowsOf function{Family::function};

/// The row, of a kind that ONNX calls `onnx`.
constexpr Operation called(std::string_view onnx, Operation row) {
  row.onnx = onnx;
  return row;
}

/// The row, with operands that are not all data.
constexpr Operation roled(std::string_view letters, Operation row) {
  row.roles = {letters};
  return row;
}

/// The row, of whose nodes more is true by their attributes.
constexpr Operation where(Operation row, Traits (*when)(NodeRef)) {
  row.when = when;
  return row;
}

/// Of one operand that is data, in any shape.
constexpr Operation curve(std::string_view kind, Count operands = {1, 1}, Count results = {1, 1}) {
  return elementwise(kind, operands, one<infer_as_operand>, same_shape, results);
}

constexpr Operation stretched(std::string_view kind, Count operands,
                              Results (*infer)(NodeRef) = one<infer_stretched<0>>) {
  return elementwise(kind, operands, infer, {Trait::stretches});
}

// operations/conditions.cpp
[[nodiscard]] Traits traits_of_padding(NodeRef node);
[[nodiscard]] Traits traits_of_resize(NodeRef node);

}  // namespace quadrant::inline v0::detail
