#include "io/onnx/nbits_codes.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "numerics/kernels/pack.hpp"
#include "numerics/kernels/transpose.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// Of the result, at a time. Smaller tiles would make the runs shorter that a transposed matrix is
/// read in. Twice what is asked for at a time (stream.cpp), which may begin inside a row.
constexpr std::uint64_t tile_bytes = std::uint64_t{1} << 26U;
/// Codes that are read at a time, so that they stay in the processor's cache.
constexpr std::uint64_t band_codes = std::uint64_t{1} << 15U;

/// Rows and columns are those of the result, `[rows, columns]`; codes are stored so, or as
/// `[columns, rows]`.
class NBitsSource final : public ConstantSource {
 public:
  NBitsSource(Constant codes, const NBitsLayout& layout)
      : codes_(std::move(codes)),
        rows_(static_cast<std::uint64_t>(layout.rows)),
        columns_(static_cast<std::uint64_t>(layout.columns)),
        codes_per_byte_(static_cast<std::uint64_t>(8 / layout.bits)),
        row_bytes_(static_cast<std::uint64_t>(layout.blocks()) *
                   static_cast<std::uint64_t>(layout.block_size) / codes_per_byte_),
        rows_first_(layout.rows_first),
        bits_(layout.bits),
        first_is_high_(layout.first_is_high),
        flip_(static_cast<std::byte>(nbits_offset(codes_.element(), layout.bits))) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::vector<std::byte> packed;
    while (!out.empty()) {
      const std::uint64_t skip = offset % row_bytes_;
      const Tile tile = tile_at(offset / row_bytes_, skip, out.size());
      const auto size = static_cast<std::size_t>(tile.rows * tile.bytes);
      const std::uint64_t before = skip - tile.first_byte;
      const bool is_whole = before == 0 && size <= out.size();
      if (!is_whole) packed.resize(size);
      const std::span<std::byte> to = is_whole ? out.first(size) : std::span(packed);
      if (tile.columns < tile.bytes * codes_per_byte_) std::ranges::fill(to, std::byte{0});
      QUADRANT_CHECK(rows_first_ ? pack_rows(tile, to) : pack_columns(tile, to));
      if (first_is_high_) {
        for (std::byte& byte : to) byte = byte << 4 | byte >> 4;
      }
      const std::size_t taken = std::min(size - before, out.size());
      if (!is_whole) std::memcpy(out.data(), packed.data() + before, taken);
      out = out.subspan(taken);
      offset += taken;
    }
    return {};
  }

  [[nodiscard]] bool gathers() const noexcept override { return !rows_first_; }

 private:
  /// Whole rows, as many as there is room for, or a part of one row that is longer than that.
  struct Tile {
    std::uint64_t row;
    std::uint64_t rows;
    std::uint64_t first_byte;  ///< of each row
    std::uint64_t bytes;
    std::uint64_t column;
    std::uint64_t columns;  ///< fewer than its bytes say where the last block is short
  };

  [[nodiscard]] Tile tile_at(std::uint64_t row, std::uint64_t skip, std::uint64_t size) const {
    Tile tile{row, 1, 0, row_bytes_, 0, 0};
    if (row_bytes_ <= tile_bytes) {
      tile.rows = std::min((skip + size - 1) / row_bytes_ + 1, tile_bytes / row_bytes_);
    } else {
      tile.first_byte = skip;
      tile.bytes = std::min({row_bytes_ - skip, size, tile_bytes});
    }
    tile.column = std::min(columns_, tile.first_byte * codes_per_byte_);
    const std::uint64_t end = (tile.first_byte + tile.bytes) * codes_per_byte_;
    tile.columns = std::min(columns_, end) - tile.column;
    return tile;
  }

  /// Packs `codes` one behind the other; with nothing in what is left of the last byte.
  void pack(std::span<std::byte> codes, std::byte* packed) const {
    for (std::byte& code : codes) code ^= flip_;
    if (codes_per_byte_ == 1) {
      std::ranges::copy(codes, packed);
    } else {
      kernels::pack_bits(codes.data(), codes.size(), bits_, packed);
    }
  }

  [[nodiscard]] Expected<void> pack_rows(const Tile& tile, std::span<std::byte> packed) const {
    std::vector<std::byte> codes(std::min(band_codes, tile.columns));
    for (std::uint64_t row = 0; row < tile.rows; ++row) {
      for (std::uint64_t begin = 0; begin < tile.columns; begin += codes.size()) {
        const auto part =
            std::span(codes).first(std::min<std::uint64_t>(codes.size(), tile.columns - begin));
        QUADRANT_CHECK(codes_.read((tile.row + row) * columns_ + tile.column + begin, part));
        pack(part, packed.data() + row * tile.bytes + begin / codes_per_byte_);
      }
    }
    return {};
  }

  /// Columns of the result are rows in which the codes are stored.
  [[nodiscard]] Expected<void> pack_columns(const Tile& tile, std::span<std::byte> packed) const {
    // An even number, and so many that the transposed ones make up lines of the cache.
    const std::uint64_t band = std::max<std::uint64_t>(128, band_codes / tile.rows / 128 * 128);
    std::vector<std::byte> codes(std::min(band, tile.columns) * tile.rows);
    std::vector<std::byte> bytes((codes.size() / tile.rows + codes_per_byte_ - 1) /
                                 codes_per_byte_ * tile.rows);
    const ByteRuns runs{.offset = tile.column * rows_ + tile.row,
                        .step = rows_,
                        .length = static_cast<std::size_t>(tile.rows)};
    std::byte* to = packed.data();
    return codes_.read_runs(runs, tile.columns, codes, [&](std::span<std::byte> part) {
      const std::uint64_t count = (part.size() / tile.rows + codes_per_byte_ - 1) / codes_per_byte_;
      kernels::transpose_bytes(join_columns(part, tile.rows, bytes), tile.rows, count, tile.rows,
                               to, tile.bytes);
      to += count;
    });
  }

  /// Columns of `length` codes, as they are to be or, several in one, in `bytes`.
  [[nodiscard]] const std::byte* join_columns(std::span<std::byte> codes, std::uint64_t length,
                                              std::span<std::byte> bytes) const {
    if (codes_per_byte_ == 1) {
      for (std::byte& code : codes) code ^= flip_;
      return codes.data();
    }
    const auto mask = static_cast<std::byte>((1U << static_cast<unsigned>(bits_)) - 1);
    std::byte* to = bytes.data();
    for (std::span<const std::byte> left = codes; !left.empty(); to += length) {
      const std::uint64_t count = std::min(codes_per_byte_, left.size() / length);
      for (std::uint64_t i = 0; i < length; ++i) to[i] = (left[i] ^ flip_) & mask;
      for (std::uint64_t k = 1; k < count; ++k) {
        const std::byte* from = left.data() + k * length;
        const int shift = static_cast<int>(k) * bits_;
        for (std::uint64_t i = 0; i < length; ++i) to[i] |= ((from[i] ^ flip_) & mask) << shift;
      }
      left = left.subspan(count * length);
    }
    return bytes.data();
  }

  Constant codes_;
  std::uint64_t rows_;
  std::uint64_t columns_;
  std::uint64_t codes_per_byte_;
  std::uint64_t row_bytes_;
  bool rows_first_;
  int bits_;
  bool first_is_high_;
  std::byte flip_;  ///< the highest bit of signed codes, which adds half the range
};

}  // namespace

int nbits_offset(ElementType storage, int bits) noexcept {
  const bool is_signed = storage == ElementType::int4 || storage == ElementType::int8;
  return is_signed ? 1 << (bits - 1) : 0;
}

Constant nbits_codes(Constant codes, const NBitsLayout& layout) {
  const Shape shape{layout.rows, layout.blocks(), layout.block_size * layout.bits / 8};
  return Constant::deferred(ElementType::uint8, shape,
                            std::make_shared<NBitsSource>(std::move(codes), layout));
}

}  // namespace quadrant::inline v0::onnx
