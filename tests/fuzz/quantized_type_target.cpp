// MLIR's quantized types: what is read is printed, and reads back as the same text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ir/quantized_type.hpp"
#include "require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quadrant;
  const auto type = parse_quantized_type({reinterpret_cast<const char*>(data), size});
  if (!type) return 0;
  const auto printed = print_quantized_type(*type);
  fuzz::require_value(printed, "what was read cannot be printed", [] { return std::string(); });
  const auto again = parse_quantized_type(*printed);
  fuzz::require_value(again, "what was printed cannot be read", [&] { return *printed; });
  const auto reprinted = print_quantized_type(*again);
  fuzz::require(reprinted && *reprinted == *printed, "printed twice, it differs",
                [&] { return *printed; });
  return 0;
}
