#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

#include "quadrant/targets/placement.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<void> check_files(const Placement& floating, const Placement& quantized) {
  if (floating.profiles != quantized.profiles) {
    return fail(ErrorCode::usage, "the two files were placed on different runtimes");
  }
  if (floating.form == ModelForm::quantized || floating.form == ModelForm::mixed) {
    return fail(ErrorCode::usage, "the float file has quantized parameters");
  }
  if (quantized.form == ModelForm::floating || quantized.form == ModelForm::none) {
    return fail(ErrorCode::usage, "the quantized file has no quantized parameters");
  }
  return {};
}

RuntimeChoice compare_on(const RuntimePlacement& floating, const RuntimePlacement& quantized) {
  RuntimeChoice choice{.runtime = floating.runtime,
                       .loads_faster = FileAdvice::either,
                       .takes_float = floating.load.has_value(),
                       .takes_quantized = quantized.load.has_value()};
  if (!choice.takes_float || !choice.takes_quantized) {
    if (choice.takes_float) {
      choice.loads_faster = FileAdvice::floating;
    } else {
      choice.loads_faster = choice.takes_quantized ? FileAdvice::quantized : FileAdvice::neither;
    }
    return choice;
  }
  const std::uint64_t first = floating.load->converted.elements;
  const std::uint64_t second = quantized.load->converted.elements;
  if (first < second) choice.loads_faster = FileAdvice::floating;
  if (second < first) choice.loads_faster = FileAdvice::quantized;
  return choice;
}

template <class Condition>
std::string names_where(const std::vector<RuntimeChoice>& runtimes, Condition condition) {
  std::vector<std::string_view> names;
  for (const RuntimeChoice& runtime : runtimes) {
    if (condition(runtime)) names.push_back(runtime.runtime);
  }
  return fmt::to_string(fmt::join(names, ", "));
}

// Where not every runtime takes both files. Leaves no reason where all do.
void decide_by_refusals(FileChoice& choice) {
  const std::string no_float = names_where(
      choice.runtimes, [](const RuntimeChoice& runtime) { return !runtime.takes_float; });
  const std::string no_quantized = names_where(
      choice.runtimes, [](const RuntimeChoice& runtime) { return !runtime.takes_quantized; });
  const std::string no_file = names_where(choice.runtimes, [](const RuntimeChoice& runtime) {
    return !runtime.takes_float && !runtime.takes_quantized;
  });
  if (!no_float.empty()) {
    choice.advice = FileAdvice::quantized;
    choice.reasons.push_back(fmt::format("the float file is refused by {}", no_float));
  }
  if (!no_quantized.empty()) {
    choice.advice = no_float.empty() ? FileAdvice::floating : FileAdvice::both;
    choice.reasons.push_back(fmt::format("the quantized file is refused by {}", no_quantized));
  }
  if (!no_file.empty()) choice.advice = FileAdvice::neither;
}

std::string names_that_prefer(const FileChoice& choice, FileAdvice file) {
  return names_where(choice.runtimes, [file](const RuntimeChoice& runtime) {
    return runtime.takes_float && runtime.takes_quantized && runtime.loads_faster == file;
  });
}

void decide_by_load(FileChoice& choice) {
  const std::string for_float = names_that_prefer(choice, FileAdvice::floating);
  const std::string for_quantized = names_that_prefer(choice, FileAdvice::quantized);
  const bool is_decided = !choice.reasons.empty();
  const bool saves_size = choice.smaller == FileAdvice::quantized;
  if (!for_quantized.empty()) {
    choice.reasons.push_back(
        fmt::format("less of the quantized file is converted at load by {}: the float one brings "
                    "nothing there",
                    for_quantized));
  }
  if (!for_float.empty()) {
    choice.reasons.push_back(
        fmt::format("less of the float file is converted at load by {}, and it may be more "
                    "accurate there",
                    for_float));
  }
  if (!is_decided) {
    if (!for_quantized.empty()) {
      choice.advice = FileAdvice::quantized;
    } else if (!for_float.empty()) {
      choice.advice = saves_size ? FileAdvice::either : FileAdvice::floating;
    }
  }
  if (choice.advice == FileAdvice::either && !for_float.empty()) {
    choice.reasons.emplace_back(
        "the quantized file is smaller: try both, and weigh size against time to load and "
        "accuracy");
  }
  if (choice.advice == FileAdvice::quantized && !for_float.empty()) {
    choice.reasons.push_back(
        fmt::format("a float file beside it saves {} the conversion", for_float));
  }
  if (choice.reasons.empty()) {
    choice.reasons.emplace_back("every runtime converts as much of either file");
  }
}

}  // namespace

std::string_view to_string(FileAdvice advice) noexcept {
  switch (advice) {
    case FileAdvice::floating:
      return "float";
    case FileAdvice::quantized:
      return "quantized";
    case FileAdvice::either:
      return "either";
    case FileAdvice::both:
      return "both";
    case FileAdvice::neither:
      return "neither";
  }
  return {};
}

Expected<FileChoice> choose_file(const ModelFile& floating, const ModelFile& quantized) {
  QUADRANT_CHECK(check_files(floating.placement, quantized.placement));
  FileChoice choice;
  if (floating.bytes < quantized.bytes) choice.smaller = FileAdvice::floating;
  if (quantized.bytes < floating.bytes) choice.smaller = FileAdvice::quantized;
  for (std::size_t i = 0; i < floating.placement.runtimes.size(); ++i) {
    choice.runtimes.push_back(
        compare_on(floating.placement.runtimes[i], quantized.placement.runtimes[i]));
  }
  decide_by_refusals(choice);
  decide_by_load(choice);
  return choice;
}

}  // namespace quadrant::inline v0
