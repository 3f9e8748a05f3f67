// The four phases with a scheme of one line, on a graph of text.
#include <compare>
#include <optional>
#include <quadrant/engine/macros.hpp>
#include <quadrant/engine/quantize.hpp>
#include <quadrant/ir/graph.hpp>
#include <quadrant/ir/text.hpp>
#include <string>

struct Nothing {
  friend auto operator<=>(const Nothing&, const Nothing&) = default;
  std::size_t hash() const { return 0; }
  std::string print() const { return "nothing"; }
  static std::optional<Nothing> parse(std::string_view) { return Nothing{}; }
};

class Idle final : public quadrant::Scheme {
 public:
  QUADRANT_SCHEME(Idle, Nothing, "idle")
  std::string describe() const override { return "does nothing"; }
};

QUADRANT_METHODS(Idle) {}
QUADRANT_DEQUANTIZER(Idle)(quadrant::Value quantized, quadrant::RewriteContext&) const {
  return quantized;
}

int main() {
  const auto graph = quadrant::parse_graph(
      "%x: tensor<2xf32> = input()\n%y: tensor<2xf32> = onnx.Relu(%x)\noutput(%y)\n");
  const auto registry = quadrant::RegistryBuilder::of(Idle()).freeze();
  if (!graph || !registry) return 1;
  const auto result = quadrant::quantize(*graph, *registry);
  return result && result->analysis.plan.values.empty() ? 0 : 1;
}
