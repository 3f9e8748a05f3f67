// encoded FORMAT ROWS COLUMNS: encodes float32 values from standard input, and writes codes, scales
// and offsets by level, the table, and the decoded values: bytes, then float32.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "quadrant/numerics/encode.hpp"

namespace {

using namespace quadrant;

template <class T>
void write(const std::vector<T>& values) {
  std::fwrite(values.data(), sizeof(T), values.size(), stdout);
}

Expected<void> run(std::string_view name, const Shape& shape, std::span<const float> values) {
  QUADRANT_TRY(const NumberFormat format, parse_number_format(name));
  QUADRANT_TRY(const Encoded encoded, encode(values, shape, format));
  std::vector<float> decoded(values.size());
  QUADRANT_CHECK(decode(encoded, shape, format, decoded));
  write(encoded.codes);
  for (const auto* levels : {&encoded.scales, &encoded.offsets}) {
    for (const auto& level : *levels) write(level);
  }
  write(encoded.table);
  write(decoded);
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const Shape shape{std::atoll(arguments[2]), std::atoll(arguments[3])};
  const std::vector<char> bytes(std::istreambuf_iterator<char>(std::cin), {});
  std::vector<float> values(bytes.size() / sizeof(float));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(values.data()));
  const auto done = run(arguments[1], shape, values);
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return 1;
}
