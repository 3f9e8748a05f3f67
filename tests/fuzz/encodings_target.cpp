// Encodings as JSON: what is read can be written in its version and reads back the same; what
// another version can express keeps the meaning of each code.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "quadrant/recipe/encodings.hpp"
#include "require.hpp"

namespace {

using namespace quadrant;

void check_type(const TensorEncoding& encoding, const std::string& printed) {
  const auto text_of_it = [&] { return printed; };
  if (encoding.kind == TensorEncoding::Kind::floating) return;
  const Encoding first = encoding.encoding(0);
  fuzz::require(first.min <= 0 && first.max >= 0, "zero has no code", text_of_it);
  const Shape shape{static_cast<std::int64_t>(encoding.scales.size()), 1};
  const auto type = to_uniform_type(encoding, shape, 0, encoding.sign);
  if (!type) return;
  const auto again = to_tensor_encoding(*type, shape);
  fuzz::require_value(again, "the type has no encoding", text_of_it);
  fuzz::require(again->zero_points == encoding.zero_points, "other zero points", text_of_it);
}

void check_another(const EncodingsFile& file, EncodingsVersion version) {
  const auto other = print_encodings(file, version);
  if (!other) return;
  const auto text_of_it = [&] { return *other; };
  const auto again = parse_encodings(*other);
  fuzz::require_value(again, "another version cannot be read", text_of_it);
  for (const auto& [name, encoding] : file.tensors) {
    const auto found = again->tensors.find(name);
    fuzz::require(found != again->tensors.end(), "a tensor was lost", text_of_it);
    fuzz::require(found->second.scales.size() == encoding.scales.size(), "scales were lost",
                  text_of_it);
  }
}

void check(std::string_view text) {
  const auto file = parse_encodings(text);
  if (!file) return;
  const auto printed = print_encodings(*file, file->version);
  fuzz::require_value(printed, "what was read cannot be written",
                      [&] { return std::string(text); });
  const auto text_of_it = [&] { return *printed; };
  const auto again = parse_encodings(*printed);
  fuzz::require_value(again, "what was printed cannot be read", text_of_it);
  fuzz::require(print_encodings(*again, again->version) == printed, "it reads back as another",
                text_of_it);
  fuzz::require(again->tensors.size() == file->tensors.size(), "tensors were lost", text_of_it);
  for (const auto& [name, encoding] : file->tensors) {
    const TensorEncoding& read = again->tensors.at(name);
    fuzz::require(read.scales == encoding.scales && read.zero_points == encoding.zero_points,
                  "codes mean something else", text_of_it);
    check_type(encoding, *printed);
  }
  for (const EncodingsVersion version :
       {EncodingsVersion::v0_6_1, EncodingsVersion::v1_0_0, EncodingsVersion::v2_0_0}) {
    check_another(*file, version);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({reinterpret_cast<const char*>(data), size});
  return 0;
}
