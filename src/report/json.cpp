#include "report/json.hpp"

namespace quadrant::inline v0 {

std::string text_of(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

Json text_or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

Json to_json(Extent extent) { return extent.is_known() ? Json(extent.value()) : Json(nullptr); }

Json to_json(const TensorType& type) {
  Json json = {{"type", to_string(type)}, {"element", to_string(type.element)}};
  if (type.shape.is_ranked()) {
    Json& shape = json["shape"] = Json::array();
    for (const Extent extent : type.shape.extents()) shape.push_back(to_json(extent));
  }
  return json;
}

}  // namespace quadrant::inline v0
