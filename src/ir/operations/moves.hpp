// The graph's borders, and operations that put elements in other places.
#pragma once

#include <array>

#include "ir/operations/row.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {

// operations_moves.cpp
extern const Move transpose_move;
extern const Move reshape_move;
extern const Move expand_move;
extern const Move slice_move;
extern const Move split_move;
extern const Move concat_move;
extern const Move gather_move;

constexpr Operation move(std::string_view kind, Count operands, Results (*infer)(NodeRef),
                         Traits traits, const Move& how, Count results = {1, 1}) {
  return {kind, Family::move, operands, results, traits, infer, &how};
}

inline constexpr std::array border_rows{
    border(ops::Input::kind, {0, 0}, infer_nothing),
    border(ops::Constant::kind, {0, 0}, one<infer_constant>),
    border(ops::Output::kind, {1, 1}, infer_nothing, {}, {0, 0})};

inline constexpr std::array move_rows{
    called("Identity", move(ops::Identity::kind, {1, 1}, one<infer_identity>,
                            reshaping | same_shape, identity_move)),
    called("Transpose",
           move(ops::Transpose::kind, {1, 1}, one<infer_transpose>, keeping, transpose_move)),
    called("Reshape",
           move(ops::Reshape::kind, {2, 2}, one<infer_reshape>, reshaping, reshape_move)),
    called("Squeeze",
           move(ops::Squeeze::kind, {1, 2}, one<infer_squeeze>, reshaping, reshape_move)),
    called("Unsqueeze",
           move(ops::Unsqueeze::kind, {1, 2}, one<infer_unsqueeze>, reshaping, reshape_move)),
    called("Flatten",
           move(ops::Flatten::kind, {1, 1}, one<infer_flatten>, reshaping, reshape_move)),
    called("Expand", move(ops::Expand::kind, {2, 2}, one<infer_expand>, taking, expand_move)),
    called("Slice", move(ops::Slice::kind, {1, 5}, one<infer_slice>, taking, slice_move)),
    called("Split",
           move(ops::Split::kind, {1, 2}, infer_split, taking, split_move, {1, any_number})),
    // Of several operands, each of which may have a scale of its own.
    called("Concat", move(ops::Concat::kind, {1, any_number}, one<infer_concat>, {}, concat_move)),
    roled("td", called("Gather",
                       move(ops::Gather::kind, {2, 2}, one<infer_gather>, taking, gather_move)))};

}  // namespace quadrant::inline v0::detail
