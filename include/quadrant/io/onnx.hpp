// ONNX files (https://onnx.ai/onnx/repo-docs/IR.html) to graphs and back, opset 7 to 28.
#pragma once

#include <cstdint>
#include <string>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/files.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::inline v0 {

struct OnnxReadOptions {
  Sink* sink = nullptr;  ///< receives notes about what was found; may be null
  /// DequantizeLinear and QuantizeLinear whose parameters are initializers become `dequantize` and
  /// `quantize`, and their codes get quantized types. False: they stay ONNX's operators.
  bool raise_quantization = true;
  /// Calls of local functions become the operations that these are made of. False: they stay calls,
  /// which nothing looks into, and functions are carried.
  bool inline_functions = true;
  FileTransaction* files = nullptr;  ///< hears of each file that is opened; may be null
  /// Data files that are symbolic links to anywhere. False: a link must lead into the model's
  /// folder, or to where the model itself, being a link, leads (as in the caches of hubs).
  bool follow_links = false;
};

/// Reads the structure of a model. Contents of tensors stay in the file (or in the external data
/// files it names) and are read when they are needed, so memory does not grow with the weights; the
/// files must not change while the graph lives. Unknown operations, attributes, domains, subgraphs,
/// and metadata are carried along and written again, as are functions that cannot be inlined.
///
/// Errors: `io` when a file cannot be read; `invalid_model` with file, tensor or node, and byte
/// offset for anything that is not a well-formed model, which one is not whose data files are
/// outside of its folder; `usage` where one of `files` would be written over what is read.
[[nodiscard]] Expected<Graph> read_onnx(const std::string& path,
                                        const OnnxReadOptions& options = {});

/// What a `fake_quantize` is written as.
enum class FakeQuantizeForm : std::uint8_t {
  /// QuantizeLinear and DequantizeLinear where these have the same levels: constant bounds, those
  /// of input and output the same, with zero among at most 256 levels. A number in the middle of
  /// two may go to the other one, and NaN becomes a number. The others as `elementary`.
  linear,
  /// Sub, Div, Mul, Round and others: the same bits.
  elementary,
  /// FakeQuantize of the domain org.openvinotoolkit, which OpenVINO reads and ONNX Runtime does
  /// not. Those with pdpd broadcasting, which OpenVINO ignores there, as `linear`.
  openvino,
};

struct OnnxWriteOptions {
  Executor* executor = nullptr;  ///< null: one thread. The bytes written do not depend on it.
  Sink* sink = nullptr;          ///< progress in bytes, notes about fallbacks; may be null
  /// Tensors of at least this many bytes go to a data file beside the model; the default keeps
  /// everything inline while the model stays below protobuf's 2 GiB.
  std::uint64_t external_from = UINT64_MAX;
  /// Writes products with a quantized weight as `com.microsoft.MatMulNBits`, which reads the codes
  /// and never holds the weight in floats: `matmul` with the weight on the right, and `gemm` with
  /// an alpha and beta of 1 whose input is not transposed. The weight is a constant of two
  /// dimensions, behind transposes or not, of 4 or 8 bits, that expresses float32 or float16. Its
  /// scales are one for all, one for each output channel, or one for each block along the axis that
  /// is summed over, the block a power of two from 16 on. Codes and zero points are stored
  /// unsigned, those of at most 2 bits as such; float16 scales are rounded to float16 and must be
  /// normal numbers there. Weights of `nf4` and `fp4-bnb` become `com.microsoft.MatMulBnb4`, where
  /// rows are whole blocks. What cannot go this way is written as without this option, and `sink`
  /// hears which and why.
  bool matmul_nbits = false;
  /// Writes weights of float8 as arithmetic, a lookup of what each code stands for, and not as
  /// DequantizeLinear: ONNX Runtime computes that once, when it loads the model, and keeps floats,
  /// where it runs a DequantizeLinear each time.
  bool small_floats_as_arithmetic = false;
  /// Writes what computes on codes, by its types, as operators on codes: QLinearConv,
  /// QLinearMatMul, and com.microsoft's QGemm, QLinearAdd, QLinearMul, QLinearSigmoid,
  /// QLinearLeakyRelu, QLinearAveragePool, QLinearGlobalAveragePool and QLinearConcat; MaxPool and
  /// Clip on plain integers from opset 12 on. Codes have 8 bits. The rest is written as without it:
  /// DequantizeLinear and QuantizeLinear around operators on floats.
  bool qoperators = false;
  FakeQuantizeForm fake_quantize = FakeQuantizeForm::linear;
  /// The transaction that the files are added to, which puts them in place; null: at once.
  FileTransaction* files = nullptr;
  /// All of these make the call, with the same graph and options: each computes and writes a share
  /// of the bytes of the files, which the first puts in place. They need a folder that all see;
  /// where one does not, the first writes alone, and `sink` hears so. Null: there are no others.
  Ranks* ranks = nullptr;
};

