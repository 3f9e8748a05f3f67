#include "cli/runtimes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "quadrant/adapters/openvino.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/runtime/paired_sums.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {

Expected<std::unique_ptr<Runtime>> make_runtime(std::string_view name) {
  if (name == runtime_names[0]) return std::make_unique<Interpreter>();
  if (name == runtime_names[1]) return OpenVinoRuntime::make();
  if (name == runtime_names[2]) {
    return std::make_unique<Interpreter>(paired_sum_kernels(PairedSums::onnxruntime));
  }
  if (name == runtime_names[3]) {
    return std::make_unique<Interpreter>(paired_sum_kernels(PairedSums::openvino));
  }
  return fail(ErrorCode::usage,
              fmt::format("there is no runtime '{}': {} are known{}", name,
                          fmt::join(runtime_names, " and "), did_you_mean(name, runtime_names)));
}

void declare_runtime(CLI::App& command, std::string& name) {
  command
      .add_option("--runtime", name,
                  "What runs the models: the last two are the interpreter, "
                  "which loses what those runtimes' integer kernels do on x86 without VNNI")
      ->type_name(fmt::format("{}", fmt::join(runtime_names, "|")))
      ->capture_default_str();
}

}  // namespace quadrant::cli
