#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "quadrant/ir/operations.hpp"
#include "quadrant/report/tables.hpp"
#include "report/json.hpp"
#include "report/terminal_text.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

struct KernelsOf {
  std::string_view name;
  std::string_view key;
  PairingRuntimes runtimes;
  PairCount PairedProduct::* pairs;
};

constexpr std::array all_kernels{
    KernelsOf{"ONNX Runtime", "onnxruntime", {.openvino = false}, &PairedProduct::onnxruntime},
    KernelsOf{"OpenVINO", "openvino", {.onnxruntime = false}, &PairedProduct::openvino}};

struct Totals {
  std::uint64_t products = 0;
  std::uint64_t saturating = 0;
  PairCount pairs;
};

Totals totals_of(const KernelsOf& runtime, std::span<const PairedProduct> products) {
  Totals totals;
  for (const PairedProduct& product : products) {
    const PairCount& pairs = product.*runtime.pairs;
    totals.products += pairs.pairs > 0 ? 1U : 0U;
    totals.saturating += pairs.inexact > 0 ? 1U : 0U;
    totals.pairs.pairs += pairs.pairs;
    totals.pairs.inexact += pairs.inexact;
  }
  return totals;
}

double inexact_part(const PairCount& pairs) {
  return pairs.pairs == 0 ? 0
                          : static_cast<double>(pairs.inexact) / static_cast<double>(pairs.pairs);
}

double worst_part(const PairedProduct& product) {
  return std::max(inexact_part(product.onnxruntime), inexact_part(product.openvino));
}

std::string percent(const PairCount& pairs) {
  return fmt::format("{:.3g} %", 100 * inexact_part(pairs));
}

// Of those that have most, the products that can saturate.
std::vector<PairedProduct> saturating(std::span<const PairedProduct> products) {
  std::vector<PairedProduct> found;
  std::ranges::copy_if(products, std::back_inserter(found), &PairedProduct::can_saturate);
  std::ranges::stable_sort(found, std::ranges::greater(), worst_part);
  return found;
}

double mean_unused(std::span<const PairedProduct> products) {
  double sum = 0;
  for (const PairedProduct& product : products) sum += product.unused_range_db;
  return products.empty() ? 0 : sum / static_cast<double>(products.size());
}

}  // namespace

std::string saturation_remark(const GraphView& graph, std::span<const PairedProduct> products) {
  if (products.empty()) return {};
  const std::vector<PairedProduct> bad = saturating(products);
  if (bad.empty()) {
    return fmt::format(
        "sums of two products of codes stay in 16 bits, as kernels on x86 without VNNI have them: "
        "weights lose at most {:.1f} dB by it (mean of {})",
        mean_unused(products), counted(products.size(), "operation"));
  }
  std::vector<std::string> where;
  for (const KernelsOf& runtime : all_kernels) {
    if (totals_of(runtime, bad).saturating > 0) where.emplace_back(runtime.name);
  }
  return fmt::format(
      "on x86 without VNNI, {} of {} of codes can saturate at 16 bits in {}, '{}' the "
      "most: results are wrong there; quantized again from the float model with saturation "
      "avoided, "
      "the default, it cannot",
      bad.size(), counted(products.size(), "product"), fmt::join(where, " and "),
      printable(label(graph, bad.front().node)));
}

std::string to_string(const GraphView& graph, std::span<const PairedProduct> products) {
  if (products.empty()) return {};
  using enum Table::Align;
  Table totals({{"two products in 16 bits"},
                {"products", right},
                {"can saturate", right},
                {"pairs of weights that can", right}});
  for (const KernelsOf& runtime : all_kernels) {
    const Totals all = totals_of(runtime, products);
    totals.add({std::string(runtime.name), fmt::to_string(all.products),
                fmt::to_string(all.saturating), percent(all.pairs)});
  }
  std::string text = fmt::format("{}\n  {}\n", totals.print(), saturation_remark(graph, products));
  constexpr std::size_t most = 10;
  const std::vector<PairedProduct> bad = saturating(products);
  if (bad.empty()) return text;
  Table worst({{"operation"}, {"weight"}, {"ONNX Runtime", right}, {"OpenVINO", right}});
  for (std::size_t i = 0; i < std::min(most, bad.size()); ++i) {
    worst.add({std::string(label(graph, bad[i].node)), bad[i].weight, percent(bad[i].onnxruntime),
               percent(bad[i].openvino)});
  }
  text += '\n' + worst.print();
  if (bad.size() > most) text += fmt::format("  and {} more\n", bad.size() - most);
  return text;
}

std::string pairing_note(const GraphView& graph, NodeId node) {
  std::vector<Use> readers;
  if (const Product* const product = find_product({&graph, node})) {
    readers.push_back({.user = node, .operand = product->weight});
  } else if (graph.constant(node) != nullptr) {
    const auto uses = graph.uses(node);
    readers.assign(uses.begin(), uses.end());
  }
  std::vector<std::string_view> whose;
  for (const KernelsOf& kernels : all_kernels) {
    const bool is_paired = std::ranges::any_of(readers, [&](const Use& use) {
      const NodeRef reader{&graph, use.user};
      const Value weight = reader.operand(use.operand);
      const Value source = code_source(graph, weight);
      if (find_product(reader) == nullptr || source.is_absent() ||
          graph.constant(source.node) == nullptr) {
        return false;
      }
      return !pair_orders(reader, use.operand, graph.type(weight).shape, kernels.runtimes).empty();
    });
    if (is_paired) whose.push_back(kernels.name);
  }
  if (whose.empty()) return {};
  return fmt::format(
      "on x86 without VNNI, {} add products of codes of 8 bits two by two in 16 bits: whether its "
      "weights keep them there, `saturation` says",
      fmt::join(whose, " and "));
}

Json to_json(std::span<const PairedProduct> products, const GraphView& graph) {
  Json list = Json::array();
  for (const PairedProduct& product : products) {
    Json json = {{"operation", label(graph, product.node)},
                 {"weight", product.weight},
                 {"unused_range_db", product.unused_range_db}};
    for (const KernelsOf& runtime : all_kernels) {
      const PairCount& pairs = product.*runtime.pairs;
      json[runtime.key] = {{"pairs", pairs.pairs}, {"inexact", pairs.inexact}};
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace quadrant::inline v0
