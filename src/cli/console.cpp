#include "cli/console.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <sstream>
#include <utility>

#include "quadrant/adapters/tbb.hpp"
#include "quadrant/support/ranks.hpp"
#include "report/terminal_text.hpp"

namespace quadrant::cli {
namespace {

std::string_view severity_name(Severity severity) {
  return severity == Severity::warning ? "warning" : "note";
}

Json to_json(const Diagnostic& diagnostic) {
  Json json = {{"severity", severity_name(diagnostic.severity)}, {"message", diagnostic.message}};
  const Place& place = diagnostic.place;
  if (!place.file.empty()) json["file"] = place.file;
  if (!place.node.empty()) json["node"] = place.node;
  if (!place.tensor.empty()) json["tensor"] = place.tensor;
  if (place.offset) json["offset"] = *place.offset;
  return json;
}

}  // namespace

Console::Console(std::FILE* out, std::FILE* err)
    : out_(out), err_(err), shows_progress_(::isatty(::fileno(err)) == 1) {
  context_.sink = this;
  context_.files = &files_;
}

void Console::use_threads(unsigned threads) {
  executor_ = std::make_unique<TbbExecutor>(threads);
  context_.executor = executor_.get();
}

Expected<void> Console::write_text(const std::string& path, std::string_view text) {
  QUADRANT_TRY(NewFile file, files_.create(path));
  QUADRANT_CHECK(file.write(std::as_bytes(std::span(text))));
  return files_.add(std::move(file));
}

void Console::print(std::string_view text) {
  clear_progress();
  if (std::fwrite(text.data(), 1, text.size(), out_) != text.size()) write_failed_ = true;
}

void Console::print_json(Json document) {
  document["diagnostics"] = std::move(diagnostics_);
  diagnostics_ = Json::array();
  print(text_of(document));
}

void Console::print_error(const Error& error) {
  clear_progress();
  // What was at work when a stop was asked for is not at fault.
  const bool is_stop = error.code == ErrorCode::cancelled;
  const std::string text = is_stop ? "stopped as requested: nothing is written" : to_string(error);
  say(fmt::format("quadrant: {}\n", printable(text)));
}

Expected<void> Console::flush() {
  if (std::fflush(out_) != 0) write_failed_ = true;
  if (write_failed_) return fail(ErrorCode::io, "cannot write to standard output");
  return {};
}

void Console::report(const Diagnostic& diagnostic) {
  if (json_) {
    diagnostics_.push_back(to_json(diagnostic));
    return;
  }
  const std::string place = to_string(diagnostic.place);
  notes_ += fmt::format("{}: {}{}{}\n", severity_name(diagnostic.severity), printable(place),
                        place.empty() ? "" : ": ", printable(diagnostic.message));
}

Expected<void> Console::share_notes(Ranks& ranks) {
  QUADRANT_TRY(const std::vector<std::string> of_ranks, ranks.gather(notes_));
  std::string known = '\n' + notes_;
  for (std::size_t rank = 1; rank < of_ranks.size(); ++rank) {
    std::istringstream lines(of_ranks[rank]);
    for (std::string line; std::getline(lines, line);) {
      if (known.find('\n' + line + '\n') != std::string::npos) continue;
      known += line + '\n';
      notes_ += fmt::format("{} (rank {})\n", line, rank);
    }
  }
  return {};
}

void Console::print_notes() { say(std::exchange(notes_, {})); }

// Nobody may be listening: that changes nothing.
void Console::say(const std::string& text) { std::fputs(text.c_str(), err_); }

void Console::progress(std::string_view task, std::uint64_t done, std::uint64_t total) {
  if (!shows_progress_ || total == 0) return;
  const Clock::time_point now = Clock::now();
  if (now < next_bar_) return;
  next_bar_ = now + std::chrono::milliseconds(100);
  constexpr std::size_t width = 30;
  const double share = static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  const auto filled = static_cast<std::size_t>(share * width);
  say(fmt::format("\r\033[K{} [{}{}] {:3.0f} %", printable(task), std::string(filled, '#'),
                  std::string(width - filled, ' '), 100 * share));
  std::fflush(err_);
  has_bar_ = true;
}

void Console::print_progress(const std::string& line) {
  if (!shows_progress_) return;
  clear_progress();
  say(line);
}

void Console::clear_progress() {
  if (!std::exchange(has_bar_, false)) return;
  say("\r\033[K");
  std::fflush(err_);
}

std::string file_line(std::string_view words, const std::string& path) {
  return path.empty() ? std::string() : fmt::format("{} {}\n", words, printable(path));
}

}  // namespace quadrant::cli
