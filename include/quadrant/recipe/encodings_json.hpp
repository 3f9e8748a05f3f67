// Encodings as JSON, of versions 0.6.1, 1.0.0 and 2.0.0 of AIMET's format, which is that of the
// overrides of QNN's and SNPE's converters. docs/formats/encodings.md describes them.
#pragma once

#include <string>
#include <string_view>

#include "quadrant/recipe/encodings_file.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/file_transaction.hpp"

namespace quadrant::inline v0 {

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

}  // namespace quadrant::inline v0
