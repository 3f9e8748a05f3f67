// TFLite files (https://ai.google.dev/edge/litert) to graphs and back.
//
// A graph that is written has ONNX's operations, whose images are NCHW; what TFLite computes in
// NHWC is laid out so, and axes are moved only where something else asks for the model's own order.
// Quantization is a type, there as here: an operation whose operands and results have quantized
// types is one that computes on codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {

struct TfliteWriteOptions {
  Sink* sink = nullptr;  ///< receives what the report says, as notes; may be null
  /// Says in the file who wrote it.
  std::string description = "quadrant";
  /// The transaction that the file is added to, which puts it in place; null: at once.
  FileTransaction* files = nullptr;
};

/// What writing a model did beyond copying.
struct TfliteWriteReport {
  std::uint64_t file_bytes = 0;
  std::int64_t operators = 0;
  std::int64_t transposes = 0;  ///< of these, TRANSPOSEs that only the layout needs
  /// Operations that became several operators, or compute in float between DEQUANTIZE and QUANTIZE
  /// because TFLite has no kernel for their codes, and how.
  std::vector<LeftAlone> decomposed;
  /// Constants that were changed: biases quantized anew, codes that became floats.
  std::vector<LeftAlone> changed;
  /// What the file cannot say: a range of codes smaller than the storage type's, for example.
  std::vector<LeftAlone> not_honoured;
};

/// Writes `graph` as a TFLite model.
///
/// - A value of a quantized type is a tensor with these parameters: one scale, or one for each
///   index of an axis; of others, as those of blocks, it has the codes alone, and arithmetic
///   dequantizes these. `quantize` and `dequantize` become QUANTIZE and DEQUANTIZE; a `quantize` of
///   a `dequantize` without other readers becomes one QUANTIZE.
/// - Constant weights in blocks stay codes with scales where LiteRT multiplies float data by such,
///   which it rounds to 8 bits (docs/formats/tflite.md).
/// - QuantizeLinear and DequantizeLinear that are left in the graph as ONNX's operators, because
///   their parameters are computed, become arithmetic.
/// - An activation that alone reads the result of a convolution, product, pooling or sum of the
///   same type is fused into it, but for products with weights in blocks.
/// - Unknown extents are 1 in the file, and -1 in the shape signature.
/// - Inputs and outputs keep the model's own order of axes, and their names, which a signature
///   `serving_default` lists.
///
/// `impossible` when operations have no counterpart, naming all of them, and for more than 2 GiB.
/// The file appears complete or not at all.
[[nodiscard]] Expected<TfliteWriteReport> write_tflite(const Graph& graph,
                                                       const std::filesystem::path& path,
                                                       const TfliteWriteOptions& options = {});

/// The bytes that `write_tflite` would write. `report` may be null.
[[nodiscard]] Expected<std::vector<std::byte>> tflite_bytes(const Graph& graph,
                                                            const TfliteWriteOptions& options = {},
                                                            TfliteWriteReport* report = nullptr);

/// Reads a TFLite model as a graph of ONNX's operations: images are NCHW, with transposes at inputs
/// and outputs where the file has NHWC. Quantized tensors are values of quantized types, fused
/// activations operations of their own. An operator that the library does not know is carried as
/// `tflite.<NAME>`, and `write_tflite` writes it as it came.
///
/// Nothing in the file is trusted. Errors: `io` when it cannot be read; `invalid_model` with the
/// tensor or operator for what is no well-formed model; `impossible` for models with several
/// subgraphs, variables or sparse tensors; `usage` where one of `files`, which hear of this one and
/// may be null, would be written over it.
[[nodiscard]] Expected<Graph> read_tflite(const std::filesystem::path& path,
                                          FileTransaction* files = nullptr);

/// The same of a file's bytes, which are copied. `name` stands for the file in messages.
[[nodiscard]] Expected<Graph> read_tflite(std::span<const std::byte> bytes,
                                          const std::string& name = {});

}  // namespace quadrant::inline v0
