#include "mlir_plugin/one_function.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace quadrant::inline v0::mlir_plugin {

Expected<mlir::FunctionOpInterface> find_one_function(mlir::Operation* root, std::string_view name,
                                                      std::string_view pass) {
  if (llvm::isa<mlir::FunctionOpInterface>(root)) {
    return fail(ErrorCode::usage,
                fmt::format("{} is about one function of a module: it runs on the module, and "
                            "function=NAME says which",
                            pass));
  }
  std::vector<mlir::FunctionOpInterface> functions;
  root->walk([&](mlir::FunctionOpInterface function) {
    const bool is_wanted = name.empty() || std::string_view(function.getName()) == name;
    if (!function.isExternal() && is_wanted) functions.push_back(function);
  });
  if (functions.size() == 1) return functions.front();
  const std::string called = name.empty() ? "" : fmt::format(" '{}'", name);
  if (functions.empty()) {
    return fail(ErrorCode::usage, fmt::format("there is no function{} with a body", called));
  }
  return fail(ErrorCode::usage,
              fmt::format("there are {} functions{}: {}", functions.size(), called,
                          name.empty() ? "function=NAME says which"
                                       : "modules within modules have one each, and the pass runs "
                                         "on one of them"));
}

}  // namespace quadrant::inline v0::mlir_plugin
