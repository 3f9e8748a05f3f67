#include "quantize_and_write.hpp"

#include <array>
#include <filesystem>
#include <utility>

#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "require.hpp"
#include "temporary_folder.hpp"

namespace fuzz {
namespace {

using namespace quadrant;

const test::TemporaryFolder& folder() {
  static const test::TemporaryFolder folder;
  static const std::string data_file = folder.write("data.bin", std::string(64, '\x3f'));
  return folder;
}

/// Takes a few bits at a time.
class Choices {
 public:
  explicit Choices(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t value = bits_ % bound;
    bits_ /= bound;
    return value;
  }

 private:
  std::uint64_t bits_;
};

std::optional<bool> maybe(Choices& choices) {
  const std::uint64_t choice = choices.below(3);
  return choice == 0 ? std::nullopt : std::optional<bool>(choice == 1);
}

// Some of them do not go together: then there is no registry.
WeightOnlyOptions weight_only_options(Choices& choices) {
  constexpr std::array block_sizes{1, 2, 3, 16, 32};
  WeightOnlyOptions options;
  options.bits = choices.below(2) == 0 ? 8 : 4;
  options.symmetry = static_cast<Symmetry>(choices.below(3));
  options.granularity = static_cast<Granularity::Kind>(choices.below(3));
  options.block_size = block_sizes.at(choices.below(block_sizes.size()));
  if (const std::uint64_t clip = choices.below(4); clip < 3) options.clip = static_cast<Clip>(clip);
  options.narrow_range = maybe(choices);
  options.unsigned_codes = maybe(choices);
  options.form = static_cast<WeightOnlyOptions::Form>(choices.below(3));
  return options;
}

}  // namespace

const std::string& model_file(std::span<const std::byte> bytes) {
  static std::string path;
  path = folder().write("in.onnx", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return path;
}

std::optional<Written> write_and_read(const Graph& graph, std::uint64_t choices) {
  const std::string path = folder() / "out.onnx";
  const OnnxWriteOptions options{.external_from = choices % 4 == 0 ? 16 : UINT64_MAX,
                                 .matmul_nbits = choices / 4 % 2 == 1,
                                 .qoperators = choices >> 62U == 3};
  const auto report = write_onnx(graph, path, options);
  if (!report) return {};
  // Data files have names of their own: the last one goes when there is another.
  static std::string data_file;
  if (report->external_file != data_file) {
    if (!data_file.empty()) std::filesystem::remove(folder() / data_file);
    data_file = report->external_file;
  }
  auto again = read_onnx(path);
  require_value(again, "what was written cannot be read", [&] { return print_graph(graph); });
  require_value(verify(*again), "what was written is not valid",
                [&] { return print_graph(*again); });
  return Written{folder().read("out.onnx"), *std::move(again)};
}

void require_reasons(const Graph& graph, const Analysis& analysis) {
  for (const Explanation& explanation : explain_all(graph, analysis.registry, analysis)) {
    require(!explanation.reason.empty(), "a value without a reason",
            [&] { return to_string(explanation); });
  }
}

std::optional<Graph> quantize_and_write(const Graph& graph, std::uint64_t choices) {
  Choices chosen(choices / 8);
  const auto registry = weight_only_registry(weight_only_options(chosen));
  if (!registry) return {};
  const UnitGain unit;
  QuantizeOptions options;
  if (chosen.below(2) == 1) options.gains = &unit;
  if (chosen.below(2) == 1) options.non_finite = NonFinitePolicy::leave_float;

  const auto analysis = analyze(graph, *registry, options);
  if (!analysis) return {};
  require_reasons(graph, *analysis);
  auto result = quantize(graph, *registry, options);
  if (!result) return {};
  require_value(verify(result->graph), "the quantized graph is invalid",
                [&] { return print_graph(graph) + print_graph(result->graph); });
  (void)write_and_read(result->graph, choices);
  return std::move(result->graph);
}

}  // namespace fuzz
