// Where the command's output goes: results to stdout; errors, notes and progress to stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/files.hpp"
#include "quadrant/support/ranks.hpp"
#include "report/json.hpp"

namespace quadrant::cli {

/// What a subcommand talks to. Notes and warnings wait until its files are in place: a command that
/// fails says one line, its error. With --json, diagnostics are kept for the document instead of
/// printed, so that stdout is one JSON document and stderr is empty unless the command fails.
class Console final : public Sink {
 public:
  Console(std::FILE* out, std::FILE* err);

  /// What the command reads and writes: committed when it has done its work and printed its result.
  [[nodiscard]] FileTransaction& files() noexcept { return files_; }
  /// For the library: this sink, these files, and what options say of the rest.
  [[nodiscard]] RunContext& context() noexcept { return context_; }
  /// --threads, for `context`.
  void use_threads(unsigned threads);
  /// --run-memory, as it was said.
  std::string run_memory{};
  /// Adds a file.
  [[nodiscard]] Expected<void> write_text(const std::string& path, std::string_view text);

  /// From here on for a program: --json was given.
  void use_json() noexcept { json_ = true; }

  /// Result text, to stdout.
  void print(std::string_view text);
  /// The document of --json: `document` and, under the key `diagnostics`, what was reported.
  void print_json(Json document);
  /// One line on stderr.
  void print_error(const Error& error);
  /// Whether all that was printed could be: a full disk only shows here.
  [[nodiscard]] Expected<void> flush();
  /// The first rank gets the notes of the others that it has not itself. All ranks call it, once.
  [[nodiscard]] Expected<void> share_notes(Ranks& ranks);
  /// Notes and warnings, to stderr.
  void print_notes();

  void report(const Diagnostic& diagnostic) override;
  /// A bar on stderr, when that is a terminal.
  void progress(std::string_view task, std::uint64_t done, std::uint64_t total) override;
  void clear_progress();
  /// A line of what was done until now, where there are bars.
  void print_progress(const std::string& line);

 private:
  void say(const std::string& text);

  using Clock = std::chrono::steady_clock;

  FileTransaction files_;
  std::unique_ptr<Executor> executor_;
  RunContext context_;
  std::FILE* out_;
  std::FILE* err_;
  bool json_ = false;
  bool shows_progress_;
  bool has_bar_ = false;
  bool write_failed_ = false;
  Clock::time_point next_bar_;
  std::string notes_;  ///< not yet printed
  Json diagnostics_ = Json::array();
};

/// `  saved in FILE`, a line; empty without a file. `words`: all before its name.
[[nodiscard]] std::string file_line(std::string_view words, const std::string& path);

}  // namespace quadrant::cli
