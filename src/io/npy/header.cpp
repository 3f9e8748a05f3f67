#include "io/npy/header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::npy {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t prelude = magic.size() + 2;  // and the version
constexpr std::size_t largest_rank = 64;           // as NumPy

/// Types by NumPy's letter and width, which follow the byte order.
constexpr std::array<std::pair<std::string_view, ElementType>, 12> types{{
    {"b1", ElementType::boolean},
    {"i1", ElementType::int8},
    {"u1", ElementType::uint8},
    {"i2", ElementType::int16},
    {"u2", ElementType::uint16},
    {"i4", ElementType::int32},
    {"u4", ElementType::uint32},
    {"i8", ElementType::int64},
    {"u8", ElementType::uint64},
    {"f2", ElementType::float16},
    {"f4", ElementType::float32},
    {"f8", ElementType::float64},
}};

/// The dictionary, as far as NumPy writes it: a string, True or False, and a tuple of integers,
/// each under its key, once.
class Dictionary {
 public:
  Dictionary(std::string_view text, std::uint64_t offset) : text_(text), offset_(offset) {}

  Expected<Header> read() {
    QUADRANT_CHECK(expect('{'));
    while (!accept('}')) {
      QUADRANT_TRY(const std::string_view key, string());
      QUADRANT_CHECK(expect(':'));
      QUADRANT_CHECK(entry(key));
      if (accept(',')) continue;
      QUADRANT_CHECK(expect('}'));
      break;
    }
    skip_space();
    if (position_ != text_.size()) return wrong("something follows the dictionary of its header");
    for (const auto& [key, seen] :
         {std::pair("descr", has_type_), {"fortran_order", has_order_}, {"shape", has_shape_}}) {
      if (!seen) return wrong(fmt::format("its header has no '{}'", key));
    }
    return std::move(header_);
  }

 private:
  [[nodiscard]] tl::unexpected<Error> wrong(std::string message) const {
    return damaged(std::move(message), offset_ + position_);
  }

  void skip_space() {
    const auto next = text_.find_first_not_of(" \t\r\n", position_);
    position_ = std::min(next, text_.size());
  }

