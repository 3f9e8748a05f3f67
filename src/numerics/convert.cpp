#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "numerics/format_decoder.hpp"
#include "numerics/kernels/widen.hpp"
#include "numerics/nearest_codes.hpp"
#include "numerics/parameters.hpp"
#include "numerics/pieces.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {
namespace {

template <class Code>
class QuantizedSource final : public ConstantSource {
 public:
  QuantizedSource(Constant real, ParameterReader parameters, const RoundingProfile& rounding)
      : real_(std::move(real)), parameters_(std::move(parameters)), rounding_(rounding) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    FloatReader reader(real_, end_of(offset, out.size(), sizeof(Code)));
    ParameterReader parameters = parameters_;
    std::vector<Code> codes;
    return read_computed(
        offset, out, sizeof(Code),
        [&](std::int64_t first, std::size_t count) -> Expected<std::span<const std::byte>> {
          QUADRANT_TRY(const std::span<const float> values, reader.read(first, count));
          QUADRANT_TRY(const Parameters* const here, parameters.around(first, count));
          codes.resize(count);
          if (rounding_ == RoundingProfile::onnx()) {
            here->quantize(first, values, codes.data());
          } else {
            quantize_otherwise(*here, first, values, codes.data());
          }
          return std::as_bytes(std::span(codes));
        });
  }

  [[nodiscard]] Expected<void> read_runs(const ByteRuns& runs, std::uint64_t count,
                                         std::span<std::byte> room, RunsSink use) const override {
    if (sizeof(Code) > 1 || runs.length > piece_elements || rounding_ != RoundingProfile::onnx()) {
      return ConstantSource::read_runs(runs, count, room, use);
    }
    const std::uint64_t end = runs.offset + (count - 1) * runs.step + runs.length;
    FloatReader reader(real_, static_cast<std::int64_t>(end));
    ParameterReader parameters = parameters_;
    ByteRuns rest = runs;
    while (count > 0) {
      const std::uint64_t lot = std::min<std::uint64_t>(count, room.size() / runs.length);
      const auto out = room.first(static_cast<std::size_t>(lot) * runs.length);
      QUADRANT_CHECK(
          quantize_runs(rest, reader, parameters,
                        std::span(reinterpret_cast<Code*>(out.data()), out.size() / sizeof(Code))));
      use(out);
      rest.offset += lot * runs.step;
      count -= lot;
    }
    return {};
  }

 private:
  // As many runs as `codes` has room for; codes have a byte.
  [[nodiscard]] Expected<void> quantize_runs(const ByteRuns& runs, FloatReader& reader,
                                             ParameterReader& parameters,
                                             std::span<Code> codes) const {
    auto first = static_cast<std::int64_t>(runs.offset);
    const auto step = static_cast<std::int64_t>(runs.step);
    while (!codes.empty()) {
      const std::size_t count = std::min(codes.size() / runs.length, piece_elements / runs.length);
      QUADRANT_TRY(FloatRuns values, reader.read_runs(first, step, runs.length, count));
      for (std::size_t done = 0; done < count;) {
        QUADRANT_TRY(const Parameters* const here, parameters.around(first, runs.length));
        const std::size_t alike = here->groups.runs_alike(first, step, runs.length, count - done);
        if (alike > 1) {
          here->quantize_alike(first, runs.length, alike, values.first, values.stride,
                               codes.data());
        } else {
          here->quantize(first, std::span(values.first, runs.length), codes.data());
        }
        values = values.from(alike);
        codes = codes.subspan(alike * runs.length);
        first += static_cast<std::int64_t>(alike) * step;
        done += alike;
      }
    }
    return {};
  }

  void quantize_otherwise(const Parameters& parameters, std::int64_t first,
                          std::span<const float> values, Code* codes) const {
    parameters.for_each_run(
        first, values.size(),
        [&](auto each, RunParameters run, std::size_t position, std::size_t length) {
          quantize_run<each.value>(values.data() + position, codes + position, length, run,
                                   parameters.storage_min, parameters.storage_max, rounding_);
        });
  }

  Constant real_;
  ParameterReader parameters_;
  RoundingProfile rounding_;
};

template <class Code>
class DequantizedSource final : public ConstantSource {
 public:
  DequantizedSource(Constant codes, ParameterReader parameters)
      : codes_(std::move(codes)), parameters_(std::move(parameters)) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    ParameterReader parameters = parameters_;
    std::vector<Code> codes;
    std::vector<float> values;
    return read_computed(
        offset, out, sizeof(float),
        [&](std::int64_t first, std::size_t count) -> Expected<std::span<const std::byte>> {
          QUADRANT_TRY(const Parameters* const here, parameters.around(first, count));
          codes.resize(count);
          QUADRANT_CHECK(codes_.read(static_cast<std::uint64_t>(first) * sizeof(Code),
                                     std::as_writable_bytes(std::span(codes))));
          values.resize(count);
          here->template dequantize<Code>(first, codes, values.data());
          return std::as_bytes(std::span(values));
        });
  }

 private:
  Constant codes_;
  ParameterReader parameters_;
};

