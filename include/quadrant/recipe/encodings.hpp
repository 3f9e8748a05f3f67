// Encodings of a model's tensors in files, as AIMET exports them and QNN's converter takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/shape.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {

// What a file of encodings says of one tensor, whichever version the file has.

/// Low-power blockwise quantization (LPBQ): the scale of a block is that of its channel times an
/// integer, so that blocks can be multiplied as integers of more bits and one scale a channel.
struct LowPowerScales {
  int decompressed_bits = 8;          ///< of a code times the integer scale
  std::vector<double> channels;       ///< a scale for each channel
  std::vector<std::uint16_t> blocks;  ///< 1 or more; in the order of TensorEncoding::scales

  friend bool operator==(const LowPowerScales&, const LowPowerScales&) = default;
};

/// Codes 0 to n stand for real = scale * (code - zero_point): n is 2^bits - 1, one less where
/// `symmetry` is strict. Ends and offsets follow from that: `encoding` gives them.
struct TensorEncoding {
  enum class Kind : std::uint8_t {
    integer,
    floating,  ///< a float of `bits` bits; nothing below `bits` counts
  };
  enum class Spread : std::uint8_t {
    tensor,    ///< one scale
    channels,  ///< one for each index along `axis`
    blocks,    ///< one for each `block_size` elements along `axis`
  };
  enum class Role : std::uint8_t {
    unknown,  ///< files of version 2.0.0 do not say
    activation,
    parameter,
  };

  Role role = Role::unknown;
  Kind kind = Kind::integer;
  int bits = 8;  ///< 2 to 32; of a float, 16 or 32
  EncodingSymmetry symmetry = EncodingSymmetry::asymmetric;
  /// How the writer of the file stores codes. Says nothing about what they mean. Of the files, only
  /// those of version 2.0.0 tell; of the others, signed where called symmetric.
  CodeSign sign = CodeSign::unsigned_codes;
  Spread spread = Spread::tensor;
  /// Negative ones count from the last. Empty where the file does not tell: by agreement, channels
  /// are then those of the output, and blocks lie along the input.
  std::optional<std::int64_t> axis;
  std::int64_t block_size = 0;
  /// Of blocks whose axis is known: the extents of the scales, as many as the tensor has, `axis`
  /// being the index among them. Empty otherwise.
  std::vector<std::int64_t> grid;
  /// Row by row where there is a grid, else in order of the channels and, in each, of its blocks.
  std::vector<double> scales;
  std::vector<std::int64_t> zero_points;  ///< of codes from 0; as many as there are scales
  std::optional<LowPowerScales> low_power;

  /// Scale, zero point and ends of number `index`, which must be there.
  [[nodiscard]] Encoding encoding(std::size_t index) const;

  friend bool operator==(const TensorEncoding&, const TensorEncoding&) = default;
};

/// Whether it has a meaning that can be relied on. `impossible`, with a message that names the
/// field: numbers out of the ranges above, another number of zero points than of scales, a scale
/// that is below 1e-37, an end beyond 1e38 (float32 must hold them), zero points that contradict
/// the symmetry, a grid that is not that of the scales, block scales that are not their factors'
/// product.
[[nodiscard]] Expected<void> check(const TensorEncoding& encoding);

/// The type of a tensor of static shape `shape`, with codes stored by `sign`. `channel_axis` counts
/// where the encoding does not know its axis: the axis of channels; blocks then lie along the axis
/// behind it if it is the first, else along that before it, and all other axes have one block.
/// Scales are rounded to float32.
///
/// `impossible`: floats; an axis that is missing or that the shape does not have; another number of
/// scales than the shape has channels or blocks; 17 to 31 bits; what `check` refuses.
[[nodiscard]] Expected<UniformType> to_uniform_type(const TensorEncoding& encoding,
                                                    const Shape& shape,
                                                    std::optional<std::int64_t> channel_axis,
                                                    CodeSign sign);

