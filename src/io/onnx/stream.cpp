#include "io/onnx/stream.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "io/onnx/coded.hpp"
#include "io/onnx/element.hpp"
#include "io/onnx/failure.hpp"

namespace quadrant::inline v0::onnx {
namespace {

constexpr std::size_t batch_bytes = 8U << 20U;
constexpr std::size_t piece_bytes = 1U << 20U;

/// A part of a payload, to be read into its place in the batch.
struct Piece {
  const Constant* constant;
  std::uint64_t offset;  // in the file's form
  std::span<std::byte> out;
};

Expected<void> read_piece(const Piece& piece) {
  const Constant& constant = *piece.constant;
  if (!is_packed(constant.element())) return constant.read(piece.offset, piece.out);
  const std::uint64_t first = piece.offset * 2;
  const std::uint64_t count =
      std::min<std::uint64_t>(piece.out.size() * 2, constant.byte_size() - first);
  std::vector<std::byte> elements(count);
  QUADRANT_CHECK(constant.read(first, elements));
  pack(elements, piece.out);
  return {};
}

/// Collects bytes and pieces until the batch is full, then fills the pieces and hands it on.
class Batch {
 public:
  /// For `size` bytes in all.
  Batch(std::uint64_t size, Executor& executor, ByteSink out)
      : executor_(executor), out_(out), bytes_(std::min<std::uint64_t>(size, batch_bytes)) {}

  void add(std::string_view own) {
    while (!own.empty()) {
      const std::size_t size = std::min(own.size(), room());
      std::memcpy(take(size).data(), own.data(), size);
      own.remove_prefix(size);
      flush_if_full();
    }
  }

  void add(const Payload& payload) {
    for (std::uint64_t offset = 0; offset < payload.size;) {
      const auto size = static_cast<std::size_t>(
          std::min<std::uint64_t>({payload.size - offset, room(), piece_bytes}));
      pieces_.push_back({&payload.constant, offset, take(size)});
      offset += size;
      flush_if_full();
    }
  }

  void flush() {
    std::vector<std::optional<Error>> errors(pieces_.size());
    executor_.parallel_for(pieces_.size(), [&](std::size_t i) {
      auto done = at_border({}, [&] { value_of(read_piece(pieces_[i])); });
      if (!done) errors[i] = std::move(done).error();
    });
    for (std::optional<Error>& error : errors) {
      if (error) throw Failure{*std::move(error)};
    }
    out_(std::span<const std::byte>(bytes_).first(used_));
    pieces_.clear();
    used_ = 0;
  }

 private:
  [[nodiscard]] std::size_t room() const { return bytes_.size() - used_; }

  std::span<std::byte> take(std::size_t size) {
    const auto taken = std::span(bytes_).subspan(used_, size);
    used_ += size;
    return taken;
  }

  void flush_if_full() {
    if (room() == 0) flush();
  }

  Executor& executor_;
  ByteSink out_;
  std::vector<std::byte> bytes_;
  std::size_t used_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace

void stream(const Rope& rope, Executor& executor, ByteSink out) {
  Batch batch(rope.size(), executor, out);
  const std::string_view own = rope.own_bytes();
  std::uint64_t written = 0;
  for (const Payload& payload : rope.payloads()) {
    batch.add(own.substr(written, payload.after - written));
    written = payload.after;
    batch.add(payload);
  }
  batch.add(own.substr(written));
  batch.flush();
}

}  // namespace quadrant::inline v0::onnx
