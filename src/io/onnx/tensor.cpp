#include "io/onnx/tensor.hpp"

#include <charconv>
#include <optional>

#include "io/onnx/coded.hpp"
#include "io/onnx/element.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/fields.hpp"

namespace quadrant::inline v0::onnx {
namespace {

constexpr std::int64_t external_location = 1;  // TensorProto.DataLocation.EXTERNAL

/// A TensorProto's fields, as they stand in the file.
struct TensorFields {
  std::vector<std::int64_t> dims;
  std::optional<std::int64_t> data_type;
  std::optional<Range> raw;
  std::vector<Run> runs;         // of the typed field
  std::uint32_t runs_field = 0;  // which typed field
  std::vector<Range> external;   // key and value each
  std::int64_t location = 0;
  bool mixed = false;       // more than one typed field
  bool unreadable = false;  // strings, segments
};

void add_run(TensorFields& fields, const Message& message) {
  const Run run{message.is_delimited() ? message.payload() : message.whole(),
                !message.is_delimited()};
  if (message.is_delimited() && run.range.size == 0) return;
  if (fields.runs_field != 0 && fields.runs_field != message.field()) {
    fields.mixed = true;  // said later, when the tensor's name is known
    return;
  }
  fields.runs_field = message.field();
  if (!fields.runs.empty()) {
    Run& last = fields.runs.back();
    if (last.tagged && run.tagged && last.range.end() == run.range.offset) {
      last.range.size += run.range.size;
      return;
    }
  }
  fields.runs.push_back(run);
}

TensorFields read_tensor_fields(const Source& source, Range range, Tensor& tensor) {
  constexpr std::uint64_t kept_pages = 8U << 20U;
  TensorFields fields;
  std::uint64_t forgotten = range.offset;
  Message message = source.message(range);
  while (message.next()) {
    switch (message.field()) {
      case tensor::dims:
        message.append_integers(fields.dims);
        break;
      case tensor::data_type:
        fields.data_type = message.integer();
        break;
      case tensor::name:
        tensor.name = message.text();
        tensor.name_field = message.whole();
        break;
      case tensor::raw_data:
        fields.raw = message.payload();
        break;
      case tensor::float_data:
      case tensor::int32_data:
      case tensor::int64_data:
      case tensor::double_data:
      case tensor::uint64_data:
        add_run(fields, message);
        // Elements with a tag each were walked through: give their pages back.
        if (!message.is_delimited() && message.whole().end() - forgotten > kept_pages) {
          source.forget({forgotten, message.whole().end() - forgotten});
          forgotten = message.whole().end();
        }
        break;
      case tensor::external_data:
        fields.external.push_back(message.payload());
        break;
      case tensor::data_location:
        fields.location = message.integer();
        break;
      case tensor::string_data:
      case tensor::segment:
        fields.unreadable = true;
        break;
      default:
        tensor.extra.push_back(message.whole());
    }
  }
  return fields;
}

std::uint64_t parse_size(std::string_view key, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    invalid(fmt::format("the {} of its external data is '{}', which is no size", key, text));
  }
  return value;
}

/// Contents in a data file: a range of it.
std::shared_ptr<const ConstantSource> external_contents(Source& source, const TensorFields& fields,
                                                        std::uint64_t size) {
  std::string_view location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
  for (const Range& range : fields.external) {
    std::string_view key;
    std::string_view value;
    Message message = source.message(range);
    while (message.next()) {
      if (message.field() == entry::key) key = message.text();
      if (message.field() == entry::value) value = message.text();
    }
    if (key == "location") location = value;
    if (key == "offset") offset = parse_size(key, value);
    if (key == "length") length = parse_size(key, value);
  }
  auto file = source.data_file(location);
  if (length && *length != size) {
    invalid(fmt::format("its external data has {} bytes where its dims and type ask for {}",
                        *length, size));
  }
  if (offset > file->size() || size > file->size() - offset) {
    invalid(fmt::format("its {} bytes at {} lie outside '{}', which has {}", size, offset, location,
                        file->size()));
  }
  return file_ranges(std::move(file), {{offset, size}});
}

std::uint32_t field_number(TypedField field) noexcept {
  switch (field) {
    case TypedField::float_data:
      return tensor::float_data;
    case TypedField::int32_data:
      return tensor::int32_data;
    case TypedField::int64_data:
      return tensor::int64_data;
    case TypedField::double_data:
      return tensor::double_data;
    case TypedField::uint64_data:
      return tensor::uint64_data;
  }
  return 0;
}

/// Contents in a typed field; several elements a byte where they are packed.
std::shared_ptr<const ConstantSource> typed_contents(const Source& source, TensorFields fields,
                                                     const DataType& type, std::uint64_t count) {
  if (fields.runs_field != field_number(type.field)) {
    invalid(fmt::format("its contents stand in field {}, which does not belong to data type {}",
                        fields.runs_field, fields.data_type.value_or(0)));
  }
  Coding coding = Coding::varint;
  if (type.field == TypedField::float_data) coding = Coding::fixed32;
  if (type.field == TypedField::double_data) coding = Coding::fixed64;
  const auto width = static_cast<std::uint64_t>(byte_width(held_element(type.element)));
  const bool plain =
      coding != Coding::varint && fields.runs.size() == 1 && !fields.runs.front().tagged;
  if (!plain) {
    const std::uint64_t stored = is_packed(type.element) ? packed_size(type.element, count) : count;
    return coded_elements(source.file(), std::move(fields.runs), coding, static_cast<int>(width),
                          stored);
  }
  const Range range = fields.runs.front().range;
  if (range.size != count * width) {
    invalid(fmt::format("{} bytes where its dims and type ask for {}", range.size, count * width),
            {.offset = range.offset});
  }
  return file_ranges(source.file(), {range});
}

std::shared_ptr<const ConstantSource> contents_of(Source& source, TensorFields fields,
                                                  const DataType& type, std::uint64_t count) {
  const std::uint64_t size = packed_size(type.element, count);
  if (fields.mixed) invalid("its contents stand in two fields of different types");
  if (fields.location == external_location) return external_contents(source, fields, size);
  if (fields.raw && !fields.runs.empty() && fields.raw->size > 0) {
    invalid("its contents stand both in raw_data and in a typed field");
  }
  if (!fields.runs.empty()) return typed_contents(source, std::move(fields), type, count);
  const Range raw = fields.raw.value_or(Range{});
  if (raw.size == size) return file_ranges(source.file(), {raw});
  if (!fields.raw) {
    invalid(fmt::format("no contents where its dims and type ask for {} bytes", size));
  }
  invalid(fmt::format("{} bytes where its dims and type ask for {}", raw.size, size),
          {.offset = raw.offset});
}

Constant constant_of(Source& source, TensorFields fields, const DataType& type,
                     const Shape& shape) {
  const auto count = static_cast<std::uint64_t>(shape.element_count().value_or(0));
  auto found = contents_of(source, std::move(fields), type, count);
  const ElementType held = held_element(type.element);
  if (is_packed(type.element)) {
    found = unpacked(std::move(found), bit_width(type.element), held == ElementType::int4);
  }
  return Constant::deferred(held, shape, std::move(found));
}

/// Codes of a type that is carried; empty where their contents are wrong, as nobody asks for them
/// then.
Constant codes_of(Source& source, TensorFields fields, ElementType element, const Shape& shape) {
  try {
    return constant_of(source, std::move(fields), {element, TypedField::int32_data}, shape);
  } catch (const Failure&) {
    return {};
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-function-cognitive-complexity): a case for each way to store one
Tensor read_tensor(Source& source, Range range) {
  Tensor result;
  TensorFields fields = read_tensor_fields(source, range, result);
  return in_tensor(result.name, [&]() -> Tensor {
    for (const std::int64_t extent : fields.dims) {
      if (extent < 0) invalid(fmt::format("a dimension of {}", extent), {.offset = range.offset});
    }
    if (!fields.data_type || *fields.data_type == 0) {
      invalid("it has no data type", {.offset = range.offset});
    }
    // Later versions add types, and those are carried; numbers far beyond are damage.
    constexpr std::int64_t largest_data_type = 63;
    if (*fields.data_type < 0 || *fields.data_type > largest_data_type) {
      invalid(fmt::format("unknown data type {}", *fields.data_type), {.offset = range.offset});
    }
    result.external = fields.location == external_location;
    result.type = {element_of(*fields.data_type), Shape(fields.dims), nullptr};
    if (fields.unreadable) result.type.element = ElementType::opaque;
    const auto count = result.type.shape.element_count();
    // Twice the bytes of the widest element must still be countable.
    if (!count || *count > INT64_MAX / 16) {
      invalid(fmt::format("its dims ({}) multiply to more elements than a file can hold",
                          to_string(result.type.shape)),
              {.offset = range.offset});
    }
    const ElementType element = result.type.element;
    if (is_carried(element)) {
      if (held_element(element) != ElementType::undefined) {
        result.codes = codes_of(source, std::move(fields), element, result.type.shape);
      }
      return std::move(result);
    }

    const DataType& type = *find_data_type(*fields.data_type);
    try {
      result.constant = constant_of(source, std::move(fields), type, result.type.shape);
    } catch (Failure& failure) {
      if (!failure.error.place.offset && failure.error.place.file.empty()) {
        failure.error.place.offset = range.offset;
      }
      throw;
    }
    return std::move(result);
  });
}

TensorOutline outline_of_tensor(std::string_view file, Range range) {
  TensorOutline outline;
  Message message(file, range);
  while (message.next()) {
    if (message.field() == tensor::name) outline.name = message.text();
    if (message.field() == tensor::data_location) {
      outline.external = message.integer() == external_location;
    }
  }
  return outline;
}

}  // namespace quadrant::inline v0::onnx
