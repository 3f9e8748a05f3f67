#include "io/mlir/dense.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "io/mlir/failure.hpp"
#include "io/mlir/text.hpp"

namespace quadrant::inline v0::mlir_ir {
namespace {

/// In pieces, so that no weight is there twice.
void write_hexadecimal(const Constant& contents, FunctionRef<void(std::string_view)> sink) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  constexpr std::uint64_t piece = std::uint64_t{1} << 16U;
  // The bits beside an element are 0, as MLIR has them itself.
  const std::size_t mask = bit_width(contents.element()) == 4 ? 0x0F : 0xFF;
  std::string text;
  const auto append = [&](std::span<const std::byte> bytes) {
    text.resize(2 * bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto byte = std::to_integer<std::size_t>(bytes[i]) & mask;
      text[2 * i] = digits[byte >> 4U];
      text[2 * i + 1] = digits[byte & 15U];
    }
    sink(text);
  };
  // What is computed is computed once.
  const ConstantBytes all = value_of(contents.read());
  for (std::uint64_t at = 0; at < contents.byte_size(); at += piece) {
    append(all.bytes().subspan(at, std::min(piece, contents.byte_size() - at)));
  }
}

}  // namespace

void write_constant(const std::string& name, const Constant& contents, std::string_view location,
                    FunctionRef<void(std::string_view)> sink) {
  // MLIR's versions differ in how they pack the bits of an i1.
  const bool is_bits = contents.element() == ElementType::boolean;
  const std::string type = text_of({contents.element(), contents.shape(), nullptr});
  const std::string stored =
      is_bits ? text_of({ElementType::int8, contents.shape(), nullptr}) : type;
  const std::string stored_name = is_bits ? "%bytes_" + name.substr(1) : name;
  const std::string place = quoted(location);
  sink(fmt::format("    {} = \"arith.constant\"() <{{value = dense<", stored_name));
  if (contents.element_count() != 0) {
    sink("\"0x");
    write_hexadecimal(contents, sink);
    sink("\"");
  }
  sink(fmt::format("> : {}}}> : () -> {} loc({})\n", stored, stored, place));
  if (is_bits) {
    sink(fmt::format("    {} = \"arith.trunci\"({}) : ({}) -> {} loc({})\n", name, stored_name,
                     stored, type, place));
  }
}

}  // namespace quadrant::inline v0::mlir_ir
