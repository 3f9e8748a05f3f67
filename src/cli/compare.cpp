// quadrant compare A B: two models on the same samples.
#include "quadrant/calibration/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/data_options.hpp"
#include "cli/report_options.hpp"
#include "cli/resources.hpp"
#include "cli/runtimes.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/report/html_report.hpp"
#include "quadrant/report/tables.hpp"
#include "report/terminal_text.hpp"

namespace quadrant::cli {
namespace {

/// For options that mean something else when they are not there.
CLI::Validator not_empty() {
  return {[](const std::string& text) { return std::string(text.empty() ? "it is empty" : ""); },
          ""};
}

class Compare final : public Command {
 public:
  Compare()
      : Command({.name = "compare",
                 .about = "Run two models on the same samples and say how they differ",
                 .runs_models = true,
                 .shares_work = true}) {}

  void declare(CLI::App& command) override {
    add_argument(command, "MODEL_A", first_,
                 "Model to compare with: .onnx, .tflite, .xml, or .qd, text");
    add_argument(command, "MODEL_B", second_, "Model to compare, for example a quantized one");
    cli::declare(command, data_);
    declare_threads(command, threads_);
    command.add_flag("--layers", layers_, "Compare inner values of the same name, too");
    add_value(command, "--labels", labels_, "FILE",
              "The right classes, one for each row of scores: .txt with an integer a line, "
              ".npy or .npz")
        ->check(not_empty());
    add_value(command, "--label-output", label_output_, "NAME",
              "The output with scores of classes (default: the first that can be)")
        ->check(not_empty());
    declare_detections(command);
    declare_runtime(command, runtime_);
    add_value(command, "--report", report_, "FILE",
              "Save a page for a browser: the outputs, and of each quantized activation its "
              "range, what is clipped, and errors in and out");
    declare_json(command, json_);
    command.footer(
        "SQNR is 10 log10 of the power of MODEL_A's values by that of the differences.\n\n"
        "Examples:\n"
        "  quadrant compare model.onnx model.int8.onnx --data samples --labels labels.txt\n"
        "  quadrant compare model.onnx model.int4.onnx --random 8 --layers");
  }

  Expected<void> run(Console& console) override {
    QUADRANT_CHECK(check(data_));
    QUADRANT_TRY(const auto runtime, make_runtime(runtime_, console));
    QUADRANT_TRY(CompareOptions options, compare_options());
    QUADRANT_TRY(const Graph first, read_model(first_, console.context()));
    QUADRANT_TRY(Graph second, read_model(second_, console.context()));
    QUADRANT_CHECK(warn_of_sums(second, console));
    if (!has_coded_borders(first)) make_borders_real(second);
    QUADRANT_TRY(const auto data, open_data(data_, first, console));
    console.use_threads(threads_);
    options.executor = console.context().executor;
    options.sink = &console;
    options.ranks = console.context().ranks;
    if (report_.empty()) {
      QUADRANT_TRY(const Comparison found, compare(first, second, *runtime, *data, options));
      print(found, console);
      return {};
    }
    QUADRANT_TRY(ActivationStudy found, study_activations(first, std::move(second), *runtime, *data,
                                                          options, console.context()));
    if (!layers_) found.comparison.layers.clear();
    QUADRANT_CHECK(console.write_text(
        report_, print_comparison_html(title(), found.comparison, found.activations)));
    print(found.comparison, console);
    return {};
  }

 private:
  [[nodiscard]] std::string title() const {
    const auto name = [](const std::string& path) {
      return std::filesystem::path(path).filename().string();
    };
    return name(second_) + " and " + name(first_);
  }

  void print(const Comparison& comparison, Console& console) const {
    if (json_) {
      console.print_json({{"first", first_},
                          {"second", second_},
                          {"comparison", quadrant::to_json(comparison)},
                          {"report", text_or_null(report_)}});
      return;
    }
    console.print(to_string(comparison));
    console.print(file_line("\n  report in", report_));
  }

  [[nodiscard]] Expected<void> warn_of_sums(const Graph& graph, Console& console) const {
    QUADRANT_TRY(const auto paired, in_file(paired_products(graph, read_format(second_)), second_));
    if (std::ranges::any_of(paired, &PairedProduct::can_saturate)) {
      console.report({Severity::warning, saturation_remark(graph, paired), {.file = second_}});
    }
    return {};
  }

  void declare_detections(CLI::App& command) {
    CLI::Option* boxes =
        add_value(command, "--boxes", detections_.boxes, "NAME",
                  "The output with a detector's boxes, [..., n, 4]: mean average precision")
            ->check(not_empty());
    CLI::Option* scores = add_value(command, "--scores", detections_.scores, "NAME",
                                    "The output with their scores, [..., n, classes]")
                              ->check(not_empty());
    boxes->needs(scores);
    scores->needs(boxes);
    add_value(command, "--objects", objects_, "FILE",
              "The objects in the images: .npz with 'boxes', 'classes' and 'samples' "
              "(default: what MODEL_A detects)")
        ->check(not_empty())
        ->needs(boxes);
    command
        .add_flag("--centers", detections_.centers,
                  "Boxes are centre, width, height; not corners x1, y1, x2, y2")
        ->needs(boxes);
    add_value(command, "--background", detections_.background, "N", "The class of the background")
        ->needs(boxes);
    add_value(command, "--least-score", detections_.least_score, "X", "Least score of a detection")
        ->check(is_finite())
        ->capture_default_str()
        ->needs(boxes);
    add_value(command, "--overlap", detections_.overlap, "X",
              "Largest overlap of two boxes of a class: of two that overlap by more, one is "
              "dropped; 1: none is")
        ->check(number_between(0, 1))
        ->capture_default_str()
        ->needs(boxes);
  }

  [[nodiscard]] Expected<CompareOptions> compare_options() const {
    CompareOptions options;
    options.names = {.first = first_, .second = second_, .labels = labels_, .objects = objects_};
    options.layers = layers_;
    options.label_output = label_output_;
    if (!labels_.empty()) {
      QUADRANT_TRY(options.labels, read_labels(labels_));
    }
    if (!detections_.boxes.empty()) options.detections = detections_;
    if (!objects_.empty()) {
      QUADRANT_TRY(options.objects, read_objects(objects_));
    }
    return options;
  }

  std::string first_;
  std::string second_;
  DataOptions data_;
  unsigned threads_ = 0;
  bool layers_ = false;
  std::string labels_;
  std::string label_output_;
  DetectionOutputs detections_;
  std::string objects_;
  std::string runtime_ = std::string(runtime_names.front());
  std::string report_;
};

}  // namespace

std::unique_ptr<Command> make_compare(const SchemeTable& /*schemes*/) {
  return std::make_unique<Compare>();
}

}  // namespace quadrant::cli
