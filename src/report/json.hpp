// The reports as JSON documents, for those who put them into larger ones. The public headers have
// them as text, so that users of the library need no JSON library.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/sensitivity.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/report/summary.hpp"
#include "quadrant/targets/placement.hpp"
#include "quadrant/targets/runtime_profile.hpp"

namespace quadrant::inline v0 {

/// Keeps the order in which keys are set.
using Json = nlohmann::ordered_json;

/// Indented text with a line end; what is not UTF-8 gets replacement characters.
[[nodiscard]] std::string text_of(const Json& document);

// What is not there is null; so are infinities and NaN, which JSON does not have.

template <class T>
[[nodiscard]] Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
/// Of text that may be empty, such as the path of a file that is not wanted.
[[nodiscard]] Json text_or_null(std::string_view text);

[[nodiscard]] Json to_json(const Summary& summary);
[[nodiscard]] Json to_json(const Explanation& explanation);
[[nodiscard]] Json to_json(const ComputationReport& report);
/// `sqnr_db` is null where there is no noise, or no signal: `exact` tells them apart.
[[nodiscard]] Json to_json(const Comparison& comparison);
/// The outputs as in a Comparison.
[[nodiscard]] Json to_json(std::span<const LayerSensitivity> layers);
/// `graph` is what was placed: it has the names of the nodes.
[[nodiscard]] Json to_json(const Placement& placement, const GraphView& graph);
[[nodiscard]] Json to_json(const FileChoice& choice);
/// `graph` is the one that they were found in.
[[nodiscard]] Json to_json(std::span<const PairedProduct> products, const GraphView& graph);
/// A number, null where it is open.
[[nodiscard]] Json to_json(Extent extent);
/// `{"type": "tensor<?x4xf32>", "element": "f32", "shape": [null, 4]}`; no `shape` where the rank
/// is unknown.
[[nodiscard]] Json to_json(const TensorType& type);

}  // namespace quadrant::inline v0
