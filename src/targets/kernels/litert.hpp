// LiteRT's kernels: which integers they take, and what they make of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "quadrant/ir/type.hpp"
#include "targets/kernels/fixed_results.hpp"

namespace quadrant::inline v0::target_kernels {

/// A set of types, a bit each.
using Types = std::uint32_t;

constexpr Types set_of(ElementType element) { return Types{1} << static_cast<unsigned>(element); }

/// The operands of an operator that are data, rather than shapes, axes or indices.
struct DataOperands {
  std::size_t first = 0;
  std::size_t count = 1;
};

/// Which constant weights a kernel takes beside data of a type: they are its operand 1.
struct WeightTypes {
  Types beside_int8 = 0;
  Types beside_uint8 = 0;
  Types beside_int16 = 0;
  Types shifted = 0;  ///< those of one scale whose zero point may be another than 0
};

/// Which constant weights in blocks a kernel takes beside floats, which it rounds to 8 bits,
/// each row by its own scale and zero point. Their scales are above zero, and float16.
struct BlockWeights {
  Types codes = 0;
  std::int64_t step = 0;            ///< block sizes are multiples of it
  std::int64_t least_channels = 0;  ///< of fewer, the results are zeros
};

/// Room for a sum, or a product of two, in steps of the result, before it is limited to the codes
/// that there are.
struct Room {
  /// Vectors of bytes have 16 bits for it: of both operands' steps, added or multiplied.
  double of_8_bits = std::numeric_limits<double>::infinity();
  /// Of the steps of each summand, or of both factors multiplied; of 32 bits.
  double of_16_bits = std::numeric_limits<double>::infinity();
};

struct LitertKernel {
  std::string_view name;  ///< as the schema of TFLite's files has it
  Types plain = 0;        ///< integers and booleans
  Types codes = 0;
  DataOperands data{};
  WeightTypes weights{};
  FixedResults results{};
  Room room{};
  BlockWeights blocks{};
  Types channel_codes = ~Types{0};  ///< of `codes`: those that may have a scale for each channel

