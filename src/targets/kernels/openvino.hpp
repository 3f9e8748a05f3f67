// What OpenVINO's plugins compute on codes, as they tell their own low-precision transformations.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "ir/ops/elementwise.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/reductions.hpp"
#include "ir/ops/windows.hpp"
#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encoding.hpp"

namespace quadrant::inline v0::target_kernels::openvino {

/// How an operation goes on with codes.
enum class PrecisionFamily : std::uint8_t {
  product,     ///< sums in the scale of the products
  sum,         ///< on a grid that is fine for both operands
  factor,      ///< products of two, and of a constant
  mean,        ///< sums, in a scale that divides
  curve,       ///< linear in pieces
  clamp,       ///< limits
  same,        ///< the codes as they are
  concat,      ///< the codes as they are, side by side
  float_cast,  ///< the codes as they are, of other floats
};

/// One operation of a target.
struct PrecisionRule {
  std::string_view kind;
  PrecisionFamily family = PrecisionFamily::same;
  Storages data{};    ///< types of the codes that are data
  Storages weight{};  ///< of the codes of the second factor, where that is a constant
};

/// What a target takes, whole.
struct LowPrecisionProfile {
  Storages activations;  ///< what a fake_quantize of data may become
  Storages constants;    ///< of a constant
  std::span<const PrecisionRule> rules;
};

inline constexpr Storages u8{ElementType::uint8};
inline constexpr Storages i8{ElementType::int8};
inline constexpr Storages bytes{ElementType::uint8, ElementType::int8};
inline constexpr Storages all{ElementType::uint8, ElementType::int8, ElementType::uint4,
                              ElementType::int4};

// Convolutions differ between targets; all else takes whatever codes there are.
constexpr auto rules_of(Storages conv, Storages weight, Storages any) {
  using enum PrecisionFamily;
  return std::array{
      PrecisionRule{ops::Conv::kind, product, conv, weight},
      PrecisionRule{ops::ConvTranspose::kind, product, any, weight},
      PrecisionRule{ops::MatMul::kind, product, any, weight},
      PrecisionRule{ops::Gemm::kind, product, any, weight},
      PrecisionRule{ops::Linear::kind, product, any, weight},
      PrecisionRule{ops::BatchMatMul::kind, product, any, weight},
      PrecisionRule{ops::Add::kind, sum, any},
      PrecisionRule{ops::Sub::kind, sum, any},
      PrecisionRule{ops::Multiply::kind, factor, any},
      PrecisionRule{ops::Div::kind, factor, any},
      PrecisionRule{ops::AveragePool::kind, mean, any},
      PrecisionRule{ops::GlobalAveragePool::kind, mean, any},
      PrecisionRule{ops::ReduceMean::kind, mean, any},
      PrecisionRule{ops::PRelu::kind, curve, any},
      PrecisionRule{ops::LeakyRelu::kind, curve, any},
      PrecisionRule{ops::Relu::kind, clamp, any},
      PrecisionRule{ops::Clip::kind, clamp, any},
      PrecisionRule{ops::MaxPool::kind, same, any},
      PrecisionRule{ops::GlobalMaxPool::kind, same, any},
      PrecisionRule{ops::Pad::kind, same, any},
      PrecisionRule{ops::Resize::kind, same, any},
      PrecisionRule{ops::DepthToSpace::kind, same, any},
      PrecisionRule{ops::SpaceToDepth::kind, same, any},
      PrecisionRule{ops::Identity::kind, same, any},
      PrecisionRule{ops::Transpose::kind, same, any},
      PrecisionRule{ops::Reshape::kind, same, any},
      PrecisionRule{ops::Squeeze::kind, same, any},
      PrecisionRule{ops::Unsqueeze::kind, same, any},
      PrecisionRule{ops::Flatten::kind, same, any},
      PrecisionRule{ops::Expand::kind, same, any},
      PrecisionRule{ops::Slice::kind, same, any},
      PrecisionRule{ops::Split::kind, same, any},
      PrecisionRule{ops::Gather::kind, same, any},
      PrecisionRule{ops::Concat::kind, concat, any},
      PrecisionRule{ops::Cast::kind, float_cast, any},
  };
}

// The CPU's convolutions take data with a sign on processors with AMX alone, which models are not
// made for.
inline constexpr auto cpu_rules = rules_of(u8, i8, bytes);
inline constexpr auto gpu_rules = rules_of(bytes, i8, bytes);
inline constexpr auto generic_rules = rules_of(all, all, all);

inline constexpr LowPrecisionProfile cpu{u8, i8, cpu_rules};
inline constexpr LowPrecisionProfile gpu{bytes, i8, gpu_rules};
inline constexpr LowPrecisionProfile generic{all, all, generic_rules};

/// How the factor of a product of two computed matrices is encoded. Kernels take u8 and i8, neither
/// with a zero point (seen in release 2026.4): all other pairs are floats.
struct MatrixFactor {
  EncodingSymmetry symmetry = EncodingSymmetry::symmetric;
  /// Of codes of 8 bits, where two products meet in 16: with 7 in one factor their sum stays there.
  int paired_bits = 8;
};
inline constexpr MatrixFactor first_matrix{EncodingSymmetry::symmetric_unsigned};
inline constexpr MatrixFactor second_matrix{EncodingSymmetry::symmetric, 7};

}  // namespace quadrant::inline v0::target_kernels::openvino
