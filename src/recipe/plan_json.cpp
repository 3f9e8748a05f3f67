#include "quadrant/recipe/plan_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "recipe/json_reader.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::string_view format_name = "quadrant.plan";
constexpr std::int64_t format_version = 1;
constexpr std::size_t depth_limit = 4;  // plan, conversions, conversion, users

Expected<PlannedValue> read_value(ObjectReader& reader) {
  PlannedValue value;
  value.value = reader.string("value");
  value.constraint = reader.string("constraint");
  value.gain = Gain{reader.integer("gain")};
  QUADRANT_CHECK(reader.finish());
  return value;
}

Expected<PlannedConversion> read_conversion(ObjectReader& reader) {
  PlannedConversion conversion;
  conversion.value = reader.string("value");
  conversion.users = reader.strings("users");
  QUADRANT_CHECK(reader.finish());
  return conversion;
}

// What the file says it is comes first: a wrong file is better called that than short of keys.
void check_format(ObjectReader& reader) {
  const std::string format = reader.string("format");
  const std::int64_t version = reader.integer("version");
  if (format != format_name) {
    reader.note(
        fail(ErrorCode::invalid_model, fmt::format("$.format: expected \"{}\", found {}",
                                                   format_name, nlohmann::json(format).dump())));
  } else if (version != format_version) {
    reader.note(fail(ErrorCode::invalid_model,
                     fmt::format("$.version: this program reads version {}, the plan is of version "
                                 "{}",
                                 format_version, version)));
  }
}

}  // namespace

std::string print_plan(const Plan& plan) {
  using Json = nlohmann::ordered_json;
  Json values = Json::array();
  for (const PlannedValue& value : plan.values) {
    values.push_back(
        {{"value", value.value}, {"constraint", value.constraint}, {"gain", value.gain.amount()}});
  }
  Json conversions = Json::array();
  for (const PlannedConversion& conversion : plan.conversions) {
    conversions.push_back({{"value", conversion.value}, {"users", conversion.users}});
  }
  const Json document = {{"format", format_name},         {"version", format_version},
                         {"scheme", plan.scheme},         {"options", plan.options},
                         {"gain_model", plan.gain_model}, {"objective", plan.objective.amount()},
                         {"values", std::move(values)},   {"conversions", std::move(conversions)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

Expected<Plan> parse_plan(std::string_view text) {
  QUADRANT_TRY(const nlohmann::json document, parse_json(text, depth_limit));
  ObjectReader reader(document, "$");
  check_format(reader);
  Plan plan;
  plan.scheme = reader.string("scheme");
  plan.options = reader.string("options");
  plan.gain_model = reader.string("gain_model");
  plan.objective = Gain{reader.integer("objective")};
  std::vector<ObjectReader> values = reader.objects("values");
  std::vector<ObjectReader> conversions = reader.objects("conversions");
  QUADRANT_CHECK(reader.finish());
  for (ObjectReader& value : values) {
    QUADRANT_TRY(plan.values.emplace_back(), read_value(value));
  }
  for (ObjectReader& conversion : conversions) {
    QUADRANT_TRY(plan.conversions.emplace_back(), read_conversion(conversion));
  }
  return plan;
}

}  // namespace quadrant::inline v0
