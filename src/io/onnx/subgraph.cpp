#include "io/onnx/subgraph.hpp"

#include <algorithm>
#include <unordered_set>

#include "io/onnx/failure.hpp"
#include "io/onnx/fields.hpp"
#include "io/onnx/tensor.hpp"

namespace quadrant::inline v0::onnx {
namespace {

using NameSet = std::unordered_set<std::string_view>;

constexpr int deepest = 64;

/// Walks graphs from the outside inwards. A name that a graph defines anywhere is its own: ONNX
/// forbids to use an outer value first and then define another of the same name.
class Walker {
 public:
  Walker(std::string_view file, SubgraphNames& names) : file_(file), names_(names) {}

  NameSet graph(Range range, int depth) {
    if (depth > deepest) {
      invalid(fmt::format("subgraphs are nested deeper than {}", deepest),
              {.offset = range.offset});
    }
    NameSet used;
    NameSet defined;
    for (Message message(file_, range); message.next();) {
      switch (message.field()) {
        case graph::node:
          node(message.payload(), depth, used, defined);
          break;
        case graph::input:
          define(name_in(message.payload(), value_info::name), defined);
          break;
        case graph::output:
          use(name_in(message.payload(), value_info::name), used);
          break;
        case graph::initializer:
          define(tensor(message.payload()), defined);
          break;
        case graph::sparse_initializer:
          define(sparse_tensor(message.payload()), defined);
          break;
        default:
          break;
      }
    }
    std::erase_if(used, [&](std::string_view name) { return defined.contains(name); });
    return used;
  }

  void attribute(Range range, int depth, NameSet& used) {
    for (Message message(file_, range); message.next();) {
      switch (message.field()) {
        case attribute::g:
        case attribute::graphs:
          used.merge(graph(message.payload(), depth + 1));
          break;
        case attribute::t:
        case attribute::tensors:
          tensor(message.payload());
          break;
        case attribute::sparse_tensor:
        case attribute::sparse_tensors:
          sparse_tensor(message.payload());
          break;
        default:
          break;
      }
    }
  }

 private:
  void node(Range range, int depth, NameSet& used, NameSet& defined) {
    for (Message message(file_, range); message.next();) {
      switch (message.field()) {
        case node::input:
          use(message.text(), used);
          break;
        case node::output:
          define(message.text(), defined);
          break;
        case node::name:
          if (const std::string_view name = message.text(); !name.empty()) {
            names_.operations.push_back(name);
          }
          break;
        case node::attribute:
          attribute(message.payload(), depth, used);
          break;
        default:
          break;
      }
    }
  }

  void define(std::string_view name, NameSet& defined) {
    if (!name.empty() && defined.insert(name).second) names_.defined.push_back(name);
  }

  static void use(std::string_view name, NameSet& used) {
    if (!name.empty()) used.insert(name);
  }

  std::string_view name_in(Range range, std::uint32_t field) {
    std::string_view name;
    for (Message message(file_, range); message.next();) {
      if (message.field() == field) name = message.text();
    }
    return name;
  }

  std::string_view tensor(Range range) {
    const TensorOutline outline = outline_of_tensor(file_, range);
    names_.external_data = names_.external_data || outline.external;
    return outline.name;
  }

  std::string_view sparse_tensor(Range range) {
    std::string_view name;
    for (Message message(file_, range); message.next();) {
      if (message.field() == sparse_tensor::values) name = tensor(message.payload());
      if (message.field() == sparse_tensor::indices) tensor(message.payload());
    }
    return name;
  }

  std::string_view file_;
  SubgraphNames& names_;
};

/// A set's order is not that of the file, and captures become operands: they are sorted.
void add_captures(const NameSet& used, SubgraphNames& names) {
  std::vector<std::string_view>& captured = names.captured;
  captured.insert(captured.end(), used.begin(), used.end());
  std::ranges::sort(captured);
  const auto repeated = std::ranges::unique(captured);
  captured.erase(repeated.begin(), repeated.end());
}

}  // namespace

void collect_names(std::string_view file, Range range, SubgraphNames& names) {
  Walker walker(file, names);
  add_captures(walker.graph(range, 1), names);
}

void collect_attribute_names(std::string_view file, Range range, SubgraphNames& names) {
  Walker walker(file, names);
  NameSet used;
  walker.attribute(range, 0, used);
  add_captures(used, names);
}

}  // namespace quadrant::inline v0::onnx
