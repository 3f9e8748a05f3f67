#include "quadrant/recipe/sensitivity_json.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "recipe/json_reader.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::string_view format_name = "quadrant.sensitivity";
constexpr std::int64_t format_version = 1;
constexpr std::size_t depth_limit = 6;  // study, layers, layer, outputs, output

using Json = nlohmann::ordered_json;

Json to_json(const ValueAgreement& value) {
  const Agreement& sums = value.agreement;
  return {{"name", value.name},
          {"kind", value.kind},
          {"elements", sums.elements},
          {"equal", sums.equal},
          {"non_finite", sums.non_finite},
          {"signal", sums.signal},
          {"approximation", sums.approximation},
          {"product", sums.product},
          {"noise", sums.noise},
          {"largest_error", sums.largest_error}};
}

Expected<ValueAgreement> read_value(ObjectReader& reader) {
  ValueAgreement value;
  value.name = reader.string("name");
  value.kind = reader.string("kind");
  value.agreement.elements = reader.count("elements");
  value.agreement.equal = reader.count("equal");
  value.agreement.non_finite = reader.count("non_finite");
  value.agreement.signal = reader.real("signal");
  value.agreement.approximation = reader.real("approximation");
  value.agreement.product = reader.real("product");
  value.agreement.noise = reader.real("noise");
  value.agreement.largest_error = reader.real("largest_error");
  QUADRANT_CHECK(reader.finish());
  return value;
}

// Sixteen hexadecimal digits: JSON's numbers are doubles to many programs.
std::uint64_t read_fingerprint(ObjectReader& reader) {
  const std::string text = reader.string("fingerprint");
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc() || stop != end) {
    reader.refuse("fingerprint", "must be a hexadecimal number");
  }
  return value;
}

}  // namespace

std::string print_sensitivity(const SensitivityCache& cache) {
  Json layers = Json::array();
  for (const auto& [name, outputs] : cache.layers) {
    Json values = Json::array();
    for (const ValueAgreement& output : outputs) values.push_back(to_json(output));
    layers.push_back({{"layer", name}, {"outputs", std::move(values)}});
  }
  const Json document{{"format", format_name},
                      {"version", format_version},
                      {"fingerprint", fmt::format("{:016x}", cache.fingerprint)},
                      {"layers", std::move(layers)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Expected<SensitivityCache> parse_sensitivity(std::string_view text) {
  QUADRANT_TRY(const nlohmann::json document, parse_json(text, depth_limit));
  ObjectReader reader(document, "$");
  reader.check_format(format_name, format_version);
  SensitivityCache cache;
  cache.fingerprint = read_fingerprint(reader);
  for (ObjectReader& layer : reader.objects("layers")) {
    std::vector<ValueAgreement>& outputs = cache.layers[layer.string("layer")];
    for (ObjectReader& output : layer.objects("outputs")) {
      QUADRANT_TRY(ValueAgreement value, read_value(output));
      outputs.push_back(std::move(value));
    }
    QUADRANT_CHECK(layer.finish());
  }
  QUADRANT_CHECK(reader.finish());
  return cache;
}

}  // namespace quadrant::inline v0
