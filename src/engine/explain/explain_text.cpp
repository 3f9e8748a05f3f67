// Explanations as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "quadrant/engine/explain/explain.hpp"

namespace quadrant::inline v0 {

std::string to_string(const Explanation& explanation) {
  std::string text = fmt::format("{} ({}): {}\n  {}\n", explanation.value, explanation.kind,
                                 to_string(explanation.state), explanation.reason);
  for (const ExplainedRequest& request : explanation.requests) {
    text += fmt::format("  asked for {} by {}: gain {}{}{}\n", request.constraint,
                        fmt::join(request.from, ", "), request.gain.amount(),
                        request.accepted ? "" : ", refused: ", request.refusal);
  }
  for (const ExplainedBenefit& benefit : explanation.benefits) {
    text += fmt::format("  operand {} ('{}') as {}: {}\n", benefit.index, benefit.operand,
                        benefit.constraint,
                        benefit.realized ? fmt::format("yes, gain {}", benefit.gain.amount())
                                         : "no, " + benefit.why_not);
  }
  for (const ExplainedConversion& conversion : explanation.conversions) {
    text += fmt::format("  read as {} by {}: made of {}, gain {}\n", conversion.to,
                        conversion.readers.empty()
                            ? "other conversions"
                            : fmt::format("{}", fmt::join(conversion.readers, ", ")),
                        conversion.from, conversion.gain.amount());
  }
  for (const ExplainedVeto& veto : explanation.vetoes) {
    text += fmt::format("  not by {}: {}\n", fmt::join(veto.schemes, ", "), veto.reason);
  }
  if (!explanation.blockers.empty()) {
    text += fmt::format("  in the way: {}\n", fmt::join(explanation.blockers, ", "));
  }
  return text;
}

}  // namespace quadrant::inline v0
