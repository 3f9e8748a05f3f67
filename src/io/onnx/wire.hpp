// Walks one protobuf message in a file that is mapped, or in a buffer.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace quadrant::inline v0::onnx {

/// Bytes of a file.
struct Range {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  [[nodiscard]] std::uint64_t end() const noexcept { return offset + size; }
  friend bool operator==(const Range&, const Range&) = default;
};

[[nodiscard]] inline std::string_view text_of(std::string_view file, Range range) noexcept {
  return file.substr(range.offset, range.size);
}

/// `while (message.next()) switch (message.field()) ...`. Damage throws a Failure with the offset;
/// so does asking a field for a value of another wire type.
///
/// protozero's own pbf_reader holds lengths in 32 bits (a longer one is read as its remainder) and
/// only asserts wire types; a hostile file must neither be misread nor end the program. So this
/// takes the varints from protozero and keeps the rest in 64 bits.
class Message {
 public:
  Message(std::string_view file, Range range) noexcept
      : file_(file), position_(range.offset), end_(range.end()) {}

  /// Goes to the next field, over the payload of the present one without touching it.
  bool next();

  [[nodiscard]] std::uint32_t field() const noexcept { return field_; }
  [[nodiscard]] std::int64_t integer() const;                    ///< a varint field
  [[nodiscard]] std::uint32_t fixed32() const;                   ///< a 32-bit field
  [[nodiscard]] Range payload() const;                           ///< a length-delimited field
  [[nodiscard]] std::string_view text() const;                   ///< its bytes
  [[nodiscard]] Range whole() const noexcept { return whole_; }  ///< with tag and length

  [[nodiscard]] bool is_varint() const noexcept { return type_ == 0; }
  [[nodiscard]] bool is_delimited() const noexcept { return type_ == 2; }
  [[nodiscard]] bool is_fixed32() const noexcept { return type_ == 5; }

  /// A repeated integer or float, one element or packed.
  void append_integers(std::vector<std::int64_t>& out) const;
  void append_floats(std::vector<double>& out) const;

 private:
  [[noreturn]] static void damaged(std::string_view what, std::uint64_t offset);
  [[nodiscard]] std::uint64_t varint(std::uint64_t& position, std::uint64_t end) const;

  std::string_view file_;
  std::uint64_t position_;
  std::uint64_t end_;
  std::uint32_t field_ = 0;
  std::uint32_t type_ = 0;
  std::uint64_t value_ = 0;
  Range payload_;
  Range whole_;
};

}  // namespace quadrant::inline v0::onnx
