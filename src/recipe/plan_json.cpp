#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "quadrant/recipe/documents.hpp"
#include "recipe/json_reader.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::string_view plan_format = "quadrant.plan";
constexpr std::int64_t plan_version = 2;

Expected<PlannedScheme> read_planned_scheme(ObjectReader& reader) {
  PlannedScheme scheme;
  scheme.name = reader.string("name");
  scheme.options = reader.string("options");
  QUADRANT_CHECK(reader.finish());
  return scheme;
}

Expected<PlannedValue> read_planned_value(ObjectReader& reader) {
  PlannedValue value;
  value.value = reader.string("value");
  value.scheme = reader.string("scheme");
  value.constraint = reader.string("constraint");
  value.gain = Gain{reader.integer("gain")};
  QUADRANT_CHECK(reader.finish());
  return value;
}

Expected<PlannedConversion> read_planned_conversion(ObjectReader& reader) {
  PlannedConversion conversion;
  conversion.value = reader.string("value");
  conversion.from = reader.string("from");
  conversion.to = reader.string("to");
  conversion.users = reader.strings("users");
  QUADRANT_CHECK(reader.finish());
  return conversion;
}

Expected<PlannedGroup> read_planned_group(ObjectReader& reader) {
  PlannedGroup group;
  group.constraint = reader.string("constraint");
  group.values = reader.strings("values");
  QUADRANT_CHECK(reader.finish());
  return group;
}

// The array `key`, each of whose objects `read` understands.
template <class T>
Expected<void> read_all(std::vector<ObjectReader>& objects, Expected<T> (*read)(ObjectReader&),
                        std::vector<T>& result) {
  for (ObjectReader& object : objects) {
    QUADRANT_TRY(result.emplace_back(), read(object));
  }
  return {};
}

}  // namespace

std::string print_plan(const Plan& plan) {
  using Json = nlohmann::ordered_json;
  Json schemes = Json::array();
  for (const PlannedScheme& scheme : plan.schemes) {
    schemes.push_back({{"name", scheme.name}, {"options", scheme.options}});
  }
  Json values = Json::array();
  for (const PlannedValue& value : plan.values) {
    values.push_back({{"value", value.value},
                      {"scheme", value.scheme},
                      {"constraint", value.constraint},
                      {"gain", value.gain.amount()}});
  }
  Json conversions = Json::array();
  for (const PlannedConversion& conversion : plan.conversions) {
    conversions.push_back({{"value", conversion.value},
                           {"from", conversion.from},
                           {"to", conversion.to},
                           {"users", conversion.users}});
  }
  Json shared = Json::array();
  for (const PlannedGroup& group : plan.shared) {
    shared.push_back({{"constraint", group.constraint}, {"values", group.values}});
  }
  const Json document = {{"format", plan_format},
                         {"version", plan_version},
                         {"schemes", std::move(schemes)},
                         {"gain_model", plan.gain_model},
                         {"policy", to_string(plan.policy)},
                         {"objective", plan.objective.amount()},
                         {"values", std::move(values)},
                         {"conversions", std::move(conversions)},
                         {"shared", std::move(shared)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

Expected<Plan> parse_plan(std::string_view text) {
  QUADRANT_TRY(const nlohmann::json document, parse_json(text));
  ObjectReader reader(document, "$");
  reader.check_format(plan_format, plan_version);
  Plan plan;
  std::vector<ObjectReader> schemes = reader.objects("schemes");
  plan.gain_model = reader.string("gain_model");
  // Plans of before there was a choice are greedy ones.
  std::string policy(to_string(SelectionPolicy::greedy));
  if (reader.optional_member("policy") != nullptr) policy = reader.string("policy");
  plan.objective = Gain{reader.integer("objective")};
  std::vector<ObjectReader> values = reader.objects("values");
  std::vector<ObjectReader> conversions = reader.objects("conversions");
  std::vector<ObjectReader> shared = reader.objects("shared");
  QUADRANT_CHECK(reader.finish());
  const std::optional<SelectionPolicy> known_policy = selection_policy(policy);
  if (!known_policy) {
    return fail(ErrorCode::invalid_model,
                fmt::format("$.policy: '{}' is neither 'greedy' nor 'optimal'", policy));
  }
  plan.policy = *known_policy;
  QUADRANT_CHECK(read_all(schemes, read_planned_scheme, plan.schemes));
  QUADRANT_CHECK(read_all(values, read_planned_value, plan.values));
  QUADRANT_CHECK(read_all(conversions, read_planned_conversion, plan.conversions));
  QUADRANT_CHECK(read_all(shared, read_planned_group, plan.shared));
  return plan;
}

}  // namespace quadrant::inline v0
