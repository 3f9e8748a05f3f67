// For each line, a quantized type of MLIR: `ok` and the type as it is printed, or `error` and why.
// A shape in front, `4x2 !quant...`, is that of the tensor.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "ir/quantized_type.hpp"

namespace {

using namespace quadrant;

// `4x2`
Shape parse_shape(const std::string& text) {
  std::vector<std::int64_t> extents;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t used = 0;
    extents.push_back(std::stoll(text.substr(at), &used));
    at += used + 1;
  }
  return Shape(extents);
}

Expected<std::string> answer(const std::string& line) {
  const std::size_t space = line.find(" !");
  const bool has_shape = space != std::string::npos && line[0] != '!';
  QUADRANT_TRY(const QuantizedType type,
               parse_quantized_type(has_shape ? line.substr(space + 1) : line));
  if (has_shape) {
    QUADRANT_CHECK(verify_quantized_type(type, parse_shape(line.substr(0, space))));
  }
  return print_quantized_type(type);
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto text = answer(line);
    if (text) {
      std::printf("ok %s\n", text->c_str());
    } else {
      std::printf("error %s\n", text.error().message.c_str());
    }
  }
}
