// What the calls of the pipeline may use, and whom they tell.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/file_transaction.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::inline v0 {

/// All of it may be left as it is. What it points to outlives the call, and what the call returns.
struct RunContext {
  Executor* executor = nullptr;  ///< null: the calling thread works alone. Results are the same
  Sink* sink = nullptr;          ///< hears of notes, warnings and progress; null: nobody
  /// Hears of models, samples and hardware that are read, and gets what is written, which its owner
  /// commits; a cache of sensitivities is put in place as the work goes on. Null: files are put in
  /// place one by one, as they are complete.
  FileTransaction* files = nullptr;
  /// Other processes that make the same calls, to share the work with: samples, weights and layers
  /// are dealt to them, and results are the same on all. What is written is the first's to write.
  /// Null: there are no others.
  Ranks* ranks = nullptr;
  /// Once a stop is asked for, from any thread, the call ends with `cancelled` before its next step
  /// or sample; no file of it is put in place.
  std::stop_token stop{};
  /// Bytes that the interpreter may take for what it computes from a sample.
  std::uint64_t run_memory = Interpreter::default_memory;
  const SchemeTable* schemes = nullptr;  ///< that recipes may name; null: the library's
  bool follow_links = false;             ///< models' data may be symbolic links to anywhere
  bool convert_samples = false;          ///< of other element types than the model's inputs
  bool allow_non_finite_samples = false;

  /// What `schemes` means.
  [[nodiscard]] const SchemeTable& all_schemes() const;
  void note(std::string message, Place place = {}) const;
  void warn(std::string message, Place place = {}) const;
  /// `cancelled` where a stop was asked for.
  [[nodiscard]] Expected<void> check_stop() const;
};

}  // namespace quadrant::inline v0
