// quadrant diff PLAN_A PLAN_B: what two saved plans decide differently.
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "report/terminal_text.hpp"

namespace quadrant::cli {
namespace {

Json differences_json(const std::vector<PlanDifference>& differences) {
  const auto side = [](const std::string& text) { return text_or_null(text); };
  Json list = Json::array();
  for (const PlanDifference& difference : differences) {
    list.push_back({{"what", difference.what},
                    {"before", side(difference.before)},
                    {"after", side(difference.after)}});
  }
  return list;
}

// A line each, whatever the names in it hold.
std::string print_text(std::vector<PlanDifference> differences) {
  for (PlanDifference& difference : differences) {
    for (std::string* text : {&difference.what, &difference.before, &difference.after}) {
      *text = printable(*text);
    }
  }
  return to_string(differences);
}

class Diff final : public Command {
 public:
  Diff()
      : Command({.name = "diff",
                 .about = "Show what two saved plans decide differently",
                 .reads_models = false}) {}

  void declare(CLI::App& command) override {
    add_argument(command, "PLAN_A", before_, "Plan that 'quadrant plan -o' saved");
    add_argument(command, "PLAN_B", after_, "Plan to compare it with");
    declare_json(command, json_);
    command.footer(
        "A line for each difference: '-' is in PLAN_A alone, '+' in PLAN_B alone. Exit code 0\n"
        "and no line: they decide the same. Exit code 6: they differ.\n\n"
        "Example:\n"
        "  quadrant diff yesterday.json today.json");
  }

  Expected<void> run(Console& console) override {
    QUADRANT_TRY(const Plan before, read_plan(before_));
    QUADRANT_TRY(const Plan after, read_plan(after_));
    const std::vector<PlanDifference> differences = diff(before, after);
    is_different_ = !differences.empty();
    if (json_) {
      console.print_json(Json{{"before", before_},
                              {"after", after_},
                              {"equal", !is_different_},
                              {"differences", differences_json(differences)}});
    } else {
      console.print(print_text(differences));
    }
    return {};
  }

  [[nodiscard]] ExitCode outcome() const noexcept override {
    return is_different_ ? ExitCode::different : ExitCode::done;
  }

 private:
  std::string before_;
  std::string after_;
  bool is_different_ = false;
};

}  // namespace

std::unique_ptr<Command> make_diff(const SchemeTable& /*schemes*/) {
  return std::make_unique<Diff>();
}

}  // namespace quadrant::cli
