#include "io/openvino/weights.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "io/openvino/element.hpp"
#include "io/openvino/failure.hpp"
#include "ir/float16.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

constexpr std::uint64_t shared_bytes = 256;  ///< constants up to this long are compared
constexpr std::uint64_t alignment = 64;
constexpr std::size_t piece = std::size_t{1} << 20U;  ///< bytes of a constant at a time; even

using Bytes = std::vector<std::byte>;

/// As the file has them: `bytes` are whole elements, an even number of them but at the end.
Bytes stored_form(std::span<const std::byte> bytes, ElementType element, ElementType stored) {
  if (bit_width(element) == 4) {
    Bytes packed((bytes.size() + 1) / 2);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      packed[i / 2] |= (bytes[i] & std::byte{15}) << (i % 2 == 0 ? 0U : 4U);
    }
    return packed;
  }
  if (element == stored) return {bytes.begin(), bytes.end()};
  Bytes halves(bytes.size() / 2);
  const std::span<const float> wide(reinterpret_cast<const float*>(bytes.data()),
                                    bytes.size() / sizeof(float));
  std::ranges::transform(wide, reinterpret_cast<std::uint16_t*>(halves.data()), round_to_float16);
  return halves;
}

void for_each_piece(const Constant& constant,
                    const std::function<void(std::span<const std::byte>)>& use) {
  const std::uint64_t size = constant.byte_size();
  Bytes bytes(std::min<std::uint64_t>(size, piece));
  for (std::uint64_t done = 0; done < size;) {
    const auto part = std::span(bytes).first(std::min<std::uint64_t>(size - done, bytes.size()));
    value_of(constant.read(done, part));
    use(part);
    done += part.size();
  }
}

}  // namespace

Weights::Place Weights::add(const Constant& constant, ElementType stored) {
  const auto size = stored_bytes_of(stored, constant.element_count());
  if (!size) impossible("a constant of a type that OpenVINO has no name for");
  std::string key;
  if (*size <= shared_bytes) {
    for_each_piece(constant, [&](std::span<const std::byte> bytes) {
      for (const std::byte byte : stored_form(bytes, constant.element(), stored)) {
        key += static_cast<char>(byte);
      }
    });
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
  }
  const Place place{(size_ + alignment - 1) / alignment * alignment, *size};
  size_ = place.offset + place.size;
  entries_.push_back({constant, stored, place});
  if (!key.empty()) known_.emplace(std::move(key), place);
  return place;
}

void Weights::write(const std::function<void(std::span<const std::byte>)>& sink) const {
  std::uint64_t at = 0;
  const Bytes zeros(alignment);
  for (const Entry& entry : entries_) {
    sink(std::span(zeros).first(entry.place.offset - at));
    for_each_piece(entry.constant, [&](std::span<const std::byte> bytes) {
      sink(stored_form(bytes, entry.constant.element(), entry.stored));
    });
    at = entry.place.offset + entry.place.size;
  }
}

bool fits_float16(const Constant& constant) {
  bool fits = true;
  for_each_piece(constant, [&](std::span<const std::byte> bytes) {
    const std::span<const float> wide(reinterpret_cast<const float*>(bytes.data()),
                                      bytes.size() / sizeof(float));
    fits = fits && std::ranges::all_of(wide, [](float value) {
             const float back = widen_float16(round_to_float16(value));
             return std::bit_cast<std::uint32_t>(back) == std::bit_cast<std::uint32_t>(value);
           });
  });
  return fits;
}

}  // namespace quadrant::inline v0::openvino_ir
