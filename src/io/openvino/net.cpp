#include "io/openvino/net.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "io/openvino/element.hpp"
#include "io/openvino/failure.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

constexpr std::size_t most_dimensions = 64;
constexpr std::int64_t open_dimension = -1;  // in a port, and in text besides `?`

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// The parts of `text` between commas, without blanks around them; none for an empty text.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  text = trimmed(text);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    parts.push_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) parts.emplace_back();
  }
  return parts;
}

/// Without dimensions the rank may be 0, or not known: the file does not tell.
Shape shape_of_port(const pugi::xml_node& port) {
  if (!port.child("dim")) return Shape{};
  std::vector<Extent> extents;
  for (const pugi::xml_node& dim : port.children("dim")) {
    const auto extent = parse_integer(trimmed(dim.text().get()));
    if (!extent || *extent < open_dimension || *extent > largest_extent) {
      invalid(fmt::format("a port with a dimension '{}'", printable(dim.text().get())));
    }
    extents.push_back(*extent == open_dimension ? Extent::open() : Extent(*extent));
    if (extents.size() > most_dimensions) invalid("a port of more than 64 dimensions");
  }
  return Shape(std::move(extents));
}

std::vector<Port> read_ports(const pugi::xml_node& side) {
  std::vector<Port> ports;
  std::unordered_set<std::int64_t> ids;
  for (const pugi::xml_node& node : side.children("port")) {
    Port port;
    port.id = required_integer(node, "id");
    if (!ids.insert(port.id).second) invalid(fmt::format("two ports {}", port.id));
    port.type.element = element_of_precision(node.attribute("precision").as_string());
    port.type.shape = shape_of_port(node);
    port.names = split_names(node.attribute("names").as_string());
    ports.push_back(std::move(port));
  }
  return ports;
}

/// By id: where a port is among the layer's.
using PortIndex = std::unordered_map<std::int64_t, std::size_t>;

PortIndex index_of(const std::vector<Port>& ports) {
  PortIndex index;
  for (std::size_t i = 0; i < ports.size(); ++i) index.emplace(ports[i].id, i);
  return index;
}

std::optional<std::size_t> find_port(const PortIndex& ports, std::int64_t id) {
  const auto found = ports.find(id);
  return found == ports.end() ? std::nullopt : std::optional(found->second);
}

Layer read_layer(const pugi::xml_node& node) {
  Layer layer;
  layer.node = node;
  layer.name = node.attribute("name").as_string();
  layer.type = node.attribute("type").as_string();
  layer.version = node.attribute("version").as_string();
  layer.id = required_integer(node, "id");
  if (layer.type.empty()) invalid("a layer without a type");
  if (layer.version.find('.') != std::string::npos) {  // kinds of what is carried end it with one
    invalid(fmt::format("version=\"{}\"", printable(layer.version)));
  }
  layer.inputs = read_ports(node.child("input"));
  layer.outputs = read_ports(node.child("output"));
  layer.sources.resize(layer.inputs.size());
  return layer;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): the end is given
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

std::int64_t required_integer(const pugi::xml_node& node, const char* attribute) {
  const std::string_view text = node.attribute(attribute).as_string();
  const auto value = parse_integer(text);
  if (!value) {
    invalid(fmt::format("<{}> with '{}' for its attribute '{}', which is an integer",
                        printable(node.name()), printable(text), attribute));
  }
  return *value;
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  std::string name;
  const auto finish = [&] {
    if (!name.empty()) names.push_back(std::move(name));
    name.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ',') {
      name += text[++i];
    } else if (text[i] == ',') {
      finish();
    } else {
      name += text[i];
    }
  }
  finish();
  return names;
}

std::string join_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ',';
    for (const char c : name) {
      if (c == ',') text += '\\';
      text += c;
    }
  }
  return text;
}

