#include "io/onnx/wire.hpp"

#include <bit>
#include <cstring>
#include <protozero/types.hpp>
#include <protozero/varint.hpp>

#include "io/onnx/failure.hpp"

namespace quadrant::inline v0::onnx {

static_assert(std::endian::native == std::endian::little,
              "tensors are copied from the file as they are, which is little-endian");

void Message::damaged(std::string_view what, std::uint64_t offset) {
  invalid(fmt::format("not a well-formed ONNX model: {}", what), {.offset = offset});
}

std::uint64_t Message::varint(std::uint64_t& position, std::uint64_t end) const {
  const char* cursor = file_.data() + position;
  try {
    const std::uint64_t value = protozero::decode_varint(&cursor, file_.data() + end);
    position = static_cast<std::uint64_t>(cursor - file_.data());
    return value;
  } catch (const protozero::varint_too_long_exception&) {
    damaged("a number has more than 10 bytes", position);
  } catch (const protozero::end_of_buffer_exception&) {
    damaged("a number goes beyond the end of its message (truncated file?)", position);
  }
}

bool Message::next() {
  if (position_ == end_) return false;
  whole_.offset = position_;
  const std::uint64_t tag = varint(position_, end_);
  field_ = static_cast<std::uint32_t>(tag >> 3U);
  type_ = static_cast<std::uint32_t>(tag & 7U);
  if (tag > UINT32_MAX || field_ == 0) damaged("impossible field number", whole_.offset);
  payload_ = {position_, 0};
  switch (protozero::pbf_wire_type{type_}) {
    case protozero::pbf_wire_type::varint:
      value_ = varint(position_, end_);
      payload_.size = position_ - payload_.offset;
      break;
    case protozero::pbf_wire_type::fixed64:
      payload_.size = 8;
      break;
    case protozero::pbf_wire_type::fixed32:
      payload_.size = 4;
      break;
    case protozero::pbf_wire_type::length_delimited:
      payload_.size = varint(position_, end_);
      payload_.offset = position_;
      break;
    default:
      damaged(fmt::format("unknown wire type {}", type_), whole_.offset);
  }
  if (payload_.size > end_ - payload_.offset) {
    damaged(fmt::format("a field of {} bytes goes beyond the end of its message, which has {} left "
                        "(truncated file?)",
                        payload_.size, end_ - payload_.offset),
            whole_.offset);
  }
  position_ = payload_.end();
  whole_.size = position_ - whole_.offset;
  return true;
}

std::int64_t Message::integer() const {
  if (!is_varint()) damaged(fmt::format("field {} is no integer", field_), whole_.offset);
  return static_cast<std::int64_t>(value_);
}

std::uint32_t Message::fixed32() const {
  if (!is_fixed32()) damaged(fmt::format("field {} is no float", field_), whole_.offset);
  std::uint32_t bits = 0;
  std::memcpy(&bits, file_.data() + payload_.offset, sizeof bits);
  return bits;
}

Range Message::payload() const {
  if (!is_delimited()) {
    damaged(fmt::format("field {} is no string or message", field_), whole_.offset);
  }
  return payload_;
}

std::string_view Message::text() const { return text_of(file_, payload()); }

void Message::append_integers(std::vector<std::int64_t>& out) const {
  if (is_varint()) {
    out.push_back(integer());
    return;
  }
  std::uint64_t position = payload().offset;
  while (position < payload_.end()) {
    out.push_back(static_cast<std::int64_t>(varint(position, payload_.end())));
  }
}

void Message::append_floats(std::vector<double>& out) const {
  const auto append = [&](std::uint64_t position) {
    float value = 0;
    std::memcpy(&value, file_.data() + position, sizeof value);
    out.push_back(static_cast<double>(value));
  };
  if (is_fixed32()) {
    append(payload_.offset);
    return;
  }
  if (payload().size % 4 != 0) damaged("packed floats with a remainder", whole_.offset);
  for (std::uint64_t position = payload_.offset; position < payload_.end(); position += 4) {
    append(position);
  }
}

}  // namespace quadrant::inline v0::onnx
