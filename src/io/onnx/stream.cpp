#include "io/onnx/stream.hpp"

#define XXH_INLINE_ALL  // NOLINT(cppcoreguidelines-macro-usage): the library's own way
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "io/onnx/element.hpp"
#include "io/onnx/failure.hpp"
#include "numerics/kernels/pack.hpp"
#include "support/byte_stream.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// What is hashed at a time, and, but of constants that gather, read and written.
constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;
/// Pieces that are read at once of constants that gather, at most.
constexpr std::size_t pieces_of_large = 32;

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
  if (!is_packed(payload.stored)) {
    value_of(constant.read(offset, out));
    return;
  }
  const int bits = bit_width(payload.stored);
  const auto each = static_cast<std::uint64_t>(8 / bits);
  const std::uint64_t first = offset * each;
  unpacked.resize(std::min<std::uint64_t>(out.size() * each, constant.byte_size() - first));
  value_of(constant.read(first, unpacked));
  kernels::pack_bits(unpacked.data(), unpacked.size(), bits, out.data());
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

/// How a rope is cut: into pieces, which depend on nothing but the sizes of what is in it, and into
/// parts of one or more pieces.
class Cuts {
 public:
  explicit Cuts(const Rope& rope) {
    std::uint64_t contents = 0;
    for (const Payload& payload : rope.payloads()) {
      const std::uint64_t begin = payload.after + contents;
      contents += payload.size;
      if (payload.size < piece_bytes) continue;  // in a piece with what is around it
      go_on_to(begin, 1);
      go_on_to(begin + payload.size, payload.constant.gathers() ? pieces_of_large : 1);
    }
    go_on_to(rope.size(), 1);
  }

  [[nodiscard]] std::size_t pieces() const noexcept { return pieces_.size() - 1; }
  [[nodiscard]] std::size_t parts() const noexcept { return parts_.size() - 1; }
  /// The first piece of a part; that of the part behind the last is the number of pieces.
  [[nodiscard]] std::size_t piece_of(std::size_t part) const noexcept { return parts_[part]; }
  /// Where a piece begins; that of the piece behind the last is the size of the rope.
  [[nodiscard]] std::uint64_t offset_of(std::size_t piece) const noexcept { return pieces_[piece]; }

 private:
  // In parts of as many pieces each, up to `most`, but for the last one.
  void go_on_to(std::uint64_t end, std::size_t most) {
    while (pieces_.back() < end) pieces_.push_back(std::min(pieces_.back() + piece_bytes, end));
    const std::size_t count = pieces() - parts_.back();
    if (count == 0) return;
    const std::size_t parts = (count + most - 1) / most;
    const std::size_t each = (count + parts - 1) / parts;
    while (parts_.back() < pieces()) parts_.push_back(std::min(parts_.back() + each, pieces()));
  }

  std::vector<std::uint64_t> pieces_{0};
  std::vector<std::size_t> parts_{0};
};

/// The error of the first part that has one, whatever the order in which parts are tried: those
/// before it are not skipped.
class FirstError {
 public:
  [[nodiscard]] bool is_before(std::size_t part) const noexcept { return part_ < part; }

  void set(std::size_t part, Error error) {
    const std::lock_guard lock(mutex_);
    if (part >= part_) return;
    part_ = part;
    error_ = std::move(error);
  }

  /// When all have stopped.
  [[nodiscard]] Expected<void> take() {
    return error_ ? Expected<void>(fail(*std::move(error_))) : Expected<void>();
  }

 private:
  std::atomic<std::size_t> part_ = std::numeric_limits<std::size_t>::max();
  std::mutex mutex_;
  std::optional<Error> error_;
};

/// Parts of one rank, from the first on.
struct Share {
  std::size_t first = 0;
  std::size_t count = 0;
};

