#include "cli/static_affine.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibration/located.hpp"
#include "cli/choices.hpp"
#include "cli/model.hpp"
#include "cli/optimizations.hpp"
#include "cli/prescribed.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::cli {
namespace {

const std::vector<std::string> encoding_names{"minmax",     "mse",     "enhanced",
                                              "percentile", "entropy", "adjusted-weights"};
const std::vector<std::string> activation_encoding_names{encoding_names.begin(),
                                                         encoding_names.end() - 1};

EncodingMethod method_of(std::string_view name) {
  constexpr std::array methods{EncodingMethod::minmax,   EncodingMethod::mse,
                               EncodingMethod::enhanced, EncodingMethod::percentile,
                               EncodingMethod::entropy,  EncodingMethod::adjusted_weights};
  const auto found = std::ranges::find(encoding_names, name);
  return methods[static_cast<std::size_t>(found - encoding_names.begin()) % methods.size()];
}

bool is_statistics_file(const std::string& path) {
  return std::filesystem::path(path).extension() == ".json";
}

Expected<void> check_float(const Graph& graph) {
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid()) continue;
    const std::string_view kind = graph.kind(node);
    const bool is_conversion = kind == ops::Quantize::kind || kind == ops::Dequantize::kind ||
                               kind == "onnx.QuantizeLinear" || kind == "onnx.DequantizeLinear";
    if (!is_conversion) continue;
    return fail(ErrorCode::usage,
                "this model is quantized already: quantize the float model that it was made of "
                "(quantizing twice adds both errors)",
                {.node = std::string(label(graph, node))});
  }
  return {};
}

// Inputs and outputs that are real values although codes are asked for.
void tell_real_borders(const Graph& graph, const StaticAffineOptions& options,
                       const std::string& path, Sink& sink) {
  const auto tell = [&](std::string_view what, Value value) {
    const TensorType& type = graph.type(value);
    if (type.is_quantized() || is_integer(type.element)) return;
    sink.report(
        {Severity::warning,
         fmt::format("this {} of the model stays real values: 'quadrant explain' says why", what),
         {.file = path, .tensor = std::string(graph.value_name(value))}});
  };
  for (const NodeId node : graph.inputs()) {
    if (options.quantized_inputs) tell("input", {node});
  }
  for (const NodeId node : graph.outputs()) {
    if (options.quantized_outputs) tell("output", graph.operands(node)[0]);
  }
}