/// What writing a model did beyond copying.
struct OnnxWriteReport {
  std::uint64_t model_bytes = 0;
  std::uint64_t external_bytes = 0;
  /// Of these, contents of initializers: weights as floats, or as codes, scales and zero points.
  /// Those of int64 and bool, which are shapes, axes and masks, are not among them.
  std::uint64_t tensor_bytes = 0;
  std::string external_file;  ///< empty when all data is inline
  std::int64_t opset_read = 0;
  std::int64_t opset_written = 0;
  bool was_converted = false;     ///< from the opset of the ONNX file that the graph was read from
  std::int64_t matmul_nbits = 0;  ///< products that became MatMulNBits
  std::int64_t matmul_bnb4 = 0;   ///< products that became MatMulBnb4
  std::int64_t qoperators = 0;    ///< nodes that became operators on codes
  /// Values of int8 whose codes were written as uint8, with the same meaning: from opset 21 on,
  /// ONNX Runtime does not load some models with signed ones.
  std::int64_t unsigned_activations = 0;
  /// Products of float data by matrices of codes of which ONNX Runtime makes MatMulNBits, which
  /// rounds the data to 8 bits unless the session option `session.qdq_matmulnbits_accuracy_level`
  /// is 1: blocks of 4 bits in all releases, others from 1.25 on.
  std::int64_t rounded_products = 0;
  // How many `dequantize` became ...
  std::int64_t dequantize_linear = 0;      ///< DequantizeLinear
  std::int64_t dequantize_microsoft = 0;   ///< com.microsoft.DequantizeLinear
  std::int64_t dequantize_arithmetic = 0;  ///< Cast and Mul
  // How many `fake_quantize` became ...
  std::int64_t fake_quantize_linear = 0;      ///< QuantizeLinear and DequantizeLinear
  std::int64_t fake_quantize_arithmetic = 0;  ///< elementary operators, which give the same bits
  /// What was written instead of DequantizeLinear, and why; empty when nothing was.
  std::string fallback_reason;
};

/// Writes `graph` as a model; deferred constants are computed now, in pieces. Quantized types
/// become QuantizeLinear / DequantizeLinear with initializers for scale and zero point. Where that
/// needs a later opset (13 for an axis, 21 for blocks, 4 and 16 bits), the model is converted to it
/// if every operation in it can be; if not, `dequantize` is written as other operators that say the
/// same, and the report says why. A Gather from a dequantized constant reads codes, and its rows
/// are dequantized: src/io/onnx/lookup.hpp has the forms; src/io/onnx/fake_quantize.hpp those of a
/// `fake_quantize`.
///
/// The file appears complete or not at all: it is written beside `path` and renamed. A data file is
/// written first, under a name made from its contents.
[[nodiscard]] Expected<OnnxWriteReport> write_onnx(const Graph& graph, const std::string& path,
                                                   const OnnxWriteOptions& options = {});

/// What `write_onnx` would report, but for the name of a data file: how many bytes it would write.
/// Writes nothing, and computes and reads no contents of tensors but bounds of `fake_quantize`.
[[nodiscard]] Expected<OnnxWriteReport> count_onnx(const Graph& graph, const std::string& path,
                                                   const OnnxWriteOptions& options = {});

}  // namespace quadrant::inline v0