  bool accept(char wanted) {
    skip_space();
    if (position_ == text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }

  Expected<void> expect(char wanted) {
    if (accept(wanted)) return {};
    return wrong(fmt::format("'{}' is missing in its header", wanted));
  }

  bool accept_word(std::string_view word) {
    skip_space();
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }

  /// Without escapes: no key and no type has one.
  Expected<std::string_view> string() {
    skip_space();
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    if (quote != '\'' && quote != '"') return wrong("a string is missing in its header");
    const std::size_t start = position_ + 1;
    const std::size_t end = text_.find(quote, start);
    if (end == std::string_view::npos) return wrong("a string in its header does not end");
    position_ = end + 1;
    return text_.substr(start, end - start);
  }

  Expected<void> entry(std::string_view key) {
    bool* seen = nullptr;
    if (key == "descr") seen = &has_type_;
    if (key == "fortran_order") seen = &has_order_;
    if (key == "shape") seen = &has_shape_;
    if (seen == nullptr) return wrong(fmt::format("'{}' does not belong into its header", key));
    if (std::exchange(*seen, true)) return wrong(fmt::format("its header has '{}' twice", key));
    if (key == "descr") return type();
    return key == "shape" ? shape() : order();
  }

  Expected<void> type() {
    constexpr std::string_view remedy =
        "save booleans, integers of up to 64 bits, float16, float32 or float64";
    if (accept('[')) {
      return wrong(fmt::format("its elements are records of several fields; {}", remedy));
    }
    QUADRANT_TRY(const std::string_view name, string());
    const std::string_view order = name.substr(0, 1);
    const auto* known = std::ranges::find(types, name.substr(order.size()),
                                          &std::pair<std::string_view, ElementType>::first);
    const bool is_ordered = order == "<" || order == ">" || order == "|";
    if (!is_ordered || known == types.end()) {
      return wrong(fmt::format("its elements are of type '{}'; {}", name, remedy));
    }
    header_.element = known->second;
    header_.big_endian = order == ">";
    return {};
  }

  Expected<void> order() {
    header_.fortran_order = accept_word("True");
    if (header_.fortran_order || accept_word("False")) return {};
    return wrong("its header has a 'fortran_order' that is neither True nor False");
  }

  Expected<void> shape() {
    std::vector<std::int64_t> extents;
    QUADRANT_CHECK(expect('('));
    while (!accept(')')) {
      QUADRANT_TRY(extents.emplace_back(), extent());
      if (extents.size() > largest_rank) {
        return wrong(fmt::format("it has more than {} axes", largest_rank));
      }
      if (accept(',')) continue;
      QUADRANT_CHECK(expect(')'));
      break;
    }
    header_.shape = Shape(extents);
    const auto count = header_.shape.element_count();
    if (!count) {
      return wrong(fmt::format("its shape ({}) has more elements than can be counted",
                               to_string(header_.shape)));
    }
    header_.count = static_cast<std::uint64_t>(*count);
    return {};
  }

  Expected<std::int64_t> extent() {
    skip_space();
    std::int64_t value = 0;
    const char* end = text_.data() + text_.size();
    const auto [next, error] = std::from_chars(text_.data() + position_, end, value);
    if (error != std::errc{} || value < 0)
      return wrong("its shape has something that is no extent");
    position_ = static_cast<std::size_t>(next - text_.data());
    (void)accept('L');  // Python 2
    return value;
  }

  std::string_view text_;
  std::uint64_t offset_;
  std::size_t position_ = 0;
  Header header_;
  bool has_type_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

std::span<std::byte> bytes_of(std::string& text) { return std::as_writable_bytes(std::span(text)); }

}  // namespace

Expected<Header> read_header(Input& input) {
  std::string start(prelude, '\0');
  if (input.left() < prelude) return damaged("not an array of NumPy: it is too short", 0);
  QUADRANT_CHECK(input.read(bytes_of(start), "its header"));
  if (!start.starts_with(magic)) return damaged("not an array of NumPy: it begins otherwise", 0);
  const int major = static_cast<unsigned char>(start[magic.size()]);
  if (major < 1 || major > 3) {
    return damaged(fmt::format("it is of format version {}; 1 to 3 are known", major),
                   magic.size());
  }

  std::string length_bytes(major == 1 ? 2 : 4, '\0');
  QUADRANT_CHECK(input.read(bytes_of(length_bytes), "its header"));
  std::size_t length = 0;
  for (std::size_t i = length_bytes.size(); i > 0; --i) {
    length = length << 8U | static_cast<unsigned char>(length_bytes[i - 1]);
  }
  // Only records of many fields need more than 64 KiB, and those are not read.
  constexpr std::size_t longest = 1U << 16U;
  if (length > longest) {
    return damaged(fmt::format("its header has {} bytes, where no array that is read needs more "
                               "than {}",
                               length, longest),
                   prelude);
  }
  std::string text(length, '\0');
  const std::uint64_t offset = input.position();
  QUADRANT_CHECK(input.read(bytes_of(text), "its header"));
  return Dictionary(text, offset).read();
}

std::string make_header(ElementType element, const Shape& shape) {
  const auto* type =
      std::ranges::find(types, element, &std::pair<std::string_view, ElementType>::second);
  QUADRANT_ASSERT(type != types.end());
  std::string text =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
                  byte_width(element) == 1 ? '|' : '<', type->first,
                  fmt::join(shape.known_extents(), ", "), shape.rank() == 1 ? "," : "");
  constexpr std::size_t alignment = 64;
  const std::size_t used = prelude + 2 + text.size() + 1;
  text.append((alignment - used % alignment) % alignment, ' ');
  text += '\n';
  std::string header(magic);
  header +=
      {'\1', '\0', static_cast<char>(text.size() & 0xffU), static_cast<char>(text.size() >> 8U)};
  return header + text;
}

}  // namespace quadrant::inline v0::npy
