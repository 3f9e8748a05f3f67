// RotaryEmbedding: pairs of a head's elements are turned by an angle that depends on the position.
// A pair is an element of the first half and one of the second, or (interleaved) two neighbours;
// elements behind the rotated ones stay.
#include "ir/ops/functions.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/heads.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// Which row of the caches belongs to a position of a sample.
using CacheRows = std::vector<std::int64_t>;  // [batch, sequence]

struct Rotation {
  Heads heads;
  std::int64_t rotated = 0;  // elements of a head, even
  bool interleaved = false;
  Tensor cosines;  // [rows, rotated / 2], seen from the last axis
  Tensor sines;
  CacheRows rows;
};

template <class T>
void rotate(const Rotation& rotation, std::span<T> row, std::span<const T> cosines,
            std::span<const T> sines) {
  const std::size_t half = cosines.size();
  for (std::size_t i = 0; i < half; ++i) {
    T& a = row[rotation.interleaved ? 2 * i : i];
    T& b = row[rotation.interleaved ? 2 * i + 1 : half + i];
    const T turned = a * cosines[i] - b * sines[i];
    b = a * sines[i] + b * cosines[i];
    a = turned;
  }
}

Expected<Tensors> rotated(const Tensor& x, const Rotation& rotation) {
  const Heads& heads = rotation.heads;
  return with_real(x.element(), [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensor y, Tensor::make(x.element(), x.shape()));
    std::ranges::copy(x.as<T>(), y.fill<T>().begin());
    const auto half = static_cast<std::size_t>(rotation.rotated / 2);
    for (std::int64_t b = 0; b < heads.batch; ++b) {
      for (std::int64_t h = 0; h < heads.heads; ++h) {
        T* head = y.fill<T>().data() + heads.offset(b, h);
        for (std::int64_t s = 0; s < heads.sequence; ++s) {
          const auto row = rotation.rows[static_cast<std::size_t>(b * heads.sequence + s)];
          const std::size_t first = static_cast<std::size_t>(row) * half;
          rotate(rotation, std::span<T>(head + s * heads.stride(), 2 * half),
                 rotation.cosines.as<T>().subspan(first, half),
                 rotation.sines.as<T>().subspan(first, half));
        }
      }
    }
    return Tensors{std::move(y)};
  });
}

// Operand 0, the attributes, and the caches.
Expected<Rotation> rotation_of(const KernelCall& call, std::int64_t heads, const Tensor& cosines,
                               const Tensor& sines) {
  const Tensor& x = call.operand(0);
  Rotation rotation{.interleaved = call.attribute_or<std::int64_t>("interleaved", 0) != 0,
                    .cosines = cosines,
                    .sines = sines};
  QUADRANT_TRY(rotation.heads, heads_of(x, heads));
  const auto part = call.attribute_or<std::int64_t>("rotary_embedding_dim", 0);
  rotation.rotated = part == 0 ? rotation.heads.size : part;
  if (rotation.rotated < 2 || rotation.rotated > rotation.heads.size || rotation.rotated % 2 != 0 ||
      rotation.heads.heads == 0) {
    return KernelCall::refuse(fmt::format("{} of the {} elements of each of {} heads to rotate",
                                          rotation.rotated, rotation.heads.size,
                                          rotation.heads.heads));
  }
  const auto fits = [&](const Tensor& cache) {
    return cache.rank() >= 2 && cache.element() == x.element() &&
           cache.extent(cache.rank() - 1) == rotation.rotated / 2;
  };
  if (fits(cosines) && fits(sines) && cosines.shape() == sines.shape()) return rotation;
  return KernelCall::refuse(fmt::format("caches of shapes [{}] and [{}] to rotate {} elements",
                                        to_string(cosines.shape()), to_string(sines.shape()),
                                        rotation.rotated));
}

Expected<void> set_rows(Rotation& rotation, CacheRows rows) {
  const std::int64_t wanted = rotation.heads.batch * rotation.heads.sequence;
  const std::int64_t available =
      count_between(rotation.cosines.shape(), 0, rotation.cosines.rank() - 1);
  const bool fits =
      std::ranges::all_of(rows, [&](std::int64_t row) { return row >= 0 && row < available; });
  if (!fits || rows.size() != static_cast<std::size_t>(wanted)) {
    return KernelCall::refuse(
        fmt::format("{} positions, where {} below {} are wanted", rows.size(), wanted, available));
  }
  rotation.rows = std::move(rows);
  return {};
}

// Row after row, from `first` on.
CacheRows consecutive(std::int64_t count, std::int64_t first = 0) {
  CacheRows rows;
  for (std::int64_t i = 0; i < count; ++i) rows.push_back(first + i);
  return rows;
}

// Operands: x, cosines, sines, optional positions; without these, the caches have a row for each
// position of each sample.
Expected<Tensors> rotary_embedding(const KernelCall& call) {
  QUADRANT_TRY(Rotation rotation, rotation_of(call, call.attribute_or<std::int64_t>("num_heads", 0),
                                              call.operand(1), call.operand(2)));
  if (call.has(3)) {
    QUADRANT_TRY(CacheRows positions, integers_of(call.operand(3)));
    QUADRANT_CHECK(set_rows(rotation, std::move(positions)));
  } else {
    const Heads& heads = rotation.heads;
    if (rotation.cosines.shape() != Shape{heads.batch, heads.sequence, rotation.rotated / 2}) {
      return KernelCall::refuse(fmt::format("caches of shape [{}] without positions",
                                            to_string(rotation.cosines.shape())));
    }
    QUADRANT_CHECK(set_rows(rotation, consecutive(heads.batch * heads.sequence)));
  }
  return rotated(call.operand(0), rotation);
}

// Operands: x, positions, cosines, sines. One position alone is that of each sample's first
// element.
Expected<Tensors> rotary_embedding_microsoft(const KernelCall& call) {
  const Tensor& cosines = call.operand(2);
  auto count = call.attribute_or<std::int64_t>("num_heads", 0);
  if (count == 0 && call.operand(0).rank() == 3 && cosines.rank() == 2 && cosines.extent(1) > 0) {
    count = call.operand(0).extent(2) / (2 * cosines.extent(1));
  }
  QUADRANT_TRY(Rotation rotation, rotation_of(call, count, cosines, call.operand(3)));
  QUADRANT_TRY(CacheRows positions, integers_of(call.operand(1)));
  const Heads& heads = rotation.heads;
  if (positions.size() == 1 && call.operand(1).rank() == 1) {
    const std::int64_t first = positions[0];
    if (first < 0 || first > cosines.extent(0)) {
      return KernelCall::refuse(fmt::format("position {}", first));
    }
    positions.clear();
    for (std::int64_t b = 0; b < heads.batch; ++b) {
      const CacheRows rows = consecutive(heads.sequence, first);
      positions.insert(positions.end(), rows.begin(), rows.end());
    }
  }
  QUADRANT_CHECK(set_rows(rotation, std::move(positions)));
  return rotated(call.operand(0), rotation);
}

}  // namespace

std::span<const KernelEntry> kernels::in_rotary_embedding() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{ops::RotaryEmbedding::kind, rotary_embedding, HalfFloats::widened},
       {"onnx.com.microsoft::RotaryEmbedding", rotary_embedding_microsoft, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
