#include "io/onnx/stream.hpp"

#define XXH_INLINE_ALL  // NOLINT(cppcoreguidelines-macro-usage): the library's own way
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

#include "io/onnx/element.hpp"
#include "io/onnx/failure.hpp"
#include "numerics/kernels/pack.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// What is hashed at a time, and read.
constexpr std::size_t piece_bytes = std::size_t{1} << 20;
/// Pieces that are read at once from constants that gather.
constexpr std::size_t pieces_of_large = 4;
// Between two reports of progress.
constexpr std::size_t pieces_a_round = 64;
static_assert(pieces_a_round % pieces_of_large == 0,
              "none begins in one round and ends in another");

/// Buffers for as many as are asked for at the same time.
class Buffers {
 public:
  using Buffer = std::vector<std::byte>;

  Buffer take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return {};
    Buffer buffer = std::move(free_.back());
    free_.pop_back();
    return buffer;
  }

  void give_back(Buffer buffer) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  std::mutex mutex_;
  std::vector<Buffer> free_;
};

// The bytes of `payload` from `offset` on, as the file has them. `unpacked` is room for elements.
void read_payload(const Payload& payload, std::uint64_t offset, std::span<std::byte> out,
                  std::vector<std::byte>& unpacked) {
  const Constant& constant = payload.constant;
  if (!is_packed(constant.element())) {
    value_of(constant.read(offset, out));
    return;
  }
  const std::uint64_t first = offset * 2;
  unpacked.resize(std::min<std::uint64_t>(out.size() * 2, constant.byte_size() - first));
  value_of(constant.read(first, unpacked));
  kernels::pack_halves(unpacked.data(), unpacked.size(), out.data());
}

/// The bytes of a rope, from any place on.
class RopeReader {
 public:
  explicit RopeReader(const Rope& rope) : rope_(rope) {
    std::uint64_t contents = 0;
    begins_.reserve(rope.payloads().size());
    for (const Payload& payload : rope.payloads()) {
      begins_.push_back(payload.after + contents);
      contents += payload.size;
    }
  }

  void read(std::uint64_t offset, std::span<std::byte> out) const {
    std::vector<std::byte> unpacked;
    const auto behind = std::ranges::upper_bound(begins_, offset);
    // The last payload that begins here or before.
    auto next = static_cast<std::size_t>(behind - begins_.begin());
    if (next > 0) --next;
    while (!out.empty()) {
      const std::size_t taken = read_part(next, offset, out, unpacked);
      if (taken == 0) ++next;
      offset += taken;
      out = out.subspan(taken);
    }
  }

  /// Whether all of this is of one constant that gathers.
  [[nodiscard]] bool gathers(std::uint64_t begin, std::uint64_t end) const {
    const auto behind = std::ranges::upper_bound(begins_, begin);
    if (behind == begins_.begin()) return false;
    const auto index = static_cast<std::size_t>(behind - begins_.begin()) - 1;
    const Payload& payload = rope_.payloads()[index];
    return end <= begins_[index] + payload.size && payload.constant.gathers();
  }

 private:
  // Up to the end of payload `index`, or to its beginning; 0 where that lies behind.
  std::size_t read_part(std::size_t index, std::uint64_t offset, std::span<std::byte> out,
                        std::vector<std::byte>& unpacked) const {
    const auto payloads = std::span(rope_.payloads());
    const std::uint64_t begin = index < payloads.size() ? begins_[index] : rope_.size();
    if (offset < begin) {
      const auto size =
          static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), begin - offset));
      // Own bytes up to here: all bytes but the payloads before.
      const std::uint64_t own = index < payloads.size()
                                    ? payloads[index].after - (begin - offset)
                                    : rope_.own_bytes().size() - (begin - offset);
      std::memcpy(out.data(), rope_.own_bytes().data() + own, size);
      return size;
    }
    const std::uint64_t inside = offset - begin;
    if (inside >= payloads[index].size) return 0;
    const auto size = static_cast<std::size_t>(
        std::min<std::uint64_t>(out.size(), payloads[index].size - inside));
    read_payload(payloads[index], inside, out.first(size), unpacked);
    return size;
  }

  const Rope& rope_;
  std::vector<std::uint64_t> begins_;  // of payloads, in the file
};

struct PieceRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// One piece at a time, but where several `are_one_read`.
template <class Predicate>
std::vector<PieceRange> reads_between(std::size_t first, std::size_t end, Predicate are_one_read) {
  std::vector<PieceRange> reads;
  while (first < end) {
    PieceRange next{first, std::min(first + pieces_of_large, end)};
    if (!are_one_read(next)) next.end = first + 1;
    reads.push_back(next);
    first = next.end;
  }
  return reads;
}

}  // namespace

std::uint64_t stream(const Rope& rope, Executor& executor, PieceSink out, BytesDone done) {
  const RopeReader reader(rope);
  Buffers buffers;
  const std::uint64_t size = rope.size();
  const auto pieces = static_cast<std::size_t>((size + piece_bytes - 1) / piece_bytes);
  const auto offset_of = [size](std::size_t piece) {
    return std::min<std::uint64_t>(size, std::uint64_t{piece} * piece_bytes);
  };
  std::vector<std::uint64_t> hashes(pieces);
  for (std::size_t first = 0; first < pieces; first += pieces_a_round) {
    const std::size_t end = std::min(first + pieces_a_round, pieces);
    const std::vector<PieceRange> reads = reads_between(first, end, [&](const PieceRange& range) {
      return reader.gathers(offset_of(range.begin), offset_of(range.end));
    });
    std::vector<std::optional<Error>> errors(reads.size());
    executor.parallel_for(reads.size(), [&](std::size_t i) {
      auto written = at_border({}, [&] {
        const std::uint64_t offset = offset_of(reads[i].begin);
        Buffers::Buffer buffer = buffers.take();
        buffer.resize(static_cast<std::size_t>(offset_of(reads[i].end) - offset));
        reader.read(offset, buffer);
        for (std::size_t piece = reads[i].begin; piece < reads[i].end; ++piece) {
          const auto bytes = std::span(buffer).subspan(offset_of(piece) - offset,
                                                       offset_of(piece + 1) - offset_of(piece));
          hashes[piece] = XXH3_64bits(bytes.data(), bytes.size());
        }
        out(offset, buffer);
        buffers.give_back(std::move(buffer));
      });
      if (!written) errors[i] = std::move(written).error();
    });
    for (std::optional<Error>& error : errors) {
      if (error) throw Failure{*std::move(error)};
    }
    done(offset_of(end) - offset_of(first));
  }
  return XXH3_64bits(hashes.data(), hashes.size() * sizeof(std::uint64_t));
}

}  // namespace quadrant::inline v0::onnx
