// Whether a case went as it should.
//
// An operation of a case is to be fused when it computes on real numbers in the case's graph and is
// not one that says what is quantized (quantizeLinear, dequantizeLinear). It is fused when nothing
// of the converted graph that bears its name computes on real numbers any more: it computes on
// codes, or became part of another that does, or of nothing at all. A case is fused when all of
// its operations are, and conversion added none.
//
// Of the browser it is known how many operations of each kind it fused, not which. A fusion is
// missed where it fused more of a kind than were fused here, and its result is right.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "case_file.hpp"
#include "case_graph.hpp"
#include "conversion.hpp"

namespace quadrant::webnn {

/// Operations of one kind.
struct FusionCount {
  std::size_t all = 0;
  std::size_t ours = 0;
  std::size_t browser = 0;
};

enum class Fusion : std::uint8_t { nothing_to_fuse, fused, partly, not_fused };
[[nodiscard]] std::string_view to_string(Fusion fusion) noexcept;

struct Judgement {
  std::map<std::string, FusionCount> counts;  ///< by the WebNN operation
  Fusion ours = Fusion::nothing_to_fuse;
  std::vector<LeftReal> left;      ///< with reasons where there are any
  std::vector<std::string> added;  ///< nodes that compute on reals and are no operation's

  Fusion browser = Fusion::nothing_to_fuse;
  bool browser_known = false;   ///< the case tells what the browser did
  bool browser_failed = false;  ///< it built nothing
  std::optional<double> browser_difference;

  std::optional<double> built;      ///< how far the case's own graph is from the truth
  std::optional<double> converted;  ///< the same of what was made of it

  /// Kinds of which the browser fused more, soundly.
  [[nodiscard]] std::vector<std::string> missed() const;
  /// Every operation that was not fused has a reason.
  [[nodiscard]] bool is_explained() const;
  [[nodiscard]] bool differs() const;
  [[nodiscard]] bool failed() const { return differs() || !missed().empty(); }
};

/// What is fused, here and there; nothing is run.
[[nodiscard]] Judgement judge_fusion(const Case& from, const CaseGraph& built,
                                     const Converted& converted);

/// Runs both graphs, too.
[[nodiscard]] Expected<Judgement> judge(const Case& from, const CaseGraph& built,
                                        const Converted& converted);

/// A few lines for people, the first of which begins with the case's name.
[[nodiscard]] std::string describe(const Case& from, const Judgement& judgement);

}  // namespace quadrant::webnn
