// error: a method's check_eligibility must be:
// error: a method's possible must be:
// error: a method's callback must be:
// error: a method's request must be:
// error: a method's forward must be:
// error: a method's storage must be:
// error: a method's examine must be:
// error: a method's tie must be:
// error: a method's rewriter must be:
#include "misuse/scheme.hpp"

namespace misuse {

// Not marked `override`, so that they would only hide the engine's.
QUADRANT_QUANTIZER(Mine, Good, Op, requires_parents(AnyQuantizable)) {
#ifdef MISUSE
  [[nodiscard]] Verdict check_eligibility(NodeRef) const { return {}; }
  void possible(NodeRef, Possibilities&) {}
  void callback(const Form&, NodeRef, const Asks&) const {}
  void request(const Form&, NodeRef, Asks&) const {}
  void forward(NodeRef, Asks&) const {}
  [[nodiscard]] StorageChange storage(const Form&, NodeRef) const { return {}; }
  [[nodiscard]] Expected<void> examine(NodeRef, DataContext&) const { return {}; }
  void tie(ParameterRules&) const {}
  void rewriter(NodeRef, RewriteContext&) const {}
#else
  [[nodiscard]] Verdict check_eligibility(NodeRef, const EligibilityContext&) const { return {}; }
  void possible(NodeRef, Possibilities&) const {}
  void callback(const Form&, NodeRef, Asks&) const {}
  void request(NodeRef, Asks&) const {}
  void forward(NodeRef, Offers&) const {}
  [[nodiscard]] std::optional<StorageChange> storage(const Form&, NodeRef) const { return {}; }
  [[nodiscard]] Expected<void> examine(const Form&, NodeRef, DataContext&) const { return {}; }
  void tie(NodeRef, ParameterRules&) const {}
  [[nodiscard]] Expected<void> rewriter(NodeRef, RewriteContext&) const { return {}; }
#endif
};

QUADRANT_METHODS(Good) { add<Mine>(); }

}  // namespace misuse
