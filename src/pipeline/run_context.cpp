#include <utility>

#include "quadrant/pipeline/model_file.hpp"

namespace quadrant::inline v0 {
namespace {

void report(Sink* sink, Severity severity, std::string message, Place place) {
  if (sink != nullptr) sink->report({severity, std::move(message), std::move(place)});
}

}  // namespace

const SchemeTable& RunContext::all_schemes() const {
  return schemes == nullptr ? known_schemes() : *schemes;
}

void RunContext::note(std::string message, Place place) const {
  report(sink, Severity::note, std::move(message), std::move(place));
}

void RunContext::warn(std::string message, Place place) const {
  report(sink, Severity::warning, std::move(message), std::move(place));
}

Expected<void> RunContext::check_stop() const {
  if (!stop.stop_requested()) return {};
  return fail(ErrorCode::cancelled, "stopped as requested");
}

}  // namespace quadrant::inline v0
