#include "quadrant/pipeline/plugin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace quadrant::inline v0 {
namespace {

#ifdef QUADRANT_SHARED
constexpr bool is_shared = true;
#else
constexpr bool is_shared = false;
#endif

constexpr const char* symbol = "quadrant_plugin";

Expected<void> check_plugin(const Plugin& plugin) {
  if (plugin.layout != Plugin::current_layout) {
    return fail(ErrorCode::invalid_model,
                fmt::format("it is a plug-in for another version than {}: build it with this one's "
                            "headers",
                            QUADRANT_VERSION_STRING));
  }
  if (plugin.version != std::string_view(QUADRANT_VERSION_STRING)) {
    return fail(
        ErrorCode::invalid_model,
        fmt::format("it was built for quadrant {}, and this is {}: build it with this one's "
                    "headers",
                    plugin.version, QUADRANT_VERSION_STRING));
  }
  if (plugin.abi != std::string_view(QUADRANT_ABI_TAG)) {
    return fail(ErrorCode::invalid_model,
                fmt::format("it was built by {}, and this library by {}: build both alike",
                            plugin.abi, QUADRANT_ABI_TAG));
  }
  if (plugin.add == nullptr) {
    return fail(ErrorCode::invalid_model, "its QUADRANT_PLUGIN names no function");
  }
  if (plugin.library() != library_copy()) {
    return fail(ErrorCode::invalid_model,
                "it has a quadrant of its own inside, whose schemes this one does not know: link "
                "it to the shared library, of an installation that was built with "
                "-DBUILD_SHARED_LIBS=ON");
  }
  return {};
}

Expected<void> load(const std::string& path, SchemeTable& schemes) {
  if (!is_shared) {
    return fail(ErrorCode::usage,
                "plug-ins need a shared libquadrant, and here it is linked statically: use the "
                "command of a build with -DBUILD_SHARED_LIBS=ON, or an executable of your own that "
                "links the scheme and the command");
  }
  std::error_code unknown;
  const std::filesystem::path file = std::filesystem::absolute(path, unknown);
  if (unknown || !std::filesystem::exists(file, unknown)) {
    return fail(ErrorCode::usage, "there is no such plug-in");
  }
  // Never closed: what it added stays.
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is of the thread
    const char* const why = ::dlerror();
    return fail(ErrorCode::invalid_model,
                fmt::format("it cannot be loaded ({}): a plug-in is a shared library that links "
                            "quadrant {}",
                            why == nullptr ? "unknown" : why, QUADRANT_VERSION_STRING));
  }
  const auto* const plugin = static_cast<const Plugin*>(::dlsym(library, symbol));
  if (plugin == nullptr) {
    return fail(
        ErrorCode::invalid_model,
        fmt::format("it has no symbol '{}': QUADRANT_PLUGIN of quadrant/pipeline/plugin.hpp "
                    "makes it",
                    symbol));
  }
  QUADRANT_CHECK(check_plugin(*plugin));
  SchemeTable with_its_own = schemes;
  QUADRANT_CHECK(plugin->add(with_its_own));
  schemes = std::move(with_its_own);
  return {};
}

}  // namespace

const void* library_copy() noexcept {
  static const char here = 0;
  return &here;
}

Expected<void> load_plugin(const std::string& path, SchemeTable& schemes) {
  auto loaded = load(path, schemes);
  if (!loaded && loaded.error().place.file.empty()) loaded.error().place.file = path;
  return loaded;
}

}  // namespace quadrant::inline v0
