#include <fmt/format.h>

#include "quadrant/report/tables.hpp"
#include "report/agreement.hpp"

namespace quadrant::inline v0 {

std::string to_string(std::span<const LayerSensitivity> layers) {
  using enum Table::Align;
  Table table({{"quantized alone"},
               {"SQNR", right},
               {"cosine", right},
               {"largest error", right},
               {"at output"}});
  for (const LayerSensitivity& layer : layers) {
    const ValueAgreement* worst = layer.worst();
    if (worst == nullptr) continue;
    table.add({layer.layer, format_sqnr(worst->agreement),
               fmt::format("{:.6f}", worst->agreement.cosine()),
               fmt::format("{:.4g}", worst->agreement.largest_error), worst->name});
  }
  return table.print();
}

Json to_json(std::span<const LayerSensitivity> layers) {
  Json list = Json::array();
  for (const LayerSensitivity& layer : layers) {
    Json outputs = Json::array();
    for (const ValueAgreement& output : layer.outputs) outputs.push_back(to_json(output));
    list.push_back({{"layer", layer.layer}, {"cached", layer.is_cached}, {"outputs", outputs}});
  }
  return list;
}

}  // namespace quadrant::inline v0
