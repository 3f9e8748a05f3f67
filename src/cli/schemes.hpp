// The schemes that the command offers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/engine/registry.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/recipe/scheme_choice.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/left_alone.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
class Option;
}  // namespace CLI

namespace quadrant::cli {

/// What a scheme that was set up does around the phases, in order; empty where nothing.
struct SchemeSteps {
  using Before = std::function<Expected<void>(Graph& graph, const Registry& registry,
                                              const QuantizeOptions& options)>;
  using Finish =
      std::function<Expected<void>(const Graph& graph, Graph& quantized, Executor& executor)>;
  using Review = std::function<void(const Graph& graph, const QuantizeResult& result)>;

  std::vector<Before> before;  ///< with a graph whose phases are to run so
  std::vector<Finish> finish;  ///< with what they made of `graph`, where it is to be written
  std::vector<Review> review;  ///< says what there is to say of what they made of `graph`
};

/// What rounding by samples came to, of each weight. Filled in while the phases run.
struct RoundingLog {
  std::mutex mutex;
  std::map<std::string, RoundedWeights, std::less<>> weights;
};

/// What a scheme is set up with.
struct SchemeSubject {
  std::string path;              ///< of the model, for messages
  Graph graph;                   ///< a scheme may change it before the phases: fold, equalize
  Executor* executor = nullptr;  ///< for what runs the model
  Console* console = nullptr;    ///< outlives the steps
  bool has_calibrated = false;   ///< a scheme found ranges by --calibration
  bool is_transformed = false;   ///< a scheme has done to `graph` what the recipe's model says
  SchemeSteps steps{};           ///< a scheme may set them
  SchemeData weights{};          ///< what weight_only knows of the model, if it does
  std::shared_ptr<RoundingLog> rounding{};  ///< of weight_only; null: there were no samples
  StatisticsTable statistics{};             ///< what the model says of its values itself
  /// Values that the model wants statistics of. A scheme takes those away that it has some of; the
  /// others are told.
  std::vector<LeftAlone> ungathered{};
};

/// A scheme of the library for one call of the command: its options, and what it takes from files.
class SchemeCommand {
 public:
  /// `entry` is one of `known_schemes`.
  explicit SchemeCommand(const SchemeEntry& entry) : entry_(&entry) {}
  SchemeCommand(const SchemeCommand&) = delete;
  SchemeCommand& operator=(const SchemeCommand&) = delete;
  virtual ~SchemeCommand() = default;

  [[nodiscard]] const SchemeEntry& entry() const noexcept { return *entry_; }
  [[nodiscard]] std::string_view name() const noexcept { return entry_->name; }
  [[nodiscard]] std::string_view summary() const noexcept { return entry_->summary; }
  /// Adds its options, which refer to this object from then on.
  void declare(CLI::App& options);
  /// Those of its table that were given.
  [[nodiscard]] const OptionValues& given() const noexcept { return given_; }
  /// Those of `recipe_model_options` that were given.
  [[nodiscard]] const OptionValues& given_for_model() const noexcept { return given_for_model_; }
  /// Whether recipes say nothing of the option, which names data of one model.
  [[nodiscard]] virtual bool is_data(const std::string& /*option*/) const { return false; }

  /// Mistakes that show without a model, before the long work: with `choices`, which are of this
  /// scheme, and `model`, what is done to the float model before.
  [[nodiscard]] virtual Expected<void> check(std::span<const SchemeChoice> choices,
                                             const OptionValues& model) const;
  /// Whether what it makes can be written in this format of `quantize --format`.
  [[nodiscard]] virtual Expected<void> check_format(std::string_view /*format*/,
                                                    const OptionValues& /*options*/) const {
    return {};
  }
  /// The choices' methods for this subject, and what is done around the phases.
  [[nodiscard]] virtual Expected<Registry> make(SchemeSubject& subject,
                                                std::span<const SchemeChoice> choices,
                                                const OptionValues& model) const;

 protected:
  /// Adds options of files, and of `recipe_model_options`, whose values go to `for_model`.
  virtual void declare_data(CLI::App& /*options*/, OptionValues& /*for_model*/) {}

 private:
  const SchemeEntry* entry_;
  OptionValues given_;
  OptionValues given_for_model_;
};

/// bc, on samples.
[[nodiscard]] SchemeSteps::Finish bias_correction(const SchemeSubject& subject,
                                                  const std::string& samples);

/// The steps `before`.
[[nodiscard]] Expected<void> run_before(const SchemeSteps& steps, Graph& graph,
                                        const Registry& registry, const QuantizeOptions& options);

/// All four phases, with the scheme's steps around them. `options` has an executor.
[[nodiscard]] Expected<QuantizeResult> quantize_with(const SchemeSteps& steps, Graph& graph,
                                                     const Registry& registry,
                                                     const QuantizeOptions& options,
                                                     bool is_to_be_written);

/// Adds the scheme's options to `command`, under a heading of their own; returns them.
std::vector<const CLI::Option*> declare_under_heading(SchemeCommand& scheme, CLI::App& command);

/// The schemes of one command, whose options they add to it.
class Schemes {
 public:
  Schemes();

  /// By name.
  [[nodiscard]] std::span<const std::unique_ptr<SchemeCommand>> all() const noexcept {
    return schemes_;
  }
  /// Adds the options of all, each under a heading of its own.
  void declare(CLI::App& command);
  /// The scheme of that name, `-` and `_` being the same; an unknown one is a `usage` error with
  /// near names.
  [[nodiscard]] Expected<SchemeCommand*> find(std::string_view name) const;
  /// That no options of schemes were given but of `used`; and of these, if `chosen_elsewhere` says
  /// where their options are (`--recipe`), only those that are not part of a choice.
  [[nodiscard]] Expected<void> check_given(std::span<const std::string> used,
                                           std::string_view chosen_elsewhere) const;
  /// An option of `scheme` that was given, by its name; empty: none was.
  [[nodiscard]] std::string given_option(const SchemeCommand& scheme) const;

 private:
  [[nodiscard]] bool is_of_run(std::span<const std::string> used, const std::string& option) const;

  std::vector<std::unique_ptr<SchemeCommand>> schemes_;
  std::vector<std::vector<const CLI::Option*>> options_;  // of each, once they are declared
};

}  // namespace quadrant::cli
