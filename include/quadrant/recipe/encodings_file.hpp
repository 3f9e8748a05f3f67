// The encodings of a model's tensors, by name, as AIMET exports them and QNN's converter takes
// them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/prescribed_encodings.hpp"
#include "quadrant/recipe/tensor_encoding.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// docs/formats/encodings.md says what each can express.
enum class EncodingsVersion : std::uint8_t { v0_6_1, v1_0_0, v2_0_0 };

/// `0.6.1`
[[nodiscard]] std::string_view to_string(EncodingsVersion version) noexcept;

/// How the encodings were found, as far as whoever found them wrote it down. Changes nothing.
struct QuantizerArguments {
  std::optional<std::int64_t> activation_bits;
  std::optional<std::int64_t> parameter_bits;
  std::optional<std::string> dtype;  ///< `int` or `float`
  std::optional<bool> symmetric;     ///< of parameters
  std::optional<bool> per_channel;
  std::optional<std::string> scheme;  ///< `post_training_tf`, say

  friend bool operator==(const QuantizerArguments&, const QuantizerArguments&) = default;
};

struct EncodingsFile {
  EncodingsVersion version = EncodingsVersion::v1_0_0;  ///< of the file that was read
  std::map<std::string, TensorEncoding> tensors;
  std::optional<QuantizerArguments> quantizer_arguments;
  std::vector<std::string> excluded_layers;

  friend bool operator==(const EncodingsFile&, const EncodingsFile&) = default;
};

/// Whether each name is that of a value of the graph; values inside of subgraphs do not count.
/// `usage`, with the names that come near, for the first few that are not.
[[nodiscard]] Expected<void> check_names(const EncodingsFile& file, const Graph& graph);

/// Gives a role to tensors whose role is unknown: constants of the graph are parameters, other
/// values activations. Errors as `check_names`; nothing is changed then.
[[nodiscard]] Expected<void> set_roles(EncodingsFile& file, const Graph& graph);

/// What the file prescribes. `impossible`, with the tensor: floats, blocks, and what
/// `check(const TensorEncoding&)` refuses.
[[nodiscard]] Expected<PrescribedEncodings> prescribed_encodings(const EncodingsFile& file);

}  // namespace quadrant::inline v0
