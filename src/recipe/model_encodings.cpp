#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/recipe/encodings.hpp"

namespace quadrant::inline v0 {
namespace {

// Codes of a constant that only moved: what they mean is a matter of that constant.
bool is_moved_constant(const Graph& graph, Value value) {
  constexpr int most_moves = 8;  // a limit, so that a chain of moves is not walked by each value
  for (int moves = 0; moves < most_moves; ++moves) {
    if (find_move({&graph, value.node}) == nullptr) return false;
    value = graph.operands(value.node)[0];
    if (value.is_absent()) return false;
    if (graph.constant(value.node) != nullptr) return graph.type(value).is_quantized();
  }
  return false;
}

// Types do not tell whether the lowest code belongs to a symmetric range. Whether it occurs does.
Expected<bool> uses_lowest_code(const Constant& codes) {
  QUADRANT_TRY(const ConstantBytes contents, codes.read());
  const auto range = integer_range(codes.element()).value_or(IntegerRange{});
  const auto lowest = static_cast<std::byte>(range.min);
  return std::ranges::find(contents.bytes(), lowest) != contents.bytes().end();
}

Expected<TensorEncoding> encoding_of(const Graph& graph, Value codes) {
  const UniformType& type = *graph.type(codes).uniform();
  const bool is_whole = type.granularity.kind == Granularity::Kind::tensor;
  QUADRANT_TRY(TensorEncoding encoding,
               to_tensor_encoding(type, is_whole ? Shape::scalar() : graph.type(codes).shape));
  encoding.role = graph.constant(codes.node) != nullptr ? TensorEncoding::Role::parameter
                                                        : TensorEncoding::Role::activation;
  const Constant* const contents = graph.constant(codes.node);
  const bool may_be_strict =
      contents != nullptr && contents->element() == type.storage && byte_width(type.storage) == 1 &&
      encoding.bits == bit_width(type.storage) && encoding.symmetry == EncodingSymmetry::symmetric;
  if (!may_be_strict) return encoding;
  QUADRANT_TRY(const bool is_full, uses_lowest_code(*contents));
  if (is_full) return encoding;
  encoding.symmetry = EncodingSymmetry::symmetric_strict;
  for (std::int64_t& zero_point : encoding.zero_points) --zero_point;  // code 0 is now the next one
  return encoding;
}

}  // namespace

Expected<EncodingsFile> encodings_of(const Graph& graph, Sink* sink) {
  EncodingsFile file;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid()) continue;
    for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
      const Value value{node, result};
      if (!graph.type(value).is_quantized() || is_moved_constant(graph, value)) continue;
      const std::string_view name = real_name_of(graph, value);
      if (const ScaledFormat* const other = graph.type(value).quantization.other().get()) {
        if (sink != nullptr) {
          sink->report({Severity::warning,
                        fmt::format("it is stored as {}, which encodings files do not have: it is "
                                    "left out",
                                    to_string(other->format)),
                        {.tensor = std::string(name)}});
        }
        continue;
      }
      Expected<TensorEncoding> encoding = encoding_of(graph, value);
      if (!encoding) {
        Error error = std::move(encoding).error();
        if (error.place.tensor.empty()) error.place.tensor = name;
        return fail(std::move(error));
      }
      const auto [known, is_new] = file.tensors.emplace(name, *encoding);
      if (is_new || known->second == *encoding || sink == nullptr) continue;
      sink->report({Severity::warning,
                    "it is quantized in two ways: the file has only the first",
                    {.tensor = std::string(name)}});
    }
  }
  return file;
}

}  // namespace quadrant::inline v0
