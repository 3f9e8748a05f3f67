// A quantized type's scales and zero points, read and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "numerics/affine_kernels.hpp"
#include "numerics/groups.hpp"
#include "numerics/kernels/dequantize.hpp"
#include "numerics/kernels/quantize.hpp"
#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// What the arithmetic needs of a uniform type whose storage has at most 16 bits: everything fits a
/// float exactly.
struct Parameters {
  Groups groups;
  ConstantBytes scales;  ///< float32, of groups from `first_group` on, finite and not 0
  /// As many; where the type has none, zeros for a run.
  std::vector<std::int32_t> zero_points;
  std::int32_t storage_min = 0;
  std::int32_t storage_max = 0;
  bool same_zero_point = false;  ///< all zero points are the same
  std::size_t first_group = 0;   ///< not 0 in a ParameterReader alone

  /// All but the scales and zero points. `impossible` when `type` does not fit tensors of `shape`,
  /// or is not supported.
  [[nodiscard]] static Expected<Parameters> without_values(const Quantization& type,
                                                           const Shape& shape);
  /// Everything; checks values that are deferred, too.
  [[nodiscard]] static Expected<Parameters> read(const Quantization& type, const Shape& shape);

  /// Calls `body(each, run parameters, position, length)` for each run of the `count` elements from
  /// `first` on; `each` is std::true_type where the elements of a run differ in their parameters.
  template <class Body>
  void for_each_run(std::int64_t first, std::size_t count, Body body) const {
    groups.for_each_run(
        first, count, [&](std::size_t group, std::size_t position, std::size_t length) {
          const RunParameters run{scales_from(group), zero_points_from(group), same_zero_point};
          if (groups.interleaved()) {
            body(std::true_type{}, run, position, length);
          } else {
            body(std::false_type{}, run, position, length);
          }
        });
  }

  /// quantize_value of `real`, which are the elements from `first` on; codes have 8 or 16 bits. As
  /// many elements behind them are likely to be next.
  template <class Code>
  void quantize(std::int64_t first, std::span<const float> real, Code* codes) const {
    const std::size_t ahead = real.size();
    groups.for_each_batch(first, real.size(), [&](const RunBatch& batch) {
      const auto apply = groups.interleaved() ? kernels::quantize_columns<Code, float>
                                              : kernels::quantize_rows<Code, float>;
      apply(real.data() + batch.position, codes + batch.position,
            kernels::Rows::packed(batch.runs, batch.length, ahead), from(batch.group));
    });
  }

  /// The same for `count` runs of `length` elements of which Groups::runs_alike is true, the first
  /// from `first` on; `real` are `real_stride` apart, codes one behind the other.
  template <class Code>
  void quantize_alike(std::int64_t first, std::size_t length, std::size_t count, const float* real,
                      std::size_t real_stride, Code* codes) const {
    groups.for_each_batch(first, length, [&](const RunBatch& batch) {
      kernels::quantize_columns<Code>(real, codes,
                                      {count, length, real_stride, length, count * real_stride},
                                      from(batch.group));
    });
  }

  /// dequantize_value of `codes`, the elements from `first` on.
  template <class Code>
  void dequantize(std::int64_t first, std::span<const Code> codes, float* real) const {
    groups.for_each_batch(first, codes.size(), [&](const RunBatch& batch) {
      const auto apply =
          groups.interleaved() ? kernels::dequantize_columns<Code> : kernels::dequantize_rows<Code>;
      apply(codes.data() + batch.position, real + batch.position, rows_of(batch),
            from(batch.group));
    });
  }

 private:
  [[nodiscard]] static kernels::Rows rows_of(const RunBatch& batch) noexcept {
    return kernels::Rows::packed(batch.runs, batch.length);
  }

  [[nodiscard]] const float* scales_from(std::size_t group) const noexcept {
    return scales.as<float>().data() + (group - first_group);
  }

  [[nodiscard]] const std::int32_t* zero_points_from(std::size_t group) const noexcept {
    const bool has_all = zero_points.size() == scales.as<float>().size();
    return zero_points.data() + (has_all ? group - first_group : 0);
  }

  [[nodiscard]] kernels::Affine from(std::size_t group) const noexcept {
    return {.scales = scales_from(group),
            .zero_points = same_zero_point ? nullptr : zero_points_from(group),
            .zero_point = same_zero_point ? zero_points.front() : 0,
            .min = storage_min,
            .max = storage_max};
  }
};

/// The Parameters of a part of a tensor after another: all of them, held from the beginning, where
/// the type holds its scales in memory; else, where they are many and in a file, only those of the
/// part at hand. Copies begin at their own part. One reader a thread.
class ParameterReader {
 public:
  /// Errors as of Parameters::read; of the values in a part, later, from `around`.
  [[nodiscard]] static Expected<ParameterReader> make(const Quantization& type, const Shape& shape);

  /// Those of at least the `count` elements from `first` on; valid until the next call.
  [[nodiscard]] Expected<const Parameters*> around(std::int64_t first, std::size_t count);

 private:
  ParameterReader() = default;

  std::shared_ptr<const Parameters> all_;  ///< shared by copies; null where `part_` is used
  std::optional<Parameters> part_;
  ScaledFormat type_;  ///< of `part_`
};

}  // namespace quadrant::inline v0
