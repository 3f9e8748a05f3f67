// quadrant inspect MODEL: what is in a model.
#include <string>
#include <string_view>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "pipeline/contents.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/pipeline/model_file.hpp"

namespace quadrant::cli {
namespace {

class Inspect final : public Command {
 public:
  Inspect() : Command({.name = "inspect", .about = "Show what is in a model"}) {}

  void declare(CLI::App& command) override {
    add_model(command, model_);
    CLI::Option* text =
        command.add_flag("--text", text_, "Print the graph, one line a node, for bug reports");
    declare_json(command, json_);
    text->excludes("--json");
    command.footer("Example:\n  quadrant inspect model.onnx");
  }

  Expected<void> run(Console& console) override {
    QUADRANT_TRY(const Graph graph, read_model(model_, console.context()));
    if (text_) {
      std::string text = print_graph(graph);
      const auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
      if (has("<...>") || has("{...}") || has("[...]")) {
        text +=
            "# <...>, {...} and [...] stand for contents that are left out: 'quadrant convert "
            "MODEL "
            "OUT.qd' writes all\n";
      }
      console.print(text);
      return {};
    }
    if (json_) {
      console.print_json(contents_json(graph, model_));
    } else {
      console.print(print_contents(graph, model_));
    }
    return {};
  }

 private:
  std::string model_;
  bool text_ = false;
};

}  // namespace

std::unique_ptr<Command> make_inspect(const SchemeTable& /*schemes*/) {
  return std::make_unique<Inspect>();
}

}  // namespace quadrant::cli