  [[nodiscard]] constexpr bool takes_plain(ElementType element) const noexcept {
    return (plain & set_of(element)) != 0;
  }
  [[nodiscard]] bool takes_codes(ElementType storage, std::span<const std::int64_t> zeros) const;
  [[nodiscard]] bool takes_codes(const Quantization& type) const;
  /// Whether it takes weights of that type beside codes of type `beside`.
  [[nodiscard]] constexpr bool takes_weights(ElementType beside,
                                             ElementType storage) const noexcept {
    Types taken = 0;
    if (beside == ElementType::int8) taken = weights.beside_int8;
    if (beside == ElementType::uint8) taken = weights.beside_uint8;
    if (beside == ElementType::int16) taken = weights.beside_int16;
    return (taken & set_of(storage)) != 0;
  }
  /// Why it does not take weights, of one scale or of one for each channel, beside codes of type
  /// `beside`: a literal, or null.
  [[nodiscard]] const char* refuse_weights(ElementType beside, const Quantization& type) const;
  /// Whether it takes weights in blocks along the one axis of a matrix of that shape that is summed
  /// over.
  [[nodiscard]] bool takes_blocks(const Quantization& type, const Shape& shape) const;
};

namespace litert {

inline constexpr Types b1 = set_of(ElementType::boolean);
/// Of constants alone, which hold them in 4 bits until a file is written.
inline constexpr Types i2 = set_of(ElementType::int2);
inline constexpr Types i4 = set_of(ElementType::int4);
inline constexpr Types i8 = set_of(ElementType::int8);
inline constexpr Types u8 = set_of(ElementType::uint8);
inline constexpr Types i16 = set_of(ElementType::int16);
inline constexpr Types u16 = set_of(ElementType::uint16);
inline constexpr Types i32 = set_of(ElementType::int32);
inline constexpr Types u32 = set_of(ElementType::uint32);
inline constexpr Types i64 = set_of(ElementType::int64);
inline constexpr Types u64 = set_of(ElementType::uint64);
/// Codes of int16 whose zero point is not 0.
inline constexpr Types shifted = Types{1} << 31U;

inline constexpr Types of_8_bits = i8 | u8;
inline constexpr Types codes_16 = of_8_bits | i16;  ///< 8 bits, and 16 around zero
inline constexpr Types moved_codes = of_8_bits | i16 | shifted | i32;
inline constexpr Types common_plain = of_8_bits | i16 | i32 | i64;
inline constexpr Types every_plain = common_plain | u16 | u32 | u64 | b1;
inline constexpr Types every_code = moved_codes | u16;

inline constexpr DataOperands two_operands{.first = 0, .count = 2};
inline constexpr DataOperands all_operands{.count = std::numeric_limits<std::uint32_t>::max()};

inline constexpr WeightTypes depthwise_weights{i8 | i4, u8, i8, u8};
inline constexpr WeightTypes convolution_weights{i8 | i4, u8, i8 | i4, u8};
inline constexpr WeightTypes transposed_weights{i8, u8, i8, u8};
// Beside weights of int16 the kernel reads a bias of 64 bits as if it had 32.
inline constexpr WeightTypes dense_weights{i8 | i4 | i2, u8, i8 | i4 | i2, i8 | u8};
inline constexpr WeightTypes matrix_factors{i8, 0, i16, i8};
// XNNPACK has these sizes; what the other kernel makes of others depends on all extents.
inline constexpr BlockWeights dense_blocks{.codes = i4, .step = 32, .least_channels = 4};

constexpr float fraction(int count) { return 1.0F / static_cast<float>(count); }
inline constexpr FixedResult to_one{.scale = fraction(32768)};

inline constexpr Room room_of_sums{128, 8192};
inline constexpr Room room_of_products{0.5, 1};

/// What LiteRT 2.3.0's reference kernels compute; what is far off is excepted in litert_rules.hpp.
/// What is not here either fails to load,
/// stops the process or gives wrong numbers (many kernels take plain integers for codes, and then
/// scale them by 0). Operators that are not here take floats alone.
inline constexpr std::array kernels{
    LitertKernel{"ABS", i16 | i32, i8 | i16},
    LitertKernel{"ADD", i16 | i32 | i64, codes_16, two_operands, {}, {}, room_of_sums},
    LitertKernel{"ARG_MAX", of_8_bits | i32 | b1, of_8_bits | i32},
    LitertKernel{"ARG_MIN", of_8_bits | i32 | b1, of_8_bits | i32},
    LitertKernel{"AVERAGE_POOL_2D", 0, codes_16},
    LitertKernel{"BATCH_MATMUL", 0, i8 | i16, two_operands, matrix_factors},
    LitertKernel{"BITWISE_XOR", of_8_bits | i16 | u16 | i32 | u32, 0, two_operands},
    LitertKernel{"BROADCAST_TO", every_plain, every_code},
    LitertKernel{"CAST", every_plain & ~u64, every_code | i4},
    LitertKernel{"CONCATENATION", common_plain | u32 | b1, codes_16 | i32, all_operands},
    LitertKernel{"CONV_2D", 0, codes_16, {}, convolution_weights},
    LitertKernel{"CUMSUM", i32 | i64, 0},
    LitertKernel{"DEPTH_TO_SPACE", of_8_bits | i32 | i64, of_8_bits | i32},
    LitertKernel{"DEPTHWISE_CONV_2D", 0, codes_16, {}, depthwise_weights},
    LitertKernel{
        .name = "DEQUANTIZE", .codes = codes_16 | i4 | i2, .channel_codes = of_8_bits | i4 | i2},
    LitertKernel{"DIV", i32, 0, two_operands},
    LitertKernel{"ELU", 0, i8},
    LitertKernel{"EQUAL", i16 | i32 | i64 | b1, of_8_bits | i16, two_operands},
    LitertKernel{"EXP", 0, i8 | i16},
    LitertKernel{"FILL", common_plain | u16 | u32 | b1, 0, {.first = 1}},
    LitertKernel{"FLOOR_MOD", i8 | i16 | i32 | i64, 0, two_operands},
    LitertKernel{"FULLY_CONNECTED", 0, codes_16, {}, dense_weights, {}, {}, dense_blocks},
    LitertKernel{"GATHER", common_plain | b1, moved_codes},
    LitertKernel{"GATHER_ND", common_plain | b1, moved_codes},
    LitertKernel{"GELU", 0, codes_16},
    LitertKernel{"GREATER", i16 | i32 | i64, codes_16, two_operands},
    LitertKernel{"GREATER_EQUAL", i16 | i32 | i64, codes_16, two_operands},
    LitertKernel{"HARD_SWISH", 0, of_8_bits},
    LitertKernel{"LEAKY_RELU", 0, codes_16},
    LitertKernel{"LESS", i16 | i32 | i64, codes_16, two_operands},
    LitertKernel{"LESS_EQUAL", i16 | i32 | i64, codes_16, two_operands},
    LitertKernel{"LOG", 0, i8},  // of 16 bits: thousands of steps off near 0
    LitertKernel{"LOG_SOFTMAX", 0, of_8_bits, {}, {}, {.of_8_bits = {fraction(16), 127}}},
    LitertKernel{"LOGICAL_AND", b1, 0, two_operands},
    LitertKernel{"LOGICAL_NOT", b1, 0},
    LitertKernel{"LOGICAL_OR", b1, 0, two_operands},
    LitertKernel{"LOGISTIC", 0, codes_16, {}, {}, {{fraction(256), -128, true}, to_one}},
    LitertKernel{"MAX_POOL_2D", of_8_bits | i16, codes_16 | shifted},
    LitertKernel{"MAXIMUM", common_plain, moved_codes, two_operands},
    LitertKernel{"MEAN", i32 | i64, codes_16},
    LitertKernel{"MINIMUM", common_plain, moved_codes, two_operands},
    LitertKernel{"MIRROR_PAD", every_plain, codes_16 | u16 | i32},
    LitertKernel{"MUL", i16 | i32 | u32 | i64, codes_16, two_operands, {}, {}, room_of_products},
    LitertKernel{"NEG", i8 | i16 | i32 | i64, 0},
    LitertKernel{"NOT_EQUAL", i32 | i64 | b1, of_8_bits, two_operands},
    LitertKernel{"ONE_HOT", of_8_bits | i32 | i64 | b1, 0, {.first = 2, .count = 2}},
    LitertKernel{"PAD", common_plain | b1, moved_codes},
    LitertKernel{"PADV2", common_plain | b1, moved_codes},
    LitertKernel{"POW", i32, 0, two_operands},
    LitertKernel{"PRELU", 0, of_8_bits, two_operands},
    // Floats to these codes, or codes to codes.
    LitertKernel{"QUANTIZE", 0, codes_16 | shifted},
    LitertKernel{"RANGE", i32 | i64, 0, all_operands},
    LitertKernel{"REDUCE_MAX", common_plain, codes_16 | i32},
    LitertKernel{"REDUCE_MIN", common_plain, codes_16 | i32},
    LitertKernel{"REDUCE_PROD", common_plain, 0},
    LitertKernel{"RELU", 0, codes_16},
    LitertKernel{"RELU6", 0, codes_16},
    LitertKernel{"RELU_0_TO_1", 0, of_8_bits},
    LitertKernel{"RELU_N1_TO_1", 0, of_8_bits},
    LitertKernel{"RESHAPE", every_plain, every_code | i4},
    LitertKernel{"RESIZE_BILINEAR", 0, of_8_bits},  // of 16 bits: many steps off
    LitertKernel{"RESIZE_NEAREST_NEIGHBOR", every_plain & ~(i64 | u64), every_code},
    LitertKernel{"REVERSE_SEQUENCE", i16 | i32 | i64, 0},
    LitertKernel{"SCATTER_ND", of_8_bits | i32 | i64 | b1, 0, {.first = 1}},
    LitertKernel{"SELECT_V2", every_plain, every_code, {.first = 1, .count = 2}},
    LitertKernel{"SHAPE", every_plain, every_code | i4},
    LitertKernel{"SIGN", i32, 0},
    LitertKernel{"SOFTMAX", 0, codes_16, {}, {}, {{fraction(256), -128}, to_one}},
    LitertKernel{"SPACE_TO_DEPTH", of_8_bits | i32 | i64, of_8_bits | i32},
    LitertKernel{"SPLIT", common_plain, moved_codes, {.first = 1}},
    LitertKernel{"SPLIT_V", common_plain, moved_codes},
    LitertKernel{"SQRT", 0, i8 | i16},
    LitertKernel{"STRIDED_SLICE", every_plain, every_code},
    LitertKernel{"SUB", i32 | i64, codes_16, two_operands, {}, {}, room_of_sums},
    LitertKernel{"SUM", i32 | i64, codes_16, {}, {}, {}, {.of_16_bits = 1}},
    LitertKernel{"TANH", 0, codes_16, {}, {}, {.of_16_bits = to_one}},
    LitertKernel{"TILE", every_plain, every_code},
    LitertKernel{"TOPK_V2", common_plain, 0},
    LitertKernel{"TRANSPOSE", every_plain, every_code},
    LitertKernel{"TRANSPOSE_CONV", 0, codes_16, {.first = 2}, transposed_weights},
    LitertKernel{"UNIQUE", common_plain, 0},
    LitertKernel{"WHERE", of_8_bits | i32 | u32 | i64 | b1, 0},
};

}  // namespace litert

/// One of floats alone for names that are not known.
[[nodiscard]] const LitertKernel& litert_kernel(std::string_view name) noexcept;

}  // namespace quadrant::inline v0::target_kernels
