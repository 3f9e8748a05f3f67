// Operations of graphs as typed views, and what fake quantizations say of one channel or of all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// The range that float values are taken to lie in, and the codes that divide it.
/// numerics/fake_quantize.hpp has what follows from it.
struct FakeQuantRange {
  double min = 0;  ///< as float32, which MLIR's attribute is
  double max = 0;
  std::int64_t num_bits = 8;
  bool narrow_range = false;  ///< without the lowest code
  bool is_signed = false;

  friend bool operator==(const FakeQuantRange&, const FakeQuantRange&) = default;
};

/// `invalid_model`: ends that are not finite or in the wrong order, other than 1 to 32 bits.
[[nodiscard]] Expected<void> check(const FakeQuantRange& range);

// Typed views of the operations that the library knows. Storage is generic (kind, operands,
// attributes); reading is typed: `ops::Transpose{node}.perm()`.
//
// A view works on any GraphView. Operations and their attributes mean what ONNX's of the same name
// mean (https://onnx.ai/onnx/operators) unless said otherwise. What ONNX moved from an attribute to
// an operand in the course of its versions is read from either.
//
// A view that reads a list (`ranges`, `offset`) reads the attribute, or the small constant that is
// the operand: at most 64 integers, one for each result for the sizes of a split.

/// `axis`, counted from the end when negative, as an index below `rank`; empty when outside.
[[nodiscard]] constexpr std::optional<std::int64_t> normalize_axis(std::int64_t axis,
                                                                   std::int64_t rank) noexcept {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

/// The element type that ONNX numbers so (TensorProto.DataType): `ElementType::opaque` for a type
/// that the library does not know. Empty for 0, which is none, and below.
[[nodiscard]] std::optional<ElementType> numbered_element_type(std::int64_t number) noexcept;
/// The opposite, for types that ONNX has and the library knows; 0 for the others.
[[nodiscard]] std::int64_t element_type_number(ElementType element) noexcept;

namespace ops {

/// A graph input: no operands, one result.
struct Input {
  static constexpr std::string_view kind = "input";
  NodeRef node;
};

/// A constant: no operands, one result; the contents are `node.graph->constant(node.id)`.
struct Constant {
  static constexpr std::string_view kind = "constant";
  NodeRef node;
};

/// A graph output: one operand, no results.
struct Output {
  static constexpr std::string_view kind = "output";
  NodeRef node;
};

struct Identity {
  static constexpr std::string_view kind = "identity";
  NodeRef node;
};

/// Operand 0: data. Result axis `i` is operand axis `perm()[i]`.
struct Transpose {
  static constexpr std::string_view kind = "transpose";
  NodeRef node;
  /// Reversed axes when the attribute `perm` is missing. Empty when the rank is unknown or the
  /// attribute is no permutation of that rank.
  [[nodiscard]] std::vector<std::int64_t> perm() const;
};

/// Operands: data, shape. The result's type holds the shape where it is known.
struct Reshape {
  static constexpr std::string_view kind = "reshape";
  NodeRef node;
  [[nodiscard]] bool allow_zero() const;
  /// What to ask for where a result of this shape is wanted: its extents, and -1 for the one that
  /// is open. Empty where several are, or the rank is.
  [[nodiscard]] static std::optional<std::vector<std::int64_t>> request(const Shape& wanted);
};

/// Drops axes of extent 1. Operands: data, optional axes (an attribute before opset 13); without
/// axes, all of extent 1. Which axes went is what the shapes tell.
struct Squeeze {
  static constexpr std::string_view kind = "squeeze";
  NodeRef node;
};

/// Adds axes of extent 1. Operands: data, axes of the result (an attribute before opset 13).
struct Unsqueeze {
  static constexpr std::string_view kind = "unsqueeze";
  NodeRef node;
};

/// Operand 0: data. The result has two axes: those before `axis()`, and the others.
struct Flatten {
  static constexpr std::string_view kind = "flatten";
  NodeRef node;
  /// From 0 to the rank, both included. Empty when the rank is unknown or the attribute lies
  /// outside.
  [[nodiscard]] std::optional<std::int64_t> axis() const;
};

/// Operand 0: data. Attribute `to`: ONNX's number of an element type.
struct Cast {
  static constexpr std::string_view kind = "cast";
  NodeRef node;
  /// `ElementType::opaque` for a type that the library does not know. Empty when the attribute is
  /// missing or no type's number.
  [[nodiscard]] std::optional<ElementType> to() const;
};

/// Operands: data, shape. The result has the shape that both broadcast to.
struct Expand {
  static constexpr std::string_view kind = "expand";
  NodeRef node;
};

/// Operands: data, starts, ends, optional axes, optional steps; before opset 10 attributes
/// `starts`, `ends`, `axes`, and all steps are 1.
struct Slice {
  static constexpr std::string_view kind = "slice";
  NodeRef node;

  /// Elements `start`, `start + step`, ..., `count` of them, all inside the operand.
  struct Range {
    std::int64_t start = 0;
    std::int64_t step = 1;  ///< never 0
    std::int64_t count = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };
  /// For each axis of the operand; an axis that is not sliced is there in full. A range of one
  /// element or none has step 1, and one of none starts at 0. Empty when an extent, a start, an
  /// end, an axis or a step is not known, when they make no sense, and for a step backwards to the
  /// largest 32- or 64-bit integer: to ONNX this takes nothing, to ONNX Runtime all to the front.
  [[nodiscard]] std::optional<std::vector<Range>> ranges() const;
};

/// Operands: data, optional sizes (attribute `split` before opset 13). Without sizes the parts are
/// equal; with the attribute `num_outputs` (opset 18) the last may be smaller. One result a part.
struct Split {
  static constexpr std::string_view kind = "split";
  NodeRef node;
  /// The axis that is split. Empty when the rank is unknown or the attribute lies outside.
  [[nodiscard]] std::optional<std::int64_t> axis() const;
  /// How long each result is along `axis()`. Empty when this needs an extent that is not known,
  /// and when the sizes are computed or do not make up the operand.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> sizes() const;
  /// Where each result begins along `axis()`; empty where `sizes()` are.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> offsets() const;
  /// One of `offsets()`, which all are found anew; empty also for a result that there is not.
  [[nodiscard]] std::optional<std::int64_t> offset(std::uint32_t result) const;
};

/// Operands: one or more, of one rank.
struct Concat {
  static constexpr std::string_view kind = "concat";
  NodeRef node;
  /// The axis along which the operands follow one another. Empty when no operand's and not the
  /// result's rank is known, or when the attribute is missing or lies outside.
  [[nodiscard]] std::optional<std::int64_t> axis() const;
};

/// Operands: data, indices. The result's axes are the data's, with those of the indices in the
/// place of `axis()`.
struct Gather {
  static constexpr std::string_view kind = "gather";
  NodeRef node;
  /// Empty when the data's rank is unknown or the attribute lies outside.
  [[nodiscard]] std::optional<std::int64_t> axis() const;
};

/// Sums products over labelled axes. Operands: one or more.
struct Einsum {
  static constexpr std::string_view kind = "einsum";
  NodeRef node;

  /// One letter an axis: `{{"ij", "jk"}, "ik"}`.
  struct Equation {
    std::vector<std::string> operands;
    std::string result;
    friend bool operator==(const Equation&, const Equation&) = default;
  };
  /// The attribute `equation` without spaces. A result that it leaves out is there: the labels that
  /// occur once, in the order of their codes (capitals first). Empty for an ellipsis, for a label
  /// that an operand or the result has twice, and for what is no equation of that many operands.
  [[nodiscard]] std::optional<Equation> equation() const;
};

/// Sum with broadcasting. Operands: A, B.
struct Add {
  static constexpr std::string_view kind = "add";
  NodeRef node;
};

/// Product with broadcasting (ONNX's Mul). Operands: A, B.
struct Multiply {
  static constexpr std::string_view kind = "multiply";
  NodeRef node;
};

/// Operands: A `[..., M, K]`, B `[..., K, N]` with broadcast leading axes; a one-dimensional
/// operand is a row (A) or a column (B).
struct MatMul {
  static constexpr std::string_view kind = "matmul";
  NodeRef node;
};

/// alpha * A' B' + beta * C, A' `[M, K]`, B' `[K, N]`. Operands: A, B, optional C.
struct Gemm {
  static constexpr std::string_view kind = "gemm";
  NodeRef node;
  [[nodiscard]] bool trans_a() const;
  [[nodiscard]] bool trans_b() const;
};

/// Operands: X `[N, C, spatial...]`, W `[M, C / group, kernel...]`, optional B `[M]`.
struct Conv {
  static constexpr std::string_view kind = "conv";
  NodeRef node;
};

/// Operands: X `[N, C, spatial...]`, W `[C, M / group, kernel...]`, optional B `[M]`.
struct ConvTranspose {
  static constexpr std::string_view kind = "conv_transpose";
  NodeRef node;
};

/// Operands of a recurrent layer with D directions, I inputs and H hidden units: X `[seq, batch,
/// I]`, W `[D, gates H, I]`, R `[D, gates H, H]`, optional B `[D, 2 gates H]`, optional lengths
/// `[batch]`, optional initial_h `[D, batch, H]`. Results, all of which may be left out: Y
/// `[seq, D, batch, H]`, Y_h `[D, batch, H]`. With the attribute `layout` 1, batch comes first in
/// X, Y (`[batch, seq, D, H]`), Y_h and initial_h.
struct Rnn {
  static constexpr std::string_view kind = "rnn";
  static constexpr std::int64_t gates = 1;
  NodeRef node;
};

/// As ops::Rnn; the gates lie in the order z, r, h.
struct Gru {
  static constexpr std::string_view kind = "gru";
  static constexpr std::int64_t gates = 3;
  NodeRef node;
};

/// As ops::Rnn, with two operands more, initial_c as initial_h and P `[D, 3 H]`, and a result more,
/// Y_c as Y_h. The gates lie in the order i, o, f, c.
struct Lstm {
  static constexpr std::string_view kind = "lstm";
  static constexpr std::int64_t gates = 4;
  NodeRef node;
};

// --- operations that other IRs have, and ONNX writes in another way ------------------------------

/// X W' + B. Operands: X `[..., K]`, W `[N, K]`, optional B `[N]`.
struct Linear {
  static constexpr std::string_view kind = "linear";
  NodeRef node;
};

/// beta * C + alpha * A B. Operands: C, which broadcasts to `[M, N]`, A `[M, K]`, B `[K, N]`.
/// Attributes `alpha` and `beta`, 1 where they are missing.
struct Addmm {
  static constexpr std::string_view kind = "addmm";
  NodeRef node;
};

/// A matrix product for each index of the first axis, which does not broadcast. Operands: A
/// `[b, M, K]`, B `[b, K, N]`.
struct BatchMatMul {
  static constexpr std::string_view kind = "batch_matmul";
  NodeRef node;
};

/// beta * C + alpha * A B for each index of the first axis. Operands: C, which broadcasts to
/// `[b, M, N]`, A `[b, M, K]`, B `[b, K, N]`. Attributes as ops::Addmm.
struct Baddbmm {
  static constexpr std::string_view kind = "baddbmm";
  NodeRef node;
};

// --- quantization --------------------------------------------------------------------------------

/// Floats rounded to `levels()` numbers, which lie evenly from output_low to output_high
/// (OpenVINO's FakeQuantize-1). Operands: X, input_low, input_high, output_low, output_high, all of
/// one float type; the bounds broadcast to X. What is computed: numerics/fake_quantize.hpp.
struct FakeQuantize {
  static constexpr std::string_view kind = "fake_quantize";
  NodeRef node;

  /// How the shapes of the bounds relate to that of X.
  enum class Broadcast : std::uint8_t {
    numpy,  ///< aligned at the last axis; the default
    none,   ///< all shapes are the same
    pdpd,   ///< the bounds begin at axis `axis` of X (0 where the attribute is missing; -1: aligned
            ///< at the last axis), and trailing axes of extent 1 count for nothing. OpenVINO, which
            ///< has no `axis` here, holds bounds to this with 0, and then computes as by `numpy`
  };
  /// At least 2. Empty when the attribute `levels` is missing or less.
  [[nodiscard]] std::optional<std::int64_t> levels() const;
  /// The attribute `auto_broadcast`: `numpy`, `none` or `pdpd`. Empty for another.
  [[nodiscard]] std::optional<Broadcast> broadcast() const;
  /// The shape of a bound, as it is stretched to X of shape `x`: with as many axes, and along each
  /// of them the extent of X or 1. Unranked where either shape is. `invalid_model` where they do
  /// not go together, and where `auto_broadcast` or `axis` make no sense.
  [[nodiscard]] Expected<Shape> aligned(const Shape& bound, const Shape& x) const;
};

/// Floats quantized, and dequantized again, by the type that attributes say: MLIR's
/// const_fake_quant and const_fake_quant_per_axis, TensorFlow's fake_quant_with_min_max_args.
/// Operand: X, floats. Attributes `min` and `max`, two reals; or, with the attribute `axis`, two
/// lists of as many reals as X has indices along it. Attributes `num_bits` (8 where it is missing),
/// `narrow_range` and `is_signed` (0 or 1; 0) as in FakeQuantRange. What is computed:
/// numerics/fake_quant_type.hpp.
struct ConstFakeQuant {
  static constexpr std::string_view kind = "const_fake_quant";
  NodeRef node;
  /// Counted from the front. Empty: one range for all elements. `invalid_model` for one that X,
  /// if its rank is known, does not have.
  [[nodiscard]] Expected<std::optional<std::int64_t>> axis() const;
  /// One, or one for each index along `axis`. `invalid_model` where attributes are missing, of
  /// other types, make no sense, or do not go with the shape of X.
  [[nodiscard]] Expected<std::vector<FakeQuantRange>> ranges() const;
};

/// The same with bounds that are computed: TensorFlow's fake_quant_with_min_max_vars and
/// fake_quant_with_min_max_vars_per_channel. Operands: X, min, max; the bounds are of X's type, and
/// scalars, or, with the attribute `axis`, lists.
struct FakeQuant {
  static constexpr std::string_view kind = "fake_quant";
  NodeRef node;
  /// As of ConstFakeQuant.
  [[nodiscard]] Expected<std::optional<std::int64_t>> axis() const;
  /// What is meant where the bounds hold these numbers: one each, or as many as there are
  /// channels. Fails as that of ConstFakeQuant.
  [[nodiscard]] Expected<std::vector<FakeQuantRange>> ranges(std::span<const double> min,
                                                             std::span<const double> max) const;
};

/// Floats to codes (MLIR's qcast). The result's type holds the parameters.
struct Quantize {
  static constexpr std::string_view kind = "quantize";
  NodeRef node;
};

/// Codes to floats (MLIR's dcast). The operand's type holds the parameters.
struct Dequantize {
  static constexpr std::string_view kind = "dequantize";
  NodeRef node;
};

/// The same bits under a quantized or a plain integer type (MLIR's scast).
struct StorageCast {
  static constexpr std::string_view kind = "storage_cast";
  NodeRef node;
};

// --- instrumentation -----------------------------------------------------------------------------

/// What is known of the values at this point (MLIR's stats). Operand: X, floats; the result is X.
/// Attributes: `layer_stats`, the smallest and the largest element; and, or not, the same for each
/// index along `axis` in `axis_stats`: min, max, min, max, ...
struct Stats {
  static constexpr std::string_view kind = "stats";
  NodeRef node;

  struct Range {
    double min = 0;
    double max = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };
  /// Of all elements. `invalid_model` where the attribute is missing, of another type, or no range
  /// of finite numbers.
  [[nodiscard]] Expected<Range> layer() const;
  struct Axis {
    std::int64_t axis = 0;  ///< counted from the front; from the end if X's rank is not known
    std::vector<Range> ranges;
  };
  /// Empty where there are none. `invalid_model` as above, and where they do not go with the shape
  /// of X.
  [[nodiscard]] Expected<std::optional<Axis>> by_axis() const;
};

/// A point at which statistics are wanted, which trial runs find (MLIR's stats_ref):
/// calibration/calibrate.hpp. Operand: X, floats; the result is X. Attribute `stats_key`, a string.
struct StatsRef {
  static constexpr std::string_view kind = "stats_ref";
  NodeRef node;
  /// Empty where the attribute is missing or no string.
  [[nodiscard]] std::string key() const;
};

/// Points of the same key must not be quantized differently (MLIR's coupled_ref). Operand: X,
/// floats; the result is X. Attribute `coupled_key`, a string.
struct CoupledRef {
  static constexpr std::string_view kind = "coupled_ref";
  NodeRef node;
  /// Empty where the attribute is missing or no string.
  [[nodiscard]] std::string key() const;
};

}  // namespace ops
}  // namespace quadrant::inline v0

namespace quadrant::inline v0::ops {

// Operations of which no more is known than what they are called, as types: what methods are
// registered for.

template <std::size_t size>
struct KindName {
  // A literal becomes a template's argument: no explicit.
  consteval KindName(const char (&text)[size]) {  // NOLINT
    for (std::size_t i = 0; i < size; ++i) characters[i] = text[i];
  }
  std::array<char, size> characters{};
};

/// `Kind<"kiln.dense">`
template <KindName name>
struct Kind {
  static constexpr std::string_view kind{name.characters.data(), name.characters.size() - 1};
  NodeRef node;
};

}  // namespace quadrant::inline v0::ops