// About equally many bytes for each.
Share own_share(const Cuts& cuts, const Ranks* ranks, bool all_write) {
  const bool is_alone = ranks == nullptr || !all_write;
  if (is_alone) return {0, is_first(ranks) ? cuts.parts() : 0};
  const auto size = static_cast<double>(cuts.offset_of(cuts.pieces()));
  const auto rank_of = [&](std::size_t part) {
    const double begin = static_cast<double>(cuts.offset_of(cuts.piece_of(part))) / size;
    return static_cast<std::size_t>(begin * static_cast<double>(ranks->size()));
  };
  Share own;
  for (std::size_t part = 0; part < cuts.parts(); ++part) {
    if (rank_of(part) < ranks->rank()) own.first = part + 1;
    if (rank_of(part) == ranks->rank()) ++own.count;
  }
  return own;
}

// Those of all ranks, each of which knows its own; the others are 0.
Expected<void> gather_hashes(Expected<void> written, std::vector<std::uint64_t>& hashes,
                             const Cuts& cuts, Share own, Ranks& ranks) {
  QUADRANT_CHECK(ranks.check_same("the size of what is written", std::to_string(hashes.size())));
  ByteWriter out;
  const std::size_t first = cuts.piece_of(own.first);
  out.number(static_cast<std::uint64_t>(first));
  out.numbers(std::span<const std::uint64_t>(hashes).subspan(
      first, cuts.piece_of(own.first + own.count) - first));
  QUADRANT_TRY(const std::vector<std::string> all,
               ranks.gather(std::move(written).map([&] { return out.take(); })));
  for (const std::string& each : all) {
    ByteReader in(each);
    const auto at = static_cast<std::size_t>(in.number<std::uint64_t>());
    const std::vector<std::uint64_t> found = in.numbers<std::uint64_t>();
    if (in.failed() || at > hashes.size() || found.size() > hashes.size() - at) {
      return fail(ErrorCode::io, "ranks do not write the same file: what they read differs");
    }
    std::ranges::copy(found, hashes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return {};
}

}  // namespace

std::uint64_t stream(const Rope& rope, Executor& executor, PieceSink out, BytesDone done,
                     Ranks* ranks, bool all_write) {
  const RopeReader reader(rope);
  const Cuts cuts(rope);
  Buffers buffers;
  std::vector<std::uint64_t> hashes(cuts.pieces());
  const auto write_part = [&](std::size_t part) {
    const std::uint64_t offset = cuts.offset_of(cuts.piece_of(part));
    const auto size = static_cast<std::size_t>(cuts.offset_of(cuts.piece_of(part + 1)) - offset);
    Buffers::Buffer buffer = buffers.take();
    if (buffer.size() < size) buffer.resize(size);
    reader.read(offset, std::span(buffer).first(size));
    for (std::size_t piece = cuts.piece_of(part); piece < cuts.piece_of(part + 1); ++piece) {
      const std::uint64_t begin = cuts.offset_of(piece);
      const auto bytes =
          std::span(buffer).subspan(static_cast<std::size_t>(begin - offset),
                                    static_cast<std::size_t>(cuts.offset_of(piece + 1) - begin));
      hashes[piece] = XXH3_64bits(bytes.data(), bytes.size());
      out(begin, bytes);
    }
    buffers.give_back(std::move(buffer));
    return size;
  };

  FirstError error;
  std::atomic<std::uint64_t> untold = 0;
  const std::thread::id caller = std::this_thread::get_id();
  const Share own = own_share(cuts, ranks, all_write);
  executor.parallel_for(own.count, [&](std::size_t i) {
    const std::size_t part = own.first + i;
    if (error.is_before(part)) return;
    auto written = at_border({}, [&] { untold += write_part(part); });
    if (!written) error.set(part, std::move(written).error());
    if (std::this_thread::get_id() == caller) done(untold.exchange(0));
  });
  Expected<void> written = error.take();
  if (ranks != nullptr) {
    written = gather_hashes(std::move(written), hashes, cuts, own, *ranks);
  }
  value_of(std::move(written));
  done(untold);
  return XXH3_64bits(hashes.data(), hashes.size() * sizeof(std::uint64_t));
}

}  // namespace quadrant::inline v0::onnx
