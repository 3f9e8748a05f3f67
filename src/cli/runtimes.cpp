#include "cli/runtimes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/arguments.hpp"
#include "cli/resources.hpp"
#include "quadrant/adapters/openvino.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {
void declare_run_memory(CLI::App& command, std::string& text) {
  text = fmt::format("{}GiB", Interpreter::default_memory >> 30U);
  add_value(command, "--run-memory", text, "SIZE",
            "Memory for the tensors that the interpreter computes from a sample, of which as "
            "many run at a time as there are threads. A model that needs more is refused")
      ->capture_default_str();
}

Expected<void> use_run_memory(Console& console) {
  QUADRANT_TRY(console.context().run_memory, parse_bytes("--run-memory", console.run_memory));
  return {};
}

Expected<std::unique_ptr<Runtime>> make_runtime(std::string_view name, Console& console) {
  const auto interpreter = [&](std::vector<KernelEntry> kernels) {
    return std::make_unique<Interpreter>(std::move(kernels), console.context().run_memory);
  };
  if (name == runtime_names[0]) return interpreter({});
  if (name == runtime_names[1]) return OpenVinoRuntime::make();
  if (name == runtime_names[2]) {
    return interpreter(paired_sum_kernels(PairedSums::onnxruntime));
  }
  if (name == runtime_names[3]) {
    return interpreter(paired_sum_kernels(PairedSums::openvino));
  }
  return fail(ErrorCode::usage,
              fmt::format("there is no runtime '{}': {} are known{}", name,
                          fmt::join(runtime_names, " and "), did_you_mean(name, runtime_names)));
}

void declare_runtime(CLI::App& command, std::string& name) {
  command
      .add_option("--runtime", name,
                  "Runtime for the models: the last two are the interpreter, which saturates as "
                  "those runtimes' integer kernels do on x86 without VNNI")
      ->type_name(fmt::format("{}", fmt::join(runtime_names, "|")))
      ->capture_default_str();
}

}  // namespace quadrant::cli
