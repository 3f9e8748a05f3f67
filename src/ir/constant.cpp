#include "quadrant/ir/constant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {
namespace {

// As Constant::read_runs; `read(offset, out)` reads one.
template <class Read>
Expected<void> read_each(const ByteRuns& runs, std::uint64_t count, std::span<std::byte> room,
                         RunsSink use, Read read) {
  std::uint64_t offset = runs.offset;
  for (std::uint64_t left = count; left > 0;) {
    const std::uint64_t lot = std::min<std::uint64_t>(left, room.size() / runs.length);
    const auto out = room.first(static_cast<std::size_t>(lot) * runs.length);
    for (std::size_t at = 0; at < out.size(); at += runs.length, offset += runs.step) {
      QUADRANT_CHECK(read(offset, out.subspan(at, runs.length)));
    }
    use(out);
    left -= lot;
  }
  return {};
}

[[maybe_unused]] bool lie_inside(const ByteRuns& runs, std::uint64_t count, std::uint64_t size) {
  if (runs.offset > size || runs.length > size - runs.offset) return false;
  return count == 1 || runs.step <= (size - runs.offset - runs.length) / (count - 1);
}

}  // namespace

Expected<void> ConstantSource::read_runs(const ByteRuns& runs, std::uint64_t count,
                                         std::span<std::byte> room, RunsSink use) const {
  return read_each(runs, count, room, use, [this](std::uint64_t offset, std::span<std::byte> out) {
    return read(offset, out);
  });
}

std::optional<ConstantBytes> ConstantSource::view(std::uint64_t /*offset*/,
                                                  std::size_t /*size*/) const {
  return std::nullopt;
}

struct Constant::Data {
  ElementType element = ElementType::undefined;
  Shape shape;
  std::int64_t count = 0;
  ConstantBytes bytes;                           // when `source` is null
  std::shared_ptr<const ConstantSource> source;  // when deferred
};

Constant Constant::from_shared(ElementType element, Shape shape, ConstantBytes bytes) {
  auto data = std::make_shared<Data>();
  data->count = shape.element_count().value_or(-1);
  QUADRANT_ASSERT(data->count >= 0 && static_cast<std::uint64_t>(data->count) *
                                              static_cast<std::uint64_t>(byte_width(element)) ==
                                          bytes.bytes().size());
  data->element = element;
  data->shape = std::move(shape);
  data->bytes = std::move(bytes);
  return Constant(std::move(data));
}

Constant Constant::from_bytes(ElementType element, Shape shape, std::vector<std::byte> bytes) {
  return from_vector(element, std::move(shape), std::move(bytes));
}

Constant Constant::copied(ElementType element, Shape shape, std::span<const std::byte> bytes) {
  return from_bytes(element, std::move(shape), {bytes.begin(), bytes.end()});
}

Constant Constant::deferred(ElementType element, Shape shape,
                            std::shared_ptr<const ConstantSource> source) {
  QUADRANT_ASSERT(source != nullptr && shape.element_count().has_value());
  auto data = std::make_shared<Data>();
  data->count = shape.element_count().value_or(0);
  data->element = element;
  data->shape = std::move(shape);
  data->source = std::move(source);
  return Constant(std::move(data));
}

Constant Constant::reshaped(Shape shape) const {
  QUADRANT_ASSERT(shape.element_count() == data_->count);
  auto data = std::make_shared<Data>(*data_);
  data->shape = std::move(shape);
  return Constant(std::move(data));
}

ElementType Constant::element() const noexcept { return data_->element; }
const Shape& Constant::shape() const noexcept { return data_->shape; }
std::int64_t Constant::element_count() const noexcept { return data_->count; }
std::uint64_t Constant::byte_size() const noexcept {
  return static_cast<std::uint64_t>(data_->count) *
         static_cast<std::uint64_t>(byte_width(data_->element));
}
bool Constant::is_deferred() const noexcept { return data_->source != nullptr; }
bool Constant::gathers() const noexcept { return is_deferred() && data_->source->gathers(); }

