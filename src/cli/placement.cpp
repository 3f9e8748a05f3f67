// quadrant placement MODEL: where a model can run, and what loading it costs there.
#include "quadrant/targets/placement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/report/tables.hpp"
#include "report/terminal_text.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {
namespace {

/// A model that was read, and where it can run.
struct PlacedModel {
  std::string path;
  Graph graph;
  std::uint64_t bytes = 0;
  Placement placement;
  std::vector<PairedProduct> paired;
};

bool is_quantized(const PlacedModel& model) {
  return model.placement.form == ModelForm::quantized || model.placement.form == ModelForm::mixed;
}

bool same_letters(std::string_view a, std::string_view b) {
  return a.size() == b.size() && edit_distance(a, b, 0) == 0;
}

Expected<RuntimeProfile> find_profile(std::string_view name) {
  const std::vector<RuntimeProfile> all = snpe_runtimes();
  std::vector<std::string_view> names;
  for (const RuntimeProfile& profile : all) {
    if (same_letters(name, profile.name)) return profile;
    names.push_back(profile.name);
  }
  return fail(ErrorCode::usage,
              fmt::format("--runtime: there is no runtime '{}': {} are known{}", name,
                          fmt::join(names, ", "), did_you_mean(name, names)));
}

// What --hta may name: kinds of the models' operations, and those that are taken by default.
std::set<std::string> known_kinds(const std::vector<const Graph*>& graphs,
                                  const std::vector<std::string>& defaults) {
  std::set<std::string> kinds(defaults.begin(), defaults.end());
  for (const Graph* graph : graphs) {
    for (std::uint32_t i = 0; i < graph->index_bound(); ++i) {
      const NodeId node = graph->node_at(i);
      if (node.is_valid()) kinds.emplace(graph->kind(node));
    }
  }
  return kinds;
}

Expected<void> check_kinds(const std::vector<std::string>& wanted,
                           const std::set<std::string>& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  for (const std::string& kind : wanted) {
    if (known.contains(kind)) continue;
    return fail(ErrorCode::usage,
                fmt::format("--hta: the model has no operation of the kind '{}'{}", kind,
                            did_you_mean(kind, names)));
  }
  return {};
}

// Names change when a model is quantized, shapes do not.
std::vector<std::string> input_shapes(const Graph& graph) {
  std::vector<std::string> shapes;
  for (const NodeId input : graph.inputs()) {
    shapes.push_back(to_string(graph.type({input, 0}).shape));
  }
  std::ranges::sort(shapes);
  return shapes;
}

std::string print_file(const PlacedModel& model) {
  const std::string sums = to_string(model.graph, model.paired);
  return fmt::format("{}  {}\n\n{}{}{}", printable(model.path), format_bytes(model.bytes),
                     to_string(model.placement), sums.empty() ? "" : "\n", sums);
}

Json file_json(const PlacedModel& model) {
  return {{"model", model.path},
          {"file_bytes", model.bytes},
          {"placement", quadrant::to_json(model.placement, model.graph)},
          {"sums_in_16_bits", quadrant::to_json(model.paired, model.graph)}};
}

class Place final : public Command {
 public:
  Place()
      : Command({.name = "placement",
                 .about = "Show where a model can run, and what loading costs there"}) {}

  void declare(CLI::App& command) override {
    add_model(command, model_);
    CLI::Option* quantized = command.add_option(
        "--quantized", quantized_, "The same model, quantized: which of the two to ship");
    quantized->type_name("MODEL");
    add_value(command, "--float", float_, "MODEL",
              "The same model in floats: which of the two to ship")
        ->excludes(quantized);
    add_value(command, "--runtime", runtimes_, "NAME",
              "CPU, GPU, DSP or AIP (default: all of them). Repeatable")
        ->allow_extra_args(false);
    add_value(command, "--throughput", throughput_, "X",
              "Elements that a device converts in a second, for the estimate of time")
        ->capture_default_str();
    add_value(command, "--hta", hta_, "KIND,...",
              "Kinds of operations that HTA takes instead of those that are assumed")
        ->delimiter(',')
        ->allow_extra_args(false);
    declare_json(command, json_);
    command.footer(
        "Examples:\n"
        "  quadrant placement model.onnx\n"
        "  quadrant placement model.onnx --quantized model.int8.onnx --runtime CPU --runtime DSP");
  }

