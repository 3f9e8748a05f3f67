#include "io/openvino/windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/openvino/failure.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

struct AutoPad {
  std::string_view openvino;
  std::string_view onnx;
};
constexpr std::array auto_pads{AutoPad{"explicit", "NOTSET"}, AutoPad{"notset", "NOTSET"},
                               AutoPad{"same_upper", "SAME_UPPER"},
                               AutoPad{"same_lower", "SAME_LOWER"}, AutoPad{"valid", "VALID"}};

/// As many as there are axes; `fallback` for an empty list.
std::vector<std::int64_t> sized(std::vector<std::int64_t> values, std::size_t rank,
                                std::int64_t fallback, std::string_view name) {
  if (values.empty()) values.assign(rank, fallback);
  if (values.size() != rank) {
    invalid(fmt::format("{} {}, of {} axes", values.size(), name, rank));
  }
  return values;
}

}  // namespace

Attributes raised_windows(RaisedLayer& layer, std::size_t rank, bool has_dilations) {
  Attributes attributes;
  attributes.set("strides", sized(layer.integers("strides"), rank, 1, "strides"));
  if (has_dilations) {
    attributes.set("dilations", sized(layer.integers("dilations"), rank, 1, "dilations"));
  }
  auto pads = sized(layer.integers("pads_begin"), rank, 0, "pads_begin");
  const auto after = sized(layer.integers("pads_end"), rank, 0, "pads_end");
  const std::string given = layer.text("auto_pad", "explicit");
  const auto* const found = std::ranges::find(auto_pads, given, &AutoPad::openvino);
  if (found == auto_pads.end()) invalid(fmt::format("auto_pad=\"{}\"", printable(given)));
  if (found->onnx == "NOTSET") {
    pads.insert(pads.end(), after.begin(), after.end());
    attributes.set("pads", std::move(pads));
  } else {
    attributes.set("auto_pad", std::string(found->onnx));
  }
  return attributes;
}

std::vector<std::int64_t> list_of(const LoweredNode& node, std::string_view name, std::size_t size,
                                  std::int64_t fallback) {
  return sized(node.attribute_or<std::vector<std::int64_t>>(name, {}), size, fallback, name);
}

std::string_view automatic_padding(const Data& data) {
  const auto found = std::ranges::find(data, "auto_pad", &Data::value_type::first);
  return found == data.end() ? std::string_view() : found->second;
}

Data lowered_windows(const LoweredNode& node, std::size_t rank, bool has_dilations) {
  Data data{{"strides", text_of(list_of(node, "strides", rank, 1))}};
  if (has_dilations) data.emplace_back("dilations", text_of(list_of(node, "dilations", rank, 1)));
  const auto pads = list_of(node, "pads", 2 * rank, 0);
  data.emplace_back("pads_begin", text_of(std::span(pads).first(rank)));
  data.emplace_back("pads_end", text_of(std::span(pads).last(rank)));
  const auto given = node.attribute_or<std::string>("auto_pad", "NOTSET");
  const auto* const found =
      std::ranges::find(auto_pads, given.empty() ? "NOTSET" : given, &AutoPad::onnx);
  if (found == auto_pads.end()) invalid(fmt::format("auto_pad {}", printable(given)));
  data.emplace_back("auto_pad", found->openvino);
  return data;
}

}  // namespace quadrant::inline v0::openvino_ir