class StaticAffineCommand final : public StaticAffineScheme {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "static_affine"; }
  [[nodiscard]] std::string_view summary() const noexcept override {
    return "weights and activations become integers, by the ranges seen on sample data";
  }
  [[nodiscard]] std::string_view gain() const noexcept override { return "operations"; }

  void declare(CLI::App& options) override {
    options
        .add_option("--calibration", calibration_,
                    "Samples to find ranges on (as for 'quadrant calibrate --data'), or statistics "
                    "that 'quadrant calibrate' saved: a .json file")
        ->type_name("PATH");
    options
        .add_option("--encodings", encodings_,
                    "Encodings that count instead of what would be found: a file as AIMET exports "
                    "and 'quadrant encodings' writes. --calibration can be left out where they "
                    "are all that is needed")
        ->type_name("FILE");
    add_choice(options, "--activation-bits", activation_bits_, {8, 16}, "Bits of activations")
        ->capture_default_str();
    add_choice(options, "--weight-bits", weight_bits_, {8, 4}, "Bits of weights")
        ->capture_default_str();
    add_choice(options, "--weights", weights_, {"channel", "tensor"},
               "What shares a scale in a weight: an output channel, or all of it")
        ->capture_default_str();
    options.add_flag("--asymmetric-weights", asymmetric_weights_,
                     "Weights have a zero point, too; goes with --weights tensor");
    add_choice(options, "--bias-bits", bias_bits_, {32, 8},
               "Bits of biases: 32, in the scale of the sums that they are added to, or 8, in a "
               "scale of their own")
        ->capture_default_str();
    add_choice(options, "--encoding", encoding_, encoding_names,
               "How ranges are chosen, of weights and activations")
        ->capture_default_str();
    add_choice(options, "--weight-encoding", weight_encoding_, encoding_names,
               "The same for weights alone");
    add_choice(options, "--activation-encoding", activation_encoding_, activation_encoding_names,
               "The same for activations alone");
    enhanced_option_ =
        options
            .add_option(
                "--use-enhanced", enhanced_,
                "The encoding 'enhanced' for 'weights', for 'activations', or, alone, for both")
            ->expected(0, 1)
            ->check(CLI::IsMember({"weights", "activations"}).description(""))
            ->type_name("[weights|activations]");
    options
        .add_option("--percentile", percentile_,
                    "How much of the values an encoding 'percentile' covers, from either end")
        ->check(CLI::Range(50.0, 100.0).description(""))
        ->type_name("P")
        ->capture_default_str();
    add_choice(options, "--profile", profile_, {"onnx", "snpe", "qairt"},
               "Whose rules: ranges of any width, or of 0.01 and 0.0001 at least, and how "
               "ties are rounded")
        ->capture_default_str();
    options
        .add_option("--optimize", optimizations_.names,
                    "'cle' equalizes the channels of neighbouring layers, 'hba' moves high biases "
                    "on to the next layer, 'bc' takes off biases what quantization shifts, on the "
                    "samples of --calibration: slow; 'bc-analytic' from batch normalizations: fast")
        ->delimiter(',')
        ->check(CLI::IsMember({"cle", "hba", "bc", "bc-analytic"}).description(""))
        ->type_name("cle,hba,bc");
    add_relu6(options, optimizations_);
    add_choice(options, "--recurrent-weights", recurrent_weights_, {"float", "codes"},
               "Weights of recurrent layers, which compute in float")
        ->capture_default_str();
    options.add_flag("--unsigned-activations", unsigned_activations_,
                     "Codes of activations from 0 on");
    options.add_flag("--quantized-inputs", quantized_inputs_, "The model's inputs are codes, too");
    options.add_flag("--quantized-outputs", quantized_outputs_,
                     "The model's outputs are codes, too");
  }

  [[nodiscard]] Expected<void> check() const override {
    if (calibration_.empty() && encodings_.empty()) {
      return fail(
          ErrorCode::usage,
          "static_affine finds ranges on data: --calibration PATH, of samples or of "
          "statistics that 'quadrant calibrate' saved; or --encodings FILE prescribes them");
    }
    if (!encodings_.empty() && !optimizations_.names.empty()) {
      return fail(ErrorCode::usage,
                  "--optimize changes the values that were encoded: leave out it or --encodings",
                  {.file = encodings_});
    }
    if (is_statistics_file(calibration_) && !optimizations_.names.empty()) {
      return fail(ErrorCode::usage,
                  "--optimize changes the values that were measured: give samples to "
                  "--calibration, not statistics",
                  {.file = calibration_});
    }
    QUADRANT_CHECK(cli::check(optimizations_));
    QUADRANT_CHECK(check_enhanced());
    QUADRANT_CHECK(StaticAffine::make(chosen()));
    return {};
  }
  [[nodiscard]] Expected<void> check_format(std::string_view format) const override {
    if (format != "matmulnbits") return {};
    return fail(ErrorCode::usage,
                "quantize: MatMulNBits has codes of weights alone: --format matmulnbits goes with "
                "--scheme weight-only");
  }

  [[nodiscard]] Expected<Registry> methods() const override {
    return static_affine_registry(chosen());
  }

  [[nodiscard]] Expected<Registry> make(SchemeSubject& subject) const override {
    QUADRANT_CHECK(in_file(check_float(subject.graph), subject.path));
    Prescribed prescribed;
    if (!encodings_.empty()) {
      QUADRANT_TRY(prescribed, Prescribed::read(encodings_, subject.graph, *subject.console));
    }
    // Values keep their names where normalizations are folded, so that what was saved holds.
    StatisticsTable statistics;
    const bool is_saved = is_statistics_file(calibration_);
    if (is_saved) {
      QUADRANT_TRY(statistics, read_statistics_of(subject.graph, calibration_));
    }
    QUADRANT_TRY(MomentsTable moments,
                 in_file(transform(subject.graph, optimizations_, subject.path, *subject.console),
                         subject.path));
    QUADRANT_CHECK(prescribed.check_names(subject.graph));
    if (!is_saved && !calibration_.empty()) {
      QUADRANT_TRY(statistics, observe(subject));
    }
    StaticAffineOptions options = chosen();
    options.statistics = std::make_shared<const StatisticsTable>(std::move(statistics));
    if (!encodings_.empty()) {
      QUADRANT_TRY(options.prescribed, prescribed.table());
    }
    set_steps(subject, options, std::move(prescribed), std::move(moments));
    return static_affine_registry(std::move(options));
  }

  void optimize_with(std::vector<std::string> optimizations) override {
    optimizations_.names = std::move(optimizations);
  }
  [[nodiscard]] bool has_statistics_alone() const override {
    return is_statistics_file(calibration_);
  }
  [[nodiscard]] const std::string& calibration() const noexcept override { return calibration_; }

 private:
  [[nodiscard]] Expected<StatisticsTable> observe(SchemeSubject& subject) const {
    QUADRANT_TRY(const auto data,
                 open_data_set(calibration_, subject.graph, {.sink = subject.console}));
    return in_file(calibrate(subject.graph, Interpreter(), *data,
                             {.executor = subject.executor, .sink = subject.console}),
                   subject.path);
  }

  void set_steps(SchemeSubject& subject, const StaticAffineOptions& options, Prescribed prescribed,
                 MomentsTable moments) const {
    Console& console = *subject.console;
    if (optimizations_.correct_biases() && !optimizations_.has("cle")) {
      console.report(
          {Severity::warning,
           "bc without cle: it corrects what is shifted, not what is lost to ranges that differ "
           "from channel to channel; --optimize cle,bc does both",
           {.file = subject.path}});
    }
    if (!encodings_.empty()) {
      if (calibration_.empty()) {
        subject.steps.before.emplace_back(
            [&console, options, path = encodings_](const Graph& graph, const Registry&,
                                                   const QuantizeOptions& run) {
              return tell_unknown_ranges(graph, options, run, path, console);
            });
      }
      subject.steps.review.emplace_back([&console, prescribed = std::move(prescribed)](
                                            const Graph& graph, const QuantizeResult& result) {
        prescribed.tell_unused(graph, result, console);
      });
    }
    if (quantized_inputs_ || quantized_outputs_) {
      subject.steps.review.emplace_back(
          [&console, options, path = subject.path](const Graph&, const QuantizeResult& result) {
            tell_real_borders(result.graph, options, path, console);
          });
    }
    if (optimizations_.has("bc-analytic")) {
      subject.steps.before.emplace_back(
          [&console, path = subject.path, moments = std::move(moments)](
              Graph& graph, const Registry& registry, const QuantizeOptions& run) {
            return in_file(correct_from_moments(graph, moments, registry, run, console), path);
          });
    }
    if (optimizations_.has("bc")) {
      subject.steps.finish.emplace_back(
          [&console, path = subject.path, data = calibration_](const Graph& graph, Graph& quantized,
                                                               Executor& executor) {
            return in_file(correct_on_samples(graph, quantized, data, executor, console), path);
          });
    }
  }

  [[nodiscard]] EncodingRule base() const {
    if (profile_ == "snpe") return EncodingRule::snpe();
    if (profile_ == "qairt") return EncodingRule::qairt();
    return EncodingRule::onnx();
  }

  [[nodiscard]] EncodingRule rule(const std::string& name, bool is_enhanced, int bits,
                                  EncodingSymmetry symmetry) const {
    EncodingRule rule = base();
    rule.method =
        is_enhanced ? EncodingMethod::enhanced : method_of(name.empty() ? encoding_ : name);
    rule.bits = bits;
    rule.symmetry = symmetry;
    rule.percentile = percentile_;
    return rule;
  }

  // That no other encoding is asked for what it is for.
  [[nodiscard]] Expected<void> check_enhanced() const {
    for (const auto& [what, own] : {std::pair("weights", &weight_encoding_),
                                    std::pair("activations", &activation_encoding_)}) {
      if (!uses_enhanced(what) || own->empty() || *own == "enhanced") continue;
      return fail(ErrorCode::usage, fmt::format("--use-enhanced says 'enhanced' for {}, another "
                                                "option '{}': leave out one of them",
                                                what, *own));
    }
    return {};
  }

  // For `what`, of weights and activations.
  [[nodiscard]] bool uses_enhanced(std::string_view what) const {
    if (enhanced_option_ == nullptr || enhanced_option_->count() == 0) return false;
    return enhanced_.empty() || enhanced_ == what;
  }

  [[nodiscard]] StaticAffineOptions chosen() const {
    StaticAffineOptions made;
    // With both, the weights' own encoding does not count for activations.
    const std::string activations = activation_encoding_.empty() && encoding_ == "adjusted-weights"
                                        ? "minmax"
                                        : activation_encoding_;
    made.activations = rule(activations, uses_enhanced("activations"), activation_bits_,
                            EncodingSymmetry::asymmetric);
    made.weights = rule(
        weight_encoding_, uses_enhanced("weights"), weight_bits_,
        asymmetric_weights_ ? EncodingSymmetry::asymmetric : EncodingSymmetry::symmetric_strict);
    if (weights_ == "tensor") made.weight_granularity = Granularity::Kind::tensor;
    made.unsigned_activations = unsigned_activations_;
    made.bias_bits = bias_bits_;
    made.quantized_recurrent_weights = recurrent_weights_ == "codes";
    made.quantized_inputs = quantized_inputs_;
    made.quantized_outputs = quantized_outputs_;
    return made;
  }

  std::string calibration_;
  std::string encodings_;
  int activation_bits_ = 8;
  int weight_bits_ = 8;
  std::string weights_ = "channel";
  bool asymmetric_weights_ = false;
  int bias_bits_ = 32;
  std::string encoding_ = "minmax";
  std::string weight_encoding_;
  std::string activation_encoding_;
  std::string enhanced_;  // empty: --use-enhanced alone, or not at all
  const CLI::Option* enhanced_option_ = nullptr;
  double percentile_ = EncodingRule{}.percentile;
  std::string profile_ = "onnx";
  Optimizations optimizations_;
  std::string recurrent_weights_ = "float";
  bool unsigned_activations_ = false;
  bool quantized_inputs_ = false;
  bool quantized_outputs_ = false;
};

}  // namespace

std::unique_ptr<StaticAffineScheme> make_static_affine() {
  return std::make_unique<StaticAffineCommand>();
}

}  // namespace quadrant::cli