class DecodedSource final : public ConstantSource {
 public:
  DecodedSource(Constant codes, FormatDecoder decoder)
      : codes_(std::move(codes)), decoder_(std::move(decoder)) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::vector<std::byte> codes;
    std::vector<float> values;
    return read_computed(
        offset, out, sizeof(float),
        [&](std::int64_t first, std::size_t count) -> Expected<std::span<const std::byte>> {
          codes.resize(count * decoder_.width());
          QUADRANT_CHECK(
              codes_.read(static_cast<std::uint64_t>(first) * decoder_.width(), std::span(codes)));
          values.resize(count);
          decoder_.decode(codes, static_cast<std::size_t>(first), values);
          return std::as_bytes(std::span(values));
        });
  }

 private:
  Constant codes_;
  FormatDecoder decoder_;
};

class NearestSource final : public ConstantSource {
 public:
  NearestSource(Constant real, NearestCodes nearest)
      : real_(std::move(real)), nearest_(std::move(nearest)) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::size_t width = nearest_.width();
    FloatReader reader(real_, end_of(offset, out.size(), width));
    std::vector<std::byte> codes;
    return read_computed(
        offset, out, width,
        [&](std::int64_t first, std::size_t count) -> Expected<std::span<const std::byte>> {
          QUADRANT_TRY(const std::span<const float> values, reader.read(first, count));
          codes.resize(count * width);
          nearest_.find(values, static_cast<std::size_t>(first), codes);
          return std::span<const std::byte>(codes);
        });
  }

 private:
  Constant real_;
  NearestCodes nearest_;
};

// The source that holds codes as the integers of `storage`, which ParameterReader has accepted;
// `rounding` where it rounds.
template <template <class> class Source, class... Rounding>
std::shared_ptr<const ConstantSource> make_source(ElementType storage, Constant input,
                                                  ParameterReader parameters,
                                                  const Rounding&... rounding) {
  switch (storage) {
    case ElementType::int4:
    case ElementType::int8:
      return std::make_shared<Source<std::int8_t>>(std::move(input), std::move(parameters),
                                                   rounding...);
    case ElementType::uint4:
    case ElementType::uint8:
      return std::make_shared<Source<std::uint8_t>>(std::move(input), std::move(parameters),
                                                    rounding...);
    case ElementType::int16:
      return std::make_shared<Source<std::int16_t>>(std::move(input), std::move(parameters),
                                                    rounding...);
    default:
      QUADRANT_ASSERT(storage == ElementType::uint16);
      return std::make_shared<Source<std::uint16_t>>(std::move(input), std::move(parameters),
                                                     rounding...);
  }
}

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

}  // namespace

Expected<Constant> quantized(const Constant& real, const Quantization& quantization,
                             const RoundingProfile& rounding) {
  QUADRANT_ASSERT(real && quantization);
  if (!is_float(real.element())) {
    return fail(ErrorCode::impossible,
                fmt::format("values of type {} cannot be quantized: only floats can",
                            to_string(real.element())));
  }
  const ElementType storage = quantization.storage();
  if (quantization.other()) {
    QUADRANT_TRY(NearestCodes nearest, NearestCodes::make(*quantization.other(), real.shape()));
    return Constant::deferred(storage, real.shape(),
                              std::make_shared<NearestSource>(real, std::move(nearest)));
  }
  QUADRANT_TRY(ParameterReader parameters, ParameterReader::make(quantization, real.shape()));
  return Constant::deferred(
      storage, real.shape(),
      make_source<QuantizedSource>(storage, real, std::move(parameters), rounding));
}

Expected<Constant> dequantized(const Constant& codes, const Quantization& quantization) {
  QUADRANT_ASSERT(codes && quantization);
  const ElementType storage = quantization.storage();
  if (codes.element() != storage) {
    return fail(ErrorCode::impossible,
                fmt::format("codes of type {} cannot be dequantized by a type whose storage is {}",
                            to_string(codes.element()), to_string(storage)));
  }
  if (quantization.other()) {
    QUADRANT_TRY(FormatDecoder decoder, FormatDecoder::make(*quantization.other(), codes.shape()));
    return Constant::deferred(ElementType::float32, codes.shape(),
                              std::make_shared<DecodedSource>(codes, std::move(decoder)));
  }
  QUADRANT_TRY(ParameterReader parameters, ParameterReader::make(quantization, codes.shape()));
  return Constant::deferred(ElementType::float32, codes.shape(),
                            make_source<DequantizedSource>(storage, codes, std::move(parameters)));
}

void widen_to_float(ElementType element, std::span<const std::byte> bytes, std::span<float> out) {
  const auto width = static_cast<std::size_t>(byte_width(element));
  QUADRANT_ASSERT(is_float(element) && bytes.size() % width == 0 &&
                  bytes.size() / width <= out.size());
  const std::size_t count = bytes.size() / width;
  const std::byte* const from = bytes.data();
  switch (element) {
    case ElementType::float16:
      kernels::widen_float16(from, count, out.data());
      break;
    case ElementType::bfloat16:
      kernels::widen_bfloat16(from, count, out.data());
      break;
    case ElementType::float64:
      for (std::size_t i = 0; i < count; ++i) {
        out[i] = static_cast<float>(load<double>(from + 8 * i));
      }
      break;
    default:
      if (count != 0) std::memcpy(out.data(), from, bytes.size());
      break;
  }
}

}  // namespace quadrant::inline v0
