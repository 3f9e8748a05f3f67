// The parameters of a model, and how each of them is stored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/targets/runtime_profile.hpp"

namespace quadrant::inline v0 {

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

}  // namespace quadrant::inline v0
