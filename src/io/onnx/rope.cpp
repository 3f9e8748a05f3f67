#include "io/onnx/rope.hpp"

#include <iterator>
#include <protozero/types.hpp>
#include <protozero/varint.hpp>

#include "io/onnx/element.hpp"

namespace quadrant::inline v0::onnx {
namespace {

void add_varint(std::string& out, std::uint64_t value) {
  protozero::write_varint(std::back_inserter(out), value);
}

}  // namespace

void Rope::add_tag(std::uint32_t field, std::uint32_t wire_type) {
  add_varint(own_, (std::uint64_t{field} << 3U) | wire_type);
}

void Rope::add_integer(std::uint32_t field, std::int64_t value) {
  add_tag(field, 0);
  add_varint(own_, static_cast<std::uint64_t>(value));
}

void Rope::add_float(std::uint32_t field, float value) {
  add_tag(field, 5);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (unsigned shift = 0; shift < 32; shift += 8) own_ += static_cast<char>(bits >> shift);
}

void Rope::add_text(std::uint32_t field, std::string_view text) {
  add_tag(field, 2);
  add_varint(own_, text.size());
  own_ += text;
}

void Rope::add_message(std::uint32_t field, const Rope& message) {
  add_tag(field, 2);
  add_varint(own_, message.size());
  for (Payload payload : message.payloads_) {
    payload.after += own_.size();
    payloads_.push_back(std::move(payload));
  }
  own_ += message.own_;
  payload_size_ += message.payload_size_;
}

void Rope::add_contents(std::uint32_t field, const Constant& constant, ElementType stored) {
  add_tag(field, 2);
  add_varint(own_, stored_size(constant, stored));
  add_raw(constant, stored);
}

void Rope::add_raw(const Constant& constant, ElementType stored) {
  const std::uint64_t size = stored_size(constant, stored);
  if (size == 0) return;
  payloads_.push_back({own_.size(), constant, stored, size});
  payload_size_ += size;
}

void Rope::align(std::uint64_t alignment) {
  const std::uint64_t rest = size() % alignment;
  if (rest != 0) own_.append(alignment - rest, '\0');
}

}  // namespace quadrant::inline v0::onnx
