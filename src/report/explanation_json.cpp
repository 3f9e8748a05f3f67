#include "quadrant/report/tables.hpp"
#include "report/json.hpp"

namespace quadrant::inline v0 {

Json to_json(const Explanation& explanation) {
  Json requests = Json::array();
  for (const ExplainedRequest& request : explanation.requests) {
    Json json = {{"constraint", request.constraint},
                 {"gain", request.gain.amount()},
                 {"accepted", request.accepted},
                 {"selected", request.selected},
                 {"from", request.from}};
    if (!request.refusal.empty()) json["refusal"] = request.refusal;
    requests.push_back(std::move(json));
  }
  Json benefits = Json::array();
  for (const ExplainedBenefit& benefit : explanation.benefits) {
    Json json = {{"index", benefit.index},
                 {"operand", benefit.operand},
                 {"constraint", benefit.constraint},
                 {"gain", benefit.gain.amount()},
                 {"realized", benefit.realized}};
    if (!benefit.why_not.empty()) json["why_not"] = benefit.why_not;
    benefits.push_back(std::move(json));
  }
  Json conversions = Json::array();
  for (const ExplainedConversion& conversion : explanation.conversions) {
    conversions.push_back({{"from", conversion.from},
                           {"to", conversion.to},
                           {"gain", conversion.gain.amount()},
                           {"readers", conversion.readers}});
  }
  Json vetoes = Json::array();
  for (const ExplainedVeto& veto : explanation.vetoes) {
    vetoes.push_back({{"schemes", veto.schemes}, {"reason", veto.reason}});
  }
  Json couplings = Json::array();
  for (const ExplainedCoupling& coupling : explanation.couplings) {
    couplings.push_back({{"with", coupling.with}, {"constraint", coupling.constraint}});
  }
  return {{"value", explanation.value},      {"node", explanation.node},
          {"kind", explanation.kind},        {"state", to_string(explanation.state)},
          {"reason", explanation.reason},    {"requests", std::move(requests)},
          {"benefits", std::move(benefits)}, {"conversions", std::move(conversions)},
          {"vetoes", std::move(vetoes)},     {"couplings", std::move(couplings)},
          {"blockers", explanation.blockers}};
}

std::string print_json(std::span<const Explanation> explanations) {
  Json json = Json::array();
  for (const Explanation& explanation : explanations) json.push_back(to_json(explanation));
  return text_of(json);
}

}  // namespace quadrant::inline v0
