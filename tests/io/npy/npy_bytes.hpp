// The bytes of .npy files, made here by their description, not by the library.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace quadrant::test {

/// A file whose header is `text`, as it is.
inline std::string npy_of(std::string_view text, std::string_view elements, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(version), '\0'};
  const std::size_t size = text.size();
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    bytes += static_cast<char>(size >> (8 * i) & 0xffU);
  }
  return bytes.append(text).append(elements);
}

/// A file as NumPy writes it, with 128 bytes in front of the elements.
inline std::string npy(std::string_view type, std::string_view shape, std::string_view elements,
                       bool by_columns = false) {
  std::string text = "{'descr': '";
  text.append(type).append("', 'fortran_order': ").append(by_columns ? "True" : "False");
  text.append(", 'shape': ").append(shape).append(", }");
  text.resize(117, ' ');
  return npy_of(text + '\n', elements);
}

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace quadrant::test
