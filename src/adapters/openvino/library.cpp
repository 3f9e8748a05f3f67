#include "adapters/openvino/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace quadrant::inline v0::openvino {
namespace {

// Where it was when this was built; else wherever the system finds that version. Its file's name
// has the release, and another release's headers are others: the numbers of element types change.
constexpr std::string_view built_with = QUADRANT_OPENVINO_LIBRARY;

Expected<void*> open_library() {
  const std::string path(built_with);
  constexpr int mode = RTLD_NOW | RTLD_LOCAL;
  if (void* handle = ::dlopen(path.c_str(), mode)) return handle;
  const char* said = ::dlerror();  // NOLINT(concurrency-mt-unsafe): of this thread
  const std::string reason = said == nullptr ? path : said;
  const std::string name = std::filesystem::path(path).filename().string();
  if (void* handle = ::dlopen(name.c_str(), mode)) return handle;
  return fail(ErrorCode::impossible,
              fmt::format("OpenVINO cannot be loaded: {}; put this release there, name its folder "
                          "in LD_LIBRARY_PATH, or build quadrant again",
                          reason));
}

template <class Function>
Expected<void> find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function != nullptr) return {};
  return fail(ErrorCode::impossible,
              fmt::format("this OpenVINO has no {}: 2024.6 or later is needed", name));
}

// Without the lines that say in which of OpenVINO's own sources it was, as one line.
std::string on_one_line(std::string_view message) {
  std::string text;
  while (!message.empty()) {
    const std::string_view line = message.substr(0, message.find('\n'));
    message.remove_prefix(std::min(message.size(), line.size() + 1));
    if (line.empty() || line.starts_with("Exception from ")) continue;
    if (!text.empty()) text += ' ';
    text += line;
  }
  return text;
}

}  // namespace

Expected<Library> Library::load() {
  QUADRANT_TRY(void* const handle, open_library());
  Library library;
#define QUADRANT_OPENVINO_FIND(name) QUADRANT_CHECK(find(handle, #name, library.name));
  QUADRANT_OPENVINO_FUNCTIONS(QUADRANT_OPENVINO_FIND)
#undef QUADRANT_OPENVINO_FIND
  return library;
}

Expected<const Library*> Library::get() {
  static const Expected<Library> library = load();
  if (!library) return fail(library.error());
  return &*library;
}

Expected<void> Library::check(ov_status_e status, std::string_view what) const {
  if (status == ov_status_e::OK) return {};
  const std::unique_ptr<const char, void (*)(const char*)> message(ov_get_last_err_msg(), ov_free);
  std::string text = on_one_line(message ? message.get() : "");
  if (text.empty()) text = ov_get_error_info(status);
  return fail(ErrorCode::impossible, fmt::format("OpenVINO cannot {}: {}", what, text));
}

}  // namespace quadrant::inline v0::openvino