/// The opposite, of a type for a tensor of static shape `shape`; each code keeps its meaning. Codes
/// that are stored signed are counted from 0: zero points grow by as much. The expressed type is
/// not kept, nor is the role known. Reads scales and zero points.
///
/// `impossible`: scales that are negative; codes that are not all of a number of bits, or all but
/// the lowest of them around zero; what `check` refuses.
[[nodiscard]] Expected<TensorEncoding> to_tensor_encoding(const UniformType& type,
                                                          const Shape& shape);

// The encodings of a model's tensors, by name, as AIMET exports them and QNN's converter takes
// them.

/// docs/encodings.md says what each can express.
enum class EncodingsVersion : std::uint8_t { v0_6_1, v1_0_0, v2_0_0 };

/// `0.6.1`
[[nodiscard]] std::string_view to_string(EncodingsVersion version) noexcept;

/// How the encodings were found, as far as the file says. Changes nothing.
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

// Encodings as JSON, of versions 0.6.1, 1.0.0 and 2.0.0 of AIMET's format, which is that of the
// overrides of QNN's and SNPE's converters. docs/encodings.md describes them.

/// What goes with the text that is read.
struct EncodingsSource {
  std::string file;      ///< its name, for errors and warnings
  Sink* sink = nullptr;  ///< hears warnings; may be null
};

/// Reads the version that the text says it has; without one, 0.6.1, and a note says so.
///
/// In version 0.6.1 the ends count: scale and zero point are computed from them (see
/// `encoding_from_ends`), and given ones are kept where they agree to within rounding of float32.
/// Where they do not, and where the ends had to move by more than putting zero on a code takes, a
/// warning names the tensor, what is given and what was computed. In the others, scales and zero
/// points count. A section of the file that is not known is a warning.
///
/// `invalid_model`, with file, tensor and JSON path: what is not JSON or not of the format, with
/// unknown, missing or repeated keys; names that occur twice; lists that mix bits, types or
/// symmetry; and what `check(const TensorEncoding&)` refuses. Fractional zero points, floats of 8
/// bits or less and other versions are not read. Of a hostile text, reading stops before its parsed
/// values take 2 GiB of memory.
[[nodiscard]] Expected<EncodingsFile> parse_encodings(std::string_view text,
                                                      const EncodingsSource& source = {});

/// The same of a file of at most 512 MiB. `io` where it cannot be read.
[[nodiscard]] Expected<EncodingsFile> read_encodings(const std::string& path, Sink* sink = nullptr,
                                                     FileTransaction* files = nullptr);

/// The text of a file of that version, tensors in the order of their names, one a line. Reading it
/// gives each code of each tensor the same meaning, to the last bit. Names that are not UTF-8,
/// which JSON cannot hold, get replacement characters and will not be found again.
///
/// `impossible`, with the tensor and what to do: encodings that `check` refuses or that this
/// version cannot express. What says nothing about codes (arguments of the quantizer, excluded
/// layers, that a symmetric range leaves out its lowest code) is left out of version 2.0.0, which
/// has no place for it, and `sink`, which may be null, hears of that.
[[nodiscard]] Expected<std::string> print_encodings(const EncodingsFile& file,
                                                    EncodingsVersion version, Sink* sink = nullptr);

// The encodings that a quantized model has, as a file of encodings.

/// Of each quantized value, by the name that its float values have in the float model, as far as
/// the quantized one tells (`real_name_of`). Constants are parameters, everything else is an
/// activation. Constants that only move, transposed or looked up, are told once, as they lie.
///
/// Symmetric codes of a constant that does not use the lowest one leave it out. Reads scales, zero
/// points, and the codes of such constants. `sink`, which may be null, hears of names that two
/// values with different encodings would have: the first counts.
///
/// `impossible`, with the name: types that `to_tensor_encoding` refuses.
[[nodiscard]] Expected<EncodingsFile> encodings_of(const Graph& graph, Sink* sink = nullptr);

}  // namespace quadrant::inline v0