std::optional<std::vector<std::int64_t>> parse_integers(std::string_view text) {
  std::vector<std::int64_t> values;
  for (const std::string_view part : parts_of(text)) {
    // Some converters write lists of integers as reals: 1.0,1.0.
    const std::size_t point = part.find('.');
    const bool is_whole =
        part.find_first_not_of('0', std::min(point, part.size() - 1) + 1) == std::string_view::npos;
    const auto value =
        parse_integer(point == std::string_view::npos || !is_whole ? part : part.substr(0, point));
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<Shape> parse_shape(std::string_view text) {
  if (trimmed(text) == "...") return Shape{};
  std::vector<Extent> extents;
  for (const std::string_view part : parts_of(text)) {
    const bool is_open = part == "?" || part.find("..") != std::string_view::npos;
    const auto extent = is_open ? std::optional(open_dimension) : parse_integer(part);
    if (!extent || *extent < open_dimension || *extent > largest_extent) return std::nullopt;
    extents.push_back(*extent == open_dimension ? Extent::open() : Extent(*extent));
    if (extents.size() > most_dimensions) return std::nullopt;
  }
  return Shape(std::move(extents));
}

std::string label_of(const Layer& layer) {
  return fmt::format("layer {} '{}' ({})", layer.id, layer.name, layer.type);
}

Net::Net(std::string_view xml) {
  const pugi::xml_parse_result parsed = document_.load_buffer(
      xml.data(), xml.size(), pugi::parse_default | pugi::parse_ws_pcdata_single);
  if (!parsed) {
    invalid(fmt::format("not well-formed XML: {}", parsed.description()),
            {.offset = static_cast<std::uint64_t>(parsed.offset)});
  }
  const pugi::xml_node net = document_.child("net");
  if (!net) invalid("not an IR: there is no element <net>");
  version_ = net.attribute("version").as_int();
  if (version_ != 10 && version_ != 11) {
    invalid(
        fmt::format("IR of version '{}', where 10 and 11 are known: OpenVINO's own converter "
                    "writes these",
                    printable(net.attribute("version").as_string())));
  }
  name_ = net.attribute("name").as_string();
  read_layers(net);
  read_edges(net);
  sort();
  if (version_ == 10) widen();
}

std::vector<pugi::xml_node> Net::extras() const {
  std::vector<pugi::xml_node> extras;
  for (const pugi::xml_node& child : document_.child("net").children()) {
    const std::string_view name = child.name();
    if (child.type() == pugi::node_element && name != "layers" && name != "edges") {
      extras.push_back(child);
    }
  }
  return extras;
}

void Net::read_layers(const pugi::xml_node& net) {
  for (const pugi::xml_node& node : net.child("layers").children("layer")) {
    const std::string name = node.attribute("name").as_string();
    layers_.push_back(in_node(name, [&] { return read_layer(node); }));
  }
}

void Net::read_edges(const pugi::xml_node& net) {
  std::unordered_map<std::int64_t, std::size_t> by_id;
  std::vector<PortIndex> inputs;
  std::vector<PortIndex> outputs;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    inputs.push_back(index_of(layers_[i].inputs));
    outputs.push_back(index_of(layers_[i].outputs));
    if (!by_id.emplace(layers_[i].id, i).second) {
      invalid(fmt::format("two layers {}", layers_[i].id), {.node = layers_[i].name});
    }
  }
  for (const pugi::xml_node& edge : net.child("edges").children("edge")) {
    const auto layer_at = [&](const char* attribute) {
      const std::int64_t id = required_integer(edge, attribute);
      const auto found = by_id.find(id);
      if (found == by_id.end()) invalid(fmt::format("an edge with a layer {}: there is none", id));
      return found->second;
    };
    const std::size_t from = layer_at("from-layer");
    const std::size_t to_layer = layer_at("to-layer");
    Layer& to = layers_[to_layer];
    const std::int64_t from_port = required_integer(edge, "from-port");
    const std::int64_t to_port = required_integer(edge, "to-port");
    const auto output = find_port(outputs[from], from_port);
    const auto input = find_port(inputs[to_layer], to_port);
    if (!output) {
      invalid(fmt::format("an edge from output port {}: there is none", from_port),
              {.node = layers_[from].name});
    }
    if (!input) {
      invalid(fmt::format("an edge to input port {}: there is none", to_port), {.node = to.name});
    }
    if (to.sources[*input]) {
      invalid(fmt::format("two edges to input port {}", to_port), {.node = to.name});
    }
    to.sources[*input] = OutputRef{from, *output};
  }
}

void Net::widen() {
  const bool has_bodies = std::ranges::any_of(layers_, [](const Layer& layer) {
    return layer.node.child("body") || layer.node.child("then_body");
  });
  if (has_bodies) return;
  stores_halves_ = true;
  for (Layer& layer : layers_) {
    for (Port& port : layer.outputs) {
      if (port.type.element == ElementType::float16) port.type.element = ElementType::float32;
    }
  }
}

void Net::sort() {
  std::vector<std::size_t> missing(layers_.size(), 0);
  std::vector<std::vector<std::size_t>> users(layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    for (const auto& source : layers_[i].sources) {
      if (!source) continue;
      users[source->layer].push_back(i);
      ++missing[i];
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (missing[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    order_.push_back(next);
    for (const std::size_t user : users[next]) {
      if (--missing[user] == 0) ready.push(user);
    }
  }
  if (order_.size() == layers_.size()) return;
  const auto stuck = std::ranges::find_if(missing, [](std::size_t count) { return count > 0; });
  invalid("the edges form a cycle",
          {.node = layers_[static_cast<std::size_t>(stuck - missing.begin())].name});
}

}  // namespace quadrant::inline v0::openvino_ir