  Expected<void> run(Console& console) override {
    QUADRANT_TRY(PlacementOptions options, make_options());
    QUADRANT_TRY(PlacedModel model, read(model_, console));
    std::optional<PlacedModel> other;
    if (!quantized_.empty() || !float_.empty()) {
      QUADRANT_TRY(other, read(quantized_.empty() ? float_ : quantized_, console));
    }
    QUADRANT_CHECK(use_kinds(options, model, other));
    QUADRANT_CHECK(place_on(options, model));
    if (other) QUADRANT_CHECK(place_on(options, *other));
    std::optional<FileChoice> choice;
    if (other) {
      QUADRANT_TRY(choice, choose(model, *other, console));
    }
    show(model, other, choice, console);
    return {};
  }

 private:
  [[nodiscard]] Expected<PlacementOptions> make_options() const {
    PlacementOptions options;
    options.elements_per_second = throughput_;
    if (!runtimes_.empty()) options.runtimes.clear();
    for (const std::string& name : runtimes_) {
      QUADRANT_TRY(RuntimeProfile profile, find_profile(name));
      if (std::ranges::find(options.runtimes, profile) != options.runtimes.end()) {
        return fail(ErrorCode::usage, fmt::format("--runtime: '{}' is there twice", name));
      }
      options.runtimes.push_back(std::move(profile));
    }
    // Mistakes in the call show before a model is read.
    QUADRANT_CHECK(place(Graph(), options));
    return options;
  }

  static Expected<PlacedModel> read(const std::string& path, Console& console) {
    PlacedModel model;
    model.path = path;
    QUADRANT_TRY(model.graph, read_model(path, console.context()));
    model.bytes = model_bytes(path, model.graph);
    return model;
  }

  [[nodiscard]] Expected<void> use_kinds(PlacementOptions& options, const PlacedModel& model,
                                         const std::optional<PlacedModel>& other) const {
    if (hta_.empty()) return {};
    std::vector<const Graph*> graphs{&model.graph};
    if (other) graphs.push_back(&other->graph);
    bool is_used = false;
    for (RuntimeProfile& profile : options.runtimes) {
      if (!profile.split) continue;
      QUADRANT_CHECK(check_kinds(hta_, known_kinds(graphs, profile.split->takes)));
      profile.split->takes = hta_;
      is_used = true;
    }
    if (is_used) return {};
    return fail(ErrorCode::usage, "--hta: none of the runtimes has HTA subnets; AIP has");
  }

  // The library knows nodes and tensors, but no files.
  static Expected<void> place_on(const PlacementOptions& options, PlacedModel& model) {
    Expected<Placement> placement = place(model.graph, options);
    if (!placement) {
      if (placement.error().place.file.empty()) placement.error().place.file = model.path;
      return fail(std::move(placement).error());
    }
    model.placement = *std::move(placement);
    QUADRANT_TRY(model.paired,
                 in_file(paired_products(model.graph, read_format(model.path)), model.path));
    return {};
  }

  [[nodiscard]] Expected<FileChoice> choose(const PlacedModel& model, const PlacedModel& other,
                                            Console& console) const {
    const PlacedModel& floating = float_.empty() ? model : other;
    const PlacedModel& quantized = float_.empty() ? other : model;
    if (is_quantized(floating)) {
      return fail(ErrorCode::usage, "this should be the float model, and has quantized parameters",
                  {.file = floating.path});
    }
    if (!is_quantized(quantized)) {
      return fail(ErrorCode::usage,
                  "this should be the quantized model, and has no quantized parameters: codes that "
                  "a file has as arithmetic are floats to whoever reads it",
                  {.file = quantized.path});
    }
    if (input_shapes(floating.graph) != input_shapes(quantized.graph)) {
      console.report(
          {Severity::warning,
           fmt::format(
               "its inputs have other shapes than those of '{}': are these files of one model?",
               floating.path),
           {.file = quantized.path}});
    }
    return choose_file({.bytes = floating.bytes, .placement = floating.placement},
                       {.bytes = quantized.bytes, .placement = quantized.placement});
  }

  void show(const PlacedModel& model, const std::optional<PlacedModel>& other,
            const std::optional<FileChoice>& choice, Console& console) const {
    if (json_) {
      Json document = file_json(model);
      document["other"] = other ? file_json(*other) : Json(nullptr);
      document["choice"] = choice ? quadrant::to_json(*choice) : Json(nullptr);
      console.print_json(std::move(document));
      return;
    }
    console.print(print_file(model));
    if (other) console.print('\n' + print_file(*other));
    if (choice) console.print('\n' + to_string(*choice));
  }

  std::string model_;
  std::string quantized_;
  std::string float_;
  std::vector<std::string> runtimes_;
  double throughput_ = PlacementOptions{}.elements_per_second;
  std::vector<std::string> hta_;
};

}  // namespace

std::unique_ptr<Command> make_placement(const SchemeTable& /*schemes*/) {
  return std::make_unique<Place>();
}

}  // namespace quadrant::cli
