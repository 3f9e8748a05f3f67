#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "quadrant/recipe/documents.hpp"
#include "recipe/hash_text.hpp"
#include "recipe/json_reader.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::string_view sensitivity_format = "quadrant.sensitivity";
constexpr std::int64_t sensitivity_version = 2;

using Json = nlohmann::ordered_json;

Json to_json(const ValueAgreement& value) {
  const Agreement& sums = value.agreement;
  return {{"name", value.name},
          {"kind", value.kind},
          {"elements", sums.elements},
          {"equal", sums.equal},
          {"non_finite", sums.non_finite},
          {"nan", sums.nan},
          {"signal", sums.signal},
          {"approximation", sums.approximation},
          {"product", sums.product},
          {"noise", sums.noise},
          {"largest_error", sums.largest_error}};
}

Expected<ValueAgreement> read_agreement(ObjectReader& reader) {
  ValueAgreement value;
  value.name = reader.string("name");
  value.kind = reader.string("kind");
  value.agreement.elements = reader.count("elements");
  value.agreement.equal = reader.count("equal");
  value.agreement.non_finite = reader.count("non_finite");
  // Files of before do not say.
  if (reader.optional_member("nan") != nullptr) value.agreement.nan = reader.count("nan");
  value.agreement.signal = reader.real("signal");
  value.agreement.approximation = reader.real("approximation");
  value.agreement.product = reader.real("product");
  value.agreement.noise = reader.real("noise");
  value.agreement.largest_error = reader.real("largest_error");
  QUADRANT_CHECK(reader.finish());
  if (!value.agreement.is_possible()) {
    reader.refuse("elements", "no values agree with these counts and sums");
  }
  QUADRANT_CHECK(reader.finish());
  return value;
}

// JSON has no infinity, which squares of doubles may come to.
bool can_be_written(const std::vector<ValueAgreement>& outputs) {
  return std::ranges::all_of(outputs, [](const ValueAgreement& output) {
    const Agreement& sums = output.agreement;
    return std::isfinite(sums.signal) && std::isfinite(sums.approximation) &&
           std::isfinite(sums.product) && std::isfinite(sums.noise);
  });
}

}  // namespace

std::string print_sensitivity(const SensitivityCache& cache) {
  Json layers = Json::array();
  for (const auto& [name, layer] : cache.layers) {
    if (!can_be_written(layer.outputs)) continue;
    Json values = Json::array();
    for (const ValueAgreement& output : layer.outputs) values.push_back(to_json(output));
    layers.push_back({{"layer", name},
                      {"decision", print_hash(layer.decision)},
                      {"outputs", std::move(values)}});
  }
  const Json document{{"format", sensitivity_format},
                      {"version", sensitivity_version},
                      {"fingerprint", print_hash(cache.fingerprint)},
                      {"layers", std::move(layers)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Expected<SensitivityCache> parse_sensitivity(std::string_view text) {
  QUADRANT_TRY(const nlohmann::json document, parse_json(text));
  ObjectReader reader(document, "$");
  reader.check_format(sensitivity_format, sensitivity_version);
  SensitivityCache cache;
  cache.fingerprint = read_hash(reader, "fingerprint");
  for (ObjectReader& object : reader.objects("layers")) {
    const std::string name = object.string("layer");
    if (cache.layers.contains(name)) object.refuse("layer", "this layer is there already");
    SensitivityCache::Layer& layer = cache.layers[name];
    layer.decision = read_hash(object, "decision");
    for (ObjectReader& output : object.objects("outputs")) {
      QUADRANT_TRY(layer.outputs.emplace_back(), read_agreement(output));
    }
    QUADRANT_CHECK(object.finish());
  }
  QUADRANT_CHECK(reader.finish());
  return cache;
}

}  // namespace quadrant::inline v0
