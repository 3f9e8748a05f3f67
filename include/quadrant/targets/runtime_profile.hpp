// What a runtime does with a model's parameters, and what is known of them and of activations for
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::inline v0 {

// Targets: the runtimes whose kernels compute on codes, each with types and parameters that they
// take. Schemes say which of them they know.

enum class KernelsTarget : std::uint8_t {  // NOLINT(readability-enum-initial-value): old names
  any,                                     ///< none in particular
  onnxruntime,                             ///< ONNX Runtime's, of QDQ models
  tflite,            ///< LiteRT's: the 8-bit specification, int16 activations, int4 weights,
                     ///< https://ai.google.dev/edge/litert/models/quantization_spec
  openvino,          ///< OpenVINO's, on whatever device
  webnn,             ///< what browsers accept that turn WebNN graphs into TFLite ones
  onnx_qoperator,    ///< ONNX Runtime's operators on codes: QLinearConv, QLinearMatMul, ...
  openvino_cpu,      ///< data of u8, weights of i8
  openvino_gpu,      ///< data of u8 or i8, weights of i8
  openvino_generic,  ///< 8 and 4 bits, with and without a sign
  cpu [[deprecated("openvino_cpu")]] = openvino_cpu,
  gpu [[deprecated("openvino_gpu")]] = openvino_gpu,
  generic [[deprecated("openvino_generic")]] = openvino_generic,
};

/// `any`, `onnxruntime`, `tflite`, `openvino`, `webnn`, `onnx-qoperator`, `openvino-cpu`,
/// `openvino-gpu`, `openvino-generic`.
[[nodiscard]] std::string_view to_string(KernelsTarget target) noexcept;
/// Empty for another text.
[[nodiscard]] std::optional<KernelsTarget> parse_kernels_target(std::string_view text) noexcept;

// What a runtime does with the parameters of a model: a table that users can add rows to.
//
//   RuntimeProfile npu{.name = "NPU"};
//   npu.quantized = {.native = {ElementType::int8, ElementType::int32}, .becomes = {}};
//   npu.floating = {.native = {}, .becomes = ElementType::int8};   // quantizes at load
//   options.runtimes.push_back(npu);

/// How the numbers of a parameter are represented.
enum class ParameterForm : std::uint8_t {
  floating,   ///< floats
  quantized,  ///< integers with scales
};

[[nodiscard]] std::string_view to_string(ParameterForm form) noexcept;

/// What a runtime does with parameters of one form, by their storage type.
struct FormRule {
  /// Storage types that it computes with as they are.
  std::vector<ElementType> native{};
  /// What parameters of other storage types become at load: a type that the runtime computes with.
  /// Empty: it refuses them.
  std::optional<ElementType> becomes{};

  friend bool operator==(const FormRule&, const FormRule&) = default;
};

/// How a runtime that consists of two divides a model. An operation of a kind in `takes` goes to
/// the first, every other to the second.
struct SubnetSplit {
  std::string first;               ///< name, `HTA`
  std::vector<std::string> takes;  ///< kinds of nodes (`GraphView::kind`)
  std::string first_parameters;    ///< for people: which parameters it uses
  std::string second;
  std::string second_parameters;

  friend bool operator==(const SubnetSplit&, const SubnetSplit&) = default;
};

struct RuntimeProfile {
  std::string name;
  FormRule floating{};   ///< what it does with float parameters
  FormRule quantized{};  ///< what it does with quantized parameters
  /// Refuses a model in which an activation has no scale.
  bool needs_quantized_activations = false;
  std::optional<SubnetSplit> split{};

  friend bool operator==(const RuntimeProfile&, const RuntimeProfile&) = default;
};

/// CPU, GPU, DSP and AIP of the Snapdragon Neural Processing Engine, by its documentation
/// ("Quantized vs Non-Quantized Models"):
///
///   CPU, GPU  compute with float32; what is quantized, or another float, becomes float32 at load
///   DSP       computes with 8-bit codes and biases of 8 or 32 bits; floats are quantized at load
///   AIP       as DSP, but refuses floats, and activations without scale; divided into HTA and HNN
///
/// The documentation says nothing of 4 and 16 bits. Assumed: DSP makes 8 bits of them at load, AIP
/// refuses them. Which operations HTA takes is not in it either: `takes` is an assumption too.
[[nodiscard]] std::vector<RuntimeProfile> snpe_runtimes();

/// `usage` for a profile that makes no sense: without a name, with native types of the other form,
/// with a `becomes` that the runtime does not compute with, with subnets of one name or none.
[[nodiscard]] Expected<void> check(const RuntimeProfile& profile);

// The parameters of a model, and how each of them is stored.

/// A constant that a runtime computes with.
struct Parameter {
  NodeId node;
  std::string name;
  ParameterForm form = ParameterForm::floating;
  ElementType storage = ElementType::float32;
  Shape shape;              ///< of the elements; codes that a product holds packed: all in one axis
  Granularity granularity;  ///< of the scales, where the type states them
  /// Of the scales; `undefined` where an operation reads them as operands of its own.
  ElementType scale = ElementType::undefined;
  std::uint64_t elements = 0;
  /// In a file: elements of 4 bits are packed, scales and zero points of a quantized type count
  /// (see `stored_bytes`).
  std::uint64_t bytes = 0;
};

/// Some constants, counted. Figures stay at 2^64 - 1 where they would be larger.
struct ParameterTotals {
  std::uint64_t count = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;

  void add(std::uint64_t more_elements, std::uint64_t more_bytes) noexcept;
  void add(const Parameter& parameter) noexcept { add(parameter.elements, parameter.bytes); }
  void add(const ParameterTotals& more) noexcept;
  friend bool operator==(const ParameterTotals&, const ParameterTotals&) = default;
};

/// Those that are stored alike.
struct StorageTotals {
  ParameterForm form = ParameterForm::floating;
  ElementType storage = ElementType::float32;
  ParameterTotals totals;

  friend bool operator==(const StorageTotals&, const StorageTotals&) = default;
};

/// All constants of a model, each in one of these.
struct ParameterList {
  std::vector<Parameter> parameters;   ///< by node
  std::vector<StorageTotals> storage;  ///< float before quantized, then by type
  ParameterTotals all;                 ///< of the parameters
  /// Floats and codes that tell an operation what to do: of one element and at most one axis, of no
  /// element, or read only as bounds, values of padding, factors of resizing, scales of an
  /// operator.
  ParameterTotals settings;
  ParameterTotals integers;  ///< booleans and integers that are no codes: shapes, indices
  std::uint64_t unread = 0;  ///< of types that targets do not read, as float8: not counted
};

/// A constant is a float parameter by its type; a quantized one by its type, or because an operator
/// reads it as codes (QLinearConv, MatMulNBits, a DequantizeLinear that stayed one). A node counts
/// once, however many read it. Reads metadata only; linear.
///
/// `invalid_model` for a quantized type whose axis or block size does not fit its constant.
[[nodiscard]] Expected<ParameterList> find_parameters(const GraphView& graph);

/// Bytes that the parameter takes once it is stored as `type`: a float takes its width an element;
/// codes have the scales that they had before, or, made of floats, one float32 scale and a zero
/// point. Saturates.
[[nodiscard]] std::uint64_t bytes_as(const Parameter& parameter, ElementType type);

// Divides a model between the two halves of a runtime.

/// Operations that one half computes as a whole.
struct Subnet {
  bool is_first = false;      ///< of the profile's `first`, else of its `second`
  std::vector<NodeId> nodes;  ///< in topological order
  /// Parameters that its operations read, directly or through what is made of parameters alone. One
  /// that several subnets read counts for the first of them.
  ParameterTotals parameters;
};

/// Every operation that depends on an input is in one subnet; `quantize`, `dequantize` and
/// `storage_cast` are in none: they say how a value is represented. All nodes of a subnet go to the
/// same half and are connected by edges among themselves, and no path leaves a subnet and comes
/// back: the subnets can be computed one after the other, in the order in which they are returned.
/// `order`: topological; `parameters`: of this graph. Linear, but for looking up kinds.
///
/// How: an operation's level is the number of changes of half on the path to it that has the most.
/// A subnet is a connected part of a level. Levels never fall along an edge, so a path that leaves
/// one cannot return. Fewer subnets may be possible.
[[nodiscard]] std::vector<Subnet> divide(const GraphView& graph, const std::vector<NodeId>& order,
                                         const SubnetSplit& split,
                                         const std::vector<Parameter>& parameters);

// Which values between the operations of a model have scales.

struct ActivationCount {
  std::uint64_t count = 0;
  std::uint64_t quantized = 0;
  /// Of those that are not: the graph does not tell what type they have.
  std::uint64_t unknown_type = 0;
  std::string first_unquantized;  ///< name of the first in `order`; empty where all are quantized

  friend bool operator==(const ActivationCount&, const ActivationCount&) = default;
};

/// Float values that depend on an input: the inputs themselves, and what operations compute, where
/// it is read. What a `dequantize` gives back counts with the value that was quantized. Integers,
/// and what is computed of shapes, are none.
///
/// One is quantized if it is codes; if all its readers quantize it; or if it comes of codes or goes
/// to them through operations that hand on values as they are (a transpose, a maximum of a window).
/// The result of an operation is quantized also where its one reader is a Relu or Clip whose result
/// is: runtimes compute the two as one. `order`: topological. Linear.
[[nodiscard]] ActivationCount count_activations(const GraphView& graph,
                                                const std::vector<NodeId>& order);

// Which weights meet in 16 bits where integer kernels run on x86 without VNNI.

/// Runtimes whose kernels were looked into.
struct PairingRuntimes {
  bool onnxruntime = true;
  bool openvino = true;
};

/// The orders in which the kernels of `runtimes` for this operation add neighbouring products of
/// its operand `operand`, weights of shape `weight` that are codes of int8, with data of 8 bits:
/// each order once. None: they sum in 32 bits, or compute in float. Any, for a product of the
/// graph's own (`GraphView::operations`), whose kernel is not known. In axes of the operand.
/// Observed in ONNX Runtime 1.23.2 and 1.32.0 and in OpenVINO 2026.4.1, on a processor with AVX2.
[[nodiscard]] std::vector<PairOrder> pair_orders(NodeRef node, std::uint32_t operand,
                                                 const Shape& weight, PairingRuntimes runtimes);

/// Whether ONNX Runtime computes a product of codes on codes as it is used: a convolution only
/// where its result becomes codes, through a Relu or a Clip perhaps.
[[nodiscard]] bool is_on_codes_in_onnxruntime(NodeRef node);

/// What the value is made of by moves and conversions, one after the other: a constant, or codes,
/// or where something else is in front.
[[nodiscard]] Value code_source(const GraphView& graph, Value value);

/// An order along axes of `value`, in axes of the constant that it is made of by moves and
/// conversions, one after the other: an unknown one, where elements take other ways than a
/// transpose's.
[[nodiscard]] PairOrder order_at_constant(const GraphView& graph, Value value, PairOrder order);

// Products of a quantized model whose sums can leave 16 bits, where kernels add two neighbours in
// them: on x86 without VNNI (`numerics/second_moments.hpp`).

/// One whose data are codes of 8 bits, and whose weights are codes of int8.
struct PairedProduct {
  NodeId node;
  std::string weight;     ///< name of the constant
  PairCount onnxruntime;  ///< no pairs: its kernel sums in 32 bits
  PairCount openvino;     ///< the same
  /// By how many dB the noise of the weight's quantization is above that of the scales with which
  /// the largest code of each would be 127: what larger scales cost that keep sums in 16 bits, or
  /// weights of 7 bits. 0 for scales that clip.
  double unused_range_db = 0;

  [[nodiscard]] bool can_saturate() const noexcept {
    return onnxruntime.inexact + openvino.inexact > 0;
  }
};

/// All of them, in the order of their nodes, that kernels of `runtimes` add two by two. Codes may
/// lie behind conversions and moves; where the order of the weights is not known for that, any two
/// that share a scale count. Data may be floats on 256 levels, as OpenVINO's are. Left out are
/// products of two computed values, and operators that are codes themselves (QLinearConv and its
/// like, MatMulInteger). Reads the weights, one at a time. Fails where that does. Several threads
/// may call it.
[[nodiscard]] Expected<std::vector<PairedProduct>> find_paired_products(
    const GraphView& graph, PairingRuntimes runtimes = {});

}  // namespace quadrant::inline v0
