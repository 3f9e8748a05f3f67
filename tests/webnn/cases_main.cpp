// webnn_cases: runs a file of WebNN graphs, as they are and as converted.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "case_file.hpp"
#include "case_graph.hpp"
#include "conversion.hpp"
#include "difference.hpp"
#include "judgement.hpp"
#include "quadrant/ir/text.hpp"

namespace {

using namespace quadrant;
using namespace quadrant::webnn;

constexpr int wrong = 1;
constexpr int bad_file = 2;

constexpr const char* usage =
    "usage: webnn_cases FILE [--only NAME] [--print] [--write DIR]\n"
    "\n"
    "Builds the graph of each case of FILE, runs it, converts it, runs that, and compares both "
    "with\n"
    "the result without fusion, or with what is expected.\n"
    "\n"
    "  --only NAME   this case alone\n"
    "  --print       the graphs, too, as built and as converted\n"
    "  --write DIR   writes each converted case into the folder\n"
    "\n"
    "Differences are in steps of the quantized values. Exit: 1 where a result is further away "
    "than\n"
    "one step, or where the browser fused, soundly, what is not fused here; 2 for a file or a "
    "case\n"
    "that is not as it should be, and for a wrong call.\n";

struct Arguments {
  std::string file;
  std::optional<std::string> only;
  std::optional<std::string> folder;
  bool print = false;
};

std::optional<Arguments> parse_arguments(std::span<char* const> words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--only" || word == "--write") {
      if (++i == words.size()) return std::nullopt;
      (word == "--only" ? arguments.only : arguments.folder) = words[i];
    } else if (word == "--print") {
      arguments.print = true;
    } else if (word.starts_with("-") || word.empty() || !arguments.file.empty()) {
      return std::nullopt;
    } else {
      arguments.file = word;
    }
  }
  return arguments.file.empty() ? std::nullopt : std::optional(arguments);
}

/// Counted in cases.
struct Totals {
  std::size_t cases = 0;
  std::size_t fused = 0;
  std::size_t explained = 0;
  std::size_t unexplained = 0;
  std::size_t nothing_to_fuse = 0;
  std::size_t compared = 0;
  std::size_t browser_fused = 0;
  std::size_t browser_wrong = 0;
  std::size_t browser_failed = 0;
  std::size_t missed = 0;
  std::size_t different = 0;
  std::size_t unusable = 0;
  std::size_t refused_by_all = 0;
  double worst = 0;
  double worst_as_built = 0;

  void add(const Judgement& judgement) {
    const auto count = [](std::size_t& counter, bool is_one) {
      if (is_one) ++counter;
    };
    const bool is_left =
        judgement.ours != Fusion::nothing_to_fuse && judgement.ours != Fusion::fused;
    const bool is_built = judgement.browser_known && !judgement.browser_failed;
    count(nothing_to_fuse, judgement.ours == Fusion::nothing_to_fuse);
    count(fused, judgement.ours == Fusion::fused);
    count(explained, is_left && judgement.is_explained());
    count(unexplained, is_left && !judgement.is_explained());
    count(compared, judgement.converted.has_value());
    count(browser_failed, judgement.browser_failed);
    count(browser_fused, is_built && judgement.browser == Fusion::fused);
    count(browser_wrong, is_built && judgement.browser_difference.value_or(0) > most_steps);
    count(missed, !judgement.missed().empty());
    count(different, judgement.differs());
    worst = std::max(worst, judgement.converted.value_or(0));
    worst_as_built = std::max(worst_as_built, judgement.built.value_or(0));
  }

  void print() const {
    std::printf(
        "%zu cases: %zu fused, %zu not fused with a reason, %zu without, %zu with nothing to fuse; "
        "browser: %zu fused, %zu wrong, %zu build errors; %zu compared, worst difference %.3g "
        "(as built %.3g); %zu no graph to the browser either; %zu failures (%zu different, %zu "
        "missed, %zu unusable)\n",
        cases, fused, explained, unexplained, nothing_to_fuse, browser_fused, browser_wrong,
        browser_failed, compared, worst, worst_as_built, refused_by_all,
        different + missed + unusable, different, missed, unusable);
  }
};

/// A file's name: the case's number, since names may differ in signs alone, and its name.
std::string file_name(std::size_t number, std::string_view name) {
  std::string result = std::to_string(number) + '_';
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    result += plain ? c : '_';
  }
  return result + file_ending;
}

/// `number` counts the cases from 1.
Expected<Judgement> convert_and_judge(const Case& from, const CaseGraph& built, std::size_t number,
                                      const Arguments& arguments) {
  QUADRANT_TRY(const Converted converted, convert_case(built.graph));
  if (arguments.print) {
    std::printf("%s\n%s\n", print_graph(built.graph).c_str(), print_graph(converted.graph).c_str());
  }
  if (arguments.folder) {
    const auto path = std::filesystem::path(*arguments.folder) / file_name(number, from.name);
    QUADRANT_CHECK(write_case(converted, path.string()));
  }
  return judge(from, built, converted);
}

void run_case(const Case& from, const Arguments& arguments, Totals& totals) {
  ++totals.cases;
  const auto built = build_graph(from);
  if (!built) {
    // A graph that the browser took for none either, and of which there is no result.
    const bool refused_by_all = !from.build_error.empty() && from.truth() == nullptr;
    ++(refused_by_all ? totals.refused_by_all : totals.unusable);
    std::printf("%s: no graph%s: %s\n", from.name.c_str(),
                refused_by_all ? ", nor to the browser" : "", to_string(built.error()).c_str());
    return;
  }
  const auto judgement = convert_and_judge(from, *built, totals.cases, arguments);
  if (!judgement) {
    ++totals.different;
    std::printf("%s: FAILED: %s\n", from.name.c_str(), to_string(judgement.error()).c_str());
    return;
  }
  totals.add(*judgement);
  std::printf("%s\n", describe(from, *judgement).c_str());
}

int run(const Arguments& arguments) {
  const auto cases = read_case_file(arguments.file);
  if (!cases) {
    std::fprintf(stderr, "%s\n", to_string(cases.error()).c_str());
    return bad_file;
  }
  Totals totals;
  for (const Case& one : *cases) {
    if (!arguments.only || one.name == *arguments.only) run_case(one, arguments, totals);
  }
  if (arguments.only && totals.cases == 0) {
    std::fprintf(stderr, "there is no case '%s'\n", arguments.only->c_str());
    return bad_file;
  }
  totals.print();
  if (totals.unusable > 0) return bad_file;
  return totals.different > 0 || totals.missed > 0 ? wrong : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::span<char* const> words(argv + 1, static_cast<std::size_t>(argc - 1));
    for (const std::string_view word : words) {
      if (word != "--help") continue;
      std::fputs(usage, stdout);
      return 0;
    }
    const auto arguments = parse_arguments(words);
    if (!arguments) {
      std::fputs(usage, stderr);
      return bad_file;
    }
    return run(*arguments);
  } catch (const std::exception& exception) {  // memory, above all
    std::fprintf(stderr, "%s\n", exception.what());
    return bad_file;
  }
}
