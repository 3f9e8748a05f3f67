// What a runtime does with the parameters of a model: a table that users can add rows to.
//
//   RuntimeProfile npu{.name = "NPU"};
//   npu.quantized = {.native = {ElementType::int8, ElementType::int32}, .becomes = {}};
//   npu.floating = {.native = {}, .becomes = ElementType::int8};   // quantizes at load
//   options.runtimes.push_back(npu);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/element_type.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// How the numbers of a parameter are represented.
enum class ParameterForm : std::uint8_t {
  floating,   ///< real numbers
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

}  // namespace quadrant::inline v0
