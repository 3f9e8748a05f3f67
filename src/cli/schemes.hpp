// The schemes that the command offers.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/engine/registry.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/expected.hpp"

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

/// What a scheme is set up with.
struct SchemeSubject {
  std::string path;              ///< of the model, for messages
  Graph graph;                   ///< a scheme may change it before the phases: fold, equalize
  Executor* executor = nullptr;  ///< for what runs the model
  Console* console = nullptr;    ///< outlives the steps
  SchemeSteps steps{};           ///< a scheme may set them
};

/// A scheme with its options, for one call of the command.
class SchemeCommand {
 public:
  SchemeCommand() = default;
  SchemeCommand(const SchemeCommand&) = delete;
  SchemeCommand& operator=(const SchemeCommand&) = delete;
  virtual ~SchemeCommand() = default;

  /// As in `--scheme`.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual std::string_view summary() const noexcept = 0;
  /// The gain model that suits it.
  [[nodiscard]] virtual std::string_view gain() const noexcept = 0;
  /// Adds its options, which refer to this object from then on.
  virtual void declare(CLI::App& options) = 0;
  /// Mistakes that show without a model, before the long work.
  [[nodiscard]] virtual Expected<void> check() const = 0;
  /// Whether what it makes can be written in this format of `quantize --format`.
  [[nodiscard]] virtual Expected<void> check_format(std::string_view /*format*/) const {
    return {};
  }
  /// The methods alone, without data: to be listed.
  [[nodiscard]] virtual Expected<Registry> methods() const = 0;
  [[nodiscard]] virtual Expected<Registry> make(SchemeSubject& subject) const = 0;
};

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
  /// The name of one of the schemes' options that was given; empty: none was.
  [[nodiscard]] std::string given_option() const;
  /// `find`, and that no options of other schemes were given, and none that are wrong.
  [[nodiscard]] Expected<const SchemeCommand*> choose(std::string_view name) const;

 private:
  std::vector<std::unique_ptr<SchemeCommand>> schemes_;
  std::vector<std::vector<const CLI::Option*>> options_;  // of each, once they are declared
};

}  // namespace quadrant::cli