Expected<ConstantBytes> Constant::read() const {
  if (!data_->source) return data_->bytes;
  auto bytes = std::make_shared<std::vector<std::byte>>(byte_size());
  QUADRANT_CHECK(data_->source->read(0, *bytes));
  const std::span<const std::byte> view = *bytes;
  return ConstantBytes(std::move(bytes), view);
}

Expected<void> Constant::read(std::uint64_t offset, std::span<std::byte> out) const {
  QUADRANT_ASSERT(offset <= byte_size() && out.size() <= byte_size() - offset);
  if (out.empty()) return {};
  if (data_->source) return data_->source->read(offset, out);
  std::memcpy(out.data(), data_->bytes.bytes().data() + offset, out.size());
  return {};
}

std::optional<ConstantBytes> Constant::view(std::uint64_t offset, std::size_t size) const {
  QUADRANT_ASSERT(offset <= byte_size() && size <= byte_size() - offset);
  if (data_->source) return data_->source->view(offset, size);
  return data_->bytes.subspan(offset, size);
}

Expected<void> Constant::read_runs(const ByteRuns& runs, std::span<std::byte> out) const {
  if (out.empty()) return {};
  QUADRANT_ASSERT(runs.length > 0 && out.size() % runs.length == 0);
  return read_runs(runs, out.size() / runs.length, out, [](std::span<std::byte>) {});
}

Expected<void> Constant::read_runs(const ByteRuns& runs, std::uint64_t count,
                                   std::span<std::byte> room, RunsSink use) const {
  if (count == 0) return {};
  QUADRANT_ASSERT(runs.length > 0 && !room.empty() && room.size() % runs.length == 0);
  QUADRANT_ASSERT(lie_inside(runs, count, byte_size()));
  if (data_->source) return data_->source->read_runs(runs, count, room, use);
  return read_each(runs, count, room, use, [this](std::uint64_t offset, std::span<std::byte> out) {
    std::memcpy(out.data(), data_->bytes.bytes().data() + offset, out.size());
    return Expected<void>{};
  });
}

namespace {

template <class T>
void append(std::span<const std::byte> bytes, std::vector<std::int64_t>& out) {
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    out.push_back(static_cast<std::int64_t>(value));
  }
}

}  // namespace

Expected<std::vector<std::int64_t>> read_integers(const Constant& constant, std::int64_t limit) {
  if (!is_integer(constant.element())) {
    return fail(ErrorCode::invalid_model,
                fmt::format("integers were expected, not {}", to_string(constant.element())));
  }
  if (constant.element_count() > limit) {
    return fail(ErrorCode::invalid_model, fmt::format("{} integers where at most {} make sense",
                                                      constant.element_count(), limit));
  }
  QUADRANT_TRY(const ConstantBytes contents, constant.read());
  const auto bytes = contents.bytes();
  std::vector<std::int64_t> values;
  values.reserve(static_cast<std::size_t>(constant.element_count()));
  switch (constant.element()) {
    case ElementType::int4:
    case ElementType::int8:
      append<std::int8_t>(bytes, values);
      break;
    case ElementType::uint4:
    case ElementType::uint8:
      append<std::uint8_t>(bytes, values);
      break;
    case ElementType::int16:
      append<std::int16_t>(bytes, values);
      break;
    case ElementType::uint16:
      append<std::uint16_t>(bytes, values);
      break;
    case ElementType::int32:
      append<std::int32_t>(bytes, values);
      break;
    case ElementType::uint32:
      append<std::uint32_t>(bytes, values);
      break;
    case ElementType::uint64:
      append<std::uint64_t>(bytes, values);
      break;
    default:
      append<std::int64_t>(bytes, values);
      break;
  }
  return values;
}

}  // namespace quadrant::inline v0
