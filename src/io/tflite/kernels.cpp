#include "io/tflite/kernels.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "io/tflite/element.hpp"
#include "io/tflite/failure.hpp"
#include "quadrant/ir/scales.hpp"

namespace quadrant::inline v0::tflite {
namespace {

using enum BuiltinOperator;

/// A set of types, a bit each.
using Types = std::uint32_t;

constexpr Types set_of(ElementType element) { return Types{1} << static_cast<unsigned>(element); }

constexpr Types b1 = set_of(ElementType::boolean);
constexpr Types i4 = set_of(ElementType::int4);
constexpr Types i8 = set_of(ElementType::int8);
constexpr Types u8 = set_of(ElementType::uint8);
constexpr Types i16 = set_of(ElementType::int16);
constexpr Types u16 = set_of(ElementType::uint16);
constexpr Types i32 = set_of(ElementType::int32);
constexpr Types u32 = set_of(ElementType::uint32);
constexpr Types i64 = set_of(ElementType::int64);
constexpr Types u64 = set_of(ElementType::uint64);
/// Codes of int16 whose zero point is not 0.
constexpr Types shifted = Types{1} << 31U;

constexpr Types of_8_bits = i8 | u8;
constexpr Types codes_16 = of_8_bits | i16;  ///< 8 bits, and 16 around zero
constexpr Types moved_codes = of_8_bits | i16 | shifted | i32;
constexpr Types common_plain = of_8_bits | i16 | i32 | i64;
constexpr Types every_plain = common_plain | u16 | u32 | u64 | b1;
constexpr Types every_code = moved_codes | u16;

struct Kernel {
  BuiltinOperator code = CUSTOM;
  Types plain = 0;
  Types codes = 0;
  DataOperands data{};
};

constexpr DataOperands two_operands{.first = 0, .count = 2};
constexpr DataOperands all_operands{.first = 0, .count = std::numeric_limits<std::uint32_t>::max()};

/// What LiteRT 2.3.0's reference kernels compute rightly. What is not here either fails to load,
/// stops the process or gives wrong numbers (many kernels take plain integers for codes, and then
/// scale them by 0). Operators that are not here take real numbers alone.
constexpr std::array kernels{
    Kernel{ABS, i16 | i32, i8 | i16},
    Kernel{ADD, i16 | i32 | i64, codes_16, two_operands},
    Kernel{ARG_MAX, of_8_bits | i32 | b1, of_8_bits | i32},
    Kernel{ARG_MIN, of_8_bits | i32 | b1, of_8_bits | i32},
    Kernel{AVERAGE_POOL_2D, 0, codes_16},
    Kernel{BATCH_MATMUL, 0, i8 | i16, two_operands},
    Kernel{BITWISE_XOR, of_8_bits | i16 | u16 | i32 | u32, 0, two_operands},
    Kernel{BROADCAST_TO, every_plain, every_code},
    Kernel{CAST, every_plain & ~u64, every_code | i4},
    Kernel{CONCATENATION, common_plain | u32 | b1, codes_16 | i32, all_operands},
    Kernel{CONV_2D, 0, codes_16},
    Kernel{CUMSUM, i32 | i64, 0},
    Kernel{DEPTH_TO_SPACE, of_8_bits | i32 | i64, of_8_bits | i32},
    Kernel{DEPTHWISE_CONV_2D, 0, codes_16},
    Kernel{DEQUANTIZE, 0, codes_16 | i4},
    Kernel{DIV, i32, 0, two_operands},
    Kernel{ELU, 0, i8},
    Kernel{EQUAL, i16 | i32 | i64 | b1, of_8_bits | i16, two_operands},
    Kernel{EXP, 0, i8 | i16},
    Kernel{FILL, common_plain | u16 | u32 | b1, 0, {.first = 1}},
    Kernel{FLOOR_MOD, i8 | i16 | i32 | i64, 0, two_operands},
    Kernel{FULLY_CONNECTED, 0, codes_16},
    Kernel{GATHER, common_plain | b1, moved_codes},
    Kernel{GATHER_ND, common_plain | b1, moved_codes},
    Kernel{GELU, 0, codes_16},
    Kernel{GREATER, i16 | i32 | i64, codes_16, two_operands},
    Kernel{GREATER_EQUAL, i16 | i32 | i64, codes_16, two_operands},
    Kernel{HARD_SWISH, 0, of_8_bits},
    Kernel{LEAKY_RELU, 0, codes_16},
    Kernel{LESS, i16 | i32 | i64, codes_16, two_operands},
    Kernel{LESS_EQUAL, i16 | i32 | i64, codes_16, two_operands},
    Kernel{LOG, 0, i8},  // of 16 bits: thousands of steps off near 0
    Kernel{LOG_SOFTMAX, 0, of_8_bits},
    Kernel{LOGICAL_AND, b1, 0, two_operands},
    Kernel{LOGICAL_NOT, b1, 0},
    Kernel{LOGICAL_OR, b1, 0, two_operands},
    Kernel{LOGISTIC, 0, codes_16},
    Kernel{MAX_POOL_2D, of_8_bits | i16, codes_16 | shifted},
    Kernel{MAXIMUM, common_plain, moved_codes, two_operands},
    Kernel{MEAN, i32 | i64, codes_16},
    Kernel{MINIMUM, common_plain, moved_codes, two_operands},
    Kernel{MIRROR_PAD, every_plain, codes_16 | u16 | i32},
    Kernel{MUL, i16 | i32 | u32 | i64, codes_16, two_operands},
    Kernel{NEG, i8 | i16 | i32 | i64, 0},
    Kernel{NOT_EQUAL, i32 | i64 | b1, of_8_bits, two_operands},
    Kernel{ONE_HOT, of_8_bits | i32 | i64 | b1, 0, {.first = 2, .count = 2}},
    Kernel{PAD, common_plain | b1, moved_codes},
    Kernel{PADV2, common_plain | b1, moved_codes},
    Kernel{POW, i32, 0, two_operands},
    Kernel{PRELU, 0, of_8_bits, two_operands},
    // Real numbers to these codes, or codes to codes.
    Kernel{QUANTIZE, 0, codes_16 | shifted},
    Kernel{RANGE, i32 | i64, 0, all_operands},
    Kernel{REDUCE_MAX, common_plain, codes_16 | i32},
    Kernel{REDUCE_MIN, common_plain, codes_16 | i32},
    Kernel{REDUCE_PROD, common_plain, 0},
    Kernel{RELU, 0, codes_16},
    Kernel{RELU6, 0, codes_16},
    Kernel{RELU_0_TO_1, 0, of_8_bits},
    Kernel{RELU_N1_TO_1, 0, of_8_bits},
    Kernel{RESHAPE, every_plain, every_code | i4},
    Kernel{RESIZE_BILINEAR, 0, of_8_bits},  // of 16 bits: many steps off
    Kernel{RESIZE_NEAREST_NEIGHBOR, every_plain & ~(i64 | u64), every_code},
    Kernel{REVERSE_SEQUENCE, i16 | i32 | i64, 0},
    Kernel{SCATTER_ND, of_8_bits | i32 | i64 | b1, 0, {.first = 1}},
    Kernel{SELECT_V2, every_plain, every_code, {.first = 1, .count = 2}},
    Kernel{SHAPE, every_plain, every_code | i4},
    Kernel{SIGN, i32, 0},
    Kernel{SOFTMAX, 0, codes_16},
    Kernel{SPACE_TO_DEPTH, of_8_bits | i32 | i64, of_8_bits | i32},
    Kernel{SPLIT, common_plain, moved_codes, {.first = 1}},
    Kernel{SPLIT_V, common_plain, moved_codes},
    Kernel{SQRT, 0, i8 | i16},
    Kernel{STRIDED_SLICE, every_plain, every_code},
    Kernel{SUB, i32 | i64, codes_16, two_operands},
    Kernel{SUM, i32 | i64, codes_16},
    Kernel{TANH, 0, codes_16},
    Kernel{TILE, every_plain, every_code},
    Kernel{TOPK_V2, common_plain, 0},
    Kernel{TRANSPOSE, every_plain, every_code},
    Kernel{TRANSPOSE_CONV, 0, codes_16, {.first = 2}},
    Kernel{UNIQUE, common_plain, 0},
    Kernel{WHERE, of_8_bits | i32 | u32 | i64 | b1, 0},
};

/// Which weights a kernel takes beside data of a type, and whether their zero point may be another
/// than 0.
struct Weights {
  ElementType data = ElementType::undefined;
  Types convolution = 0;
  Types dense = 0;  ///< of FULLY_CONNECTED
};

constexpr std::array weight_rows{
    Weights{ElementType::int8, i8 | i4, i8 | i4},
    Weights{ElementType::uint8, u8, u8},
    Weights{ElementType::int16, i8 | i4, i8 | i4 | i16},
};

struct FixedResult {
  BuiltinOperator code = CUSTOM;
  ElementType element = ElementType::undefined;
  ResultCodes codes{};
};

constexpr float fraction(int count) { return 1.0F / static_cast<float>(count); }

constexpr std::array fixed_results{
    FixedResult{LOGISTIC, ElementType::int8, {fraction(256), -128, true}},
    FixedResult{LOGISTIC, ElementType::uint8, {fraction(256), 0, true}},
    FixedResult{LOGISTIC, ElementType::int16, {fraction(32768), 0}},
    // Of 8 bits it is a table for any result.
    FixedResult{TANH, ElementType::int16, {fraction(32768), 0}},
    FixedResult{SOFTMAX, ElementType::int8, {fraction(256), -128}},
    FixedResult{SOFTMAX, ElementType::uint8, {fraction(256), 0}},
    FixedResult{SOFTMAX, ElementType::int16, {fraction(32768), 0}},
    FixedResult{LOG_SOFTMAX, ElementType::int8, {fraction(16), 127}},
    FixedResult{LOG_SOFTMAX, ElementType::uint8, {fraction(16), 255}},
};

constexpr Kernel reals_alone;

const Kernel& kernel_of(BuiltinOperator code) noexcept {
  const auto* found = std::ranges::find(kernels, code, &Kernel::code);
  return found == kernels.end() ? reals_alone : *found;
}

bool has_shift(std::span<const std::int64_t> zeros) {
  return std::ranges::any_of(zeros, [](std::int64_t zero) { return zero != 0; });
}

std::vector<std::int64_t> zeros_of(const UniformType& type) {
  if (!type.zero_points) return {};
  return value_of(read_integers(type.zero_points, type.zero_points.element_count()));
}

bool takes_integers(BuiltinOperator code, ElementType element,
                    std::span<const std::int64_t> zeros) {
  const bool is_shifted = element == ElementType::int16 && has_shift(zeros);
  return (kernel_of(code).codes & (is_shifted ? shifted : set_of(element))) != 0;
}

}  // namespace

bool takes_plain(BuiltinOperator code, ElementType element) noexcept {
  return (kernel_of(code).plain & set_of(element)) != 0;
}

bool takes_codes(BuiltinOperator code, const UniformType& type) {
  return takes_integers(code, type.storage, zeros_of(type));
}

bool takes_weights(BuiltinOperator code, ElementType data, const UniformType& weights) {
  if (code == BATCH_MATMUL) return weights.storage == data;
  const auto* row = std::ranges::find(weight_rows, data, &Weights::data);
  if (row == weight_rows.end()) return false;
  const bool is_dense = code == FULLY_CONNECTED;
  if (((is_dense ? row->dense : row->convolution) & set_of(weights.storage)) == 0) return false;
  if (weights.storage == ElementType::uint8) {
    return weights.granularity.kind == Granularity::Kind::tensor;
  }
  return is_dense || !has_shift(zeros_of(weights));
}

bool takes_data(BuiltinOperator code, const schema::TensorT& tensor) {
  const ElementType element = element_of(tensor.type);
  if (!is_integer(element) && element != ElementType::boolean) return true;
  const auto& codes = tensor.quantization;
  return codes && !codes->scale.empty() ? takes_integers(code, element, codes->zero_point)
                                        : takes_plain(code, element);
}

std::optional<ResultCodes> result_codes(BuiltinOperator code, ElementType element) noexcept {
  const auto* found = std::ranges::find_if(fixed_results, [&](const FixedResult& row) {
    return row.code == code && row.element == element;
  });
  if (found == fixed_results.end()) return std::nullopt;
  return found->codes;
}

DataOperands data_operands(BuiltinOperator code) noexcept { return kernel_of(code).data; }

}  // namespace quadrant::inline v0::tflite
