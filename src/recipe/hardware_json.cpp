#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "quadrant/recipe/documents.hpp"
#include "recipe/json_reader.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::string_view hardware_format = "quadrant.hardware";
constexpr std::int64_t hardware_version = 1;

}  // namespace

std::string print_hardware(const HardwareProfile& profile) {
  using Json = nlohmann::ordered_json;
  Json json{{"format", hardware_format}, {"version", hardware_version}, {"name", profile.name}};
  if (!profile.description.empty()) json["description"] = profile.description;
  for (const HardwareNumber& number : hardware_numbers()) {
    const double value = profile.*number.member;
    if (value != 0 || !number.may_be_zero) json[std::string(number.key)] = value;
  }
  json["folds_constants"] = profile.folds_constants;
  json["sums_in_32_bits"] = profile.sums_in_32_bits;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

Expected<HardwareProfile> parse_hardware(std::string_view text) {
  QUADRANT_TRY(const nlohmann::json document, parse_json(text));
  ObjectReader reader(document, "$");
  reader.check_format(hardware_format, hardware_version);
  HardwareProfile profile;
  profile.name = reader.string("name");
  if (reader.optional_member("description") != nullptr) {
    profile.description = reader.string("description");
  }
  for (const HardwareNumber& number : hardware_numbers()) {
    const std::string key(number.key);
    if (number.may_be_zero && reader.optional_member(key.c_str()) == nullptr) continue;
    profile.*number.member = reader.real(key.c_str());
  }
  for (const auto& [key, flag] : {std::pair{"folds_constants", &profile.folds_constants},
                                  std::pair{"sums_in_32_bits", &profile.sums_in_32_bits}}) {
    if (reader.optional_member(key) != nullptr) *flag = reader.boolean(key);
  }
  QUADRANT_CHECK(reader.finish());
  if (auto status = check(profile); !status) {
    return fail(ErrorCode::invalid_model, "$." + std::move(status).error().message);
  }
  return profile;
}

}  // namespace quadrant::inline v0
