// A protobuf message being made: its size is known, its large parts are not in memory.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/constant.hpp"

namespace quadrant::inline v0::onnx {

/// Contents of a constant in the middle of a message.
struct Payload {
  std::uint64_t after = 0;  ///< how many of the message's own bytes stand before it
  Constant constant;
  ElementType stored = ElementType::undefined;  ///< its elements in the file: int2 held as int4
  std::uint64_t size = 0;                       ///< bytes in the file, where a byte has several
};

/// Fields in the order in which they are added. Contents of constants are remembered, not read: the
/// sizes of all messages are known before the first byte is written.
class Rope {
 public:
  void add_integer(std::uint32_t field, std::int64_t value);
  void add_float(std::uint32_t field, float value);
  void add_text(std::uint32_t field, std::string_view text);
  /// A message, whose payloads move here.
  void add_message(std::uint32_t field, const Rope& message);
  /// The bytes of `constant` as a length-delimited field.
  void add_contents(std::uint32_t field, const Constant& constant) {
    add_contents(field, constant, constant.element());
  }
  /// The same of elements that the file has as `stored`, and the constant as `held_element` says.
  void add_contents(std::uint32_t field, const Constant& constant, ElementType stored);
  /// The bytes of `constant` as they are: fields with their tags, or what is no message at all.
  void add_raw(const Constant& constant) { add_raw(constant, constant.element()); }
  void add_raw(const Constant& constant, ElementType stored);
  /// Zero bytes up to a multiple of `alignment`.
  void align(std::uint64_t alignment);

  [[nodiscard]] std::uint64_t size() const noexcept { return own_.size() + payload_size_; }
  [[nodiscard]] const std::string& own_bytes() const noexcept { return own_; }
  [[nodiscard]] const std::vector<Payload>& payloads() const noexcept { return payloads_; }

 private:
  void add_tag(std::uint32_t field, std::uint32_t wire_type);

  std::string own_;
  std::vector<Payload> payloads_;
  std::uint64_t payload_size_ = 0;
};

}  // namespace quadrant::inline v0::onnx
