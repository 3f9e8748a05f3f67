// What a file of encodings prescribes.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/recipe/encodings.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// A file of encodings for one model. Errors name the file.
class Prescribed {
 public:
  /// Nothing is prescribed.
  Prescribed() = default;
  /// `graph`: the model as it is in its file.
  [[nodiscard]] static Expected<Prescribed> read(const std::string& path, const Graph& graph,
                                                 const RunContext& context);

  /// Each name must be that of a value, before the model was transformed or after, which `graph`
  /// is.
  [[nodiscard]] Expected<void> check_names(const Graph& graph) const;
  [[nodiscard]] Expected<std::shared_ptr<const PrescribedEncodings>> table() const;
  /// Warns of encodings that are not those that the values of `graph` got.
  void tell_unused(const Graph& graph, const QuantizeResult& result,
                   const RunContext& context) const;

 private:
  std::string path_;
  EncodingsFile file_;
  std::set<std::string, std::less<>> original_;  ///< those of its names that the model's file has
};

/// Warns of values that would be quantized if their range were known, where what is prescribed is
/// all that is known.
[[nodiscard]] Expected<void> tell_unknown_ranges(const Graph& graph,
                                                 const StaticAffineOptions& options,
                                                 const QuantizeOptions& run,
                                                 const std::string& path,
                                                 const RunContext& context);

}  // namespace quadrant::inline v0
