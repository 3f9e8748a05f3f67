#include "pipeline/low_rank_run.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "pipeline/optimizations.hpp"
#include "support/counted.hpp"
#include "support/shared_room.hpp"

namespace quadrant::inline v0 {
namespace {

void tell_corrected(const LowRankReport& report, bool has_moments, const std::string& path,
                    const RunContext& context) {
  double gained = 0;
  std::size_t measured = 0;
  std::uint64_t bytes = 0;
  for (const LowRankCorrected& each : report.corrected) {
    bytes += each.bytes;
    if (!(each.after > 0)) continue;
    gained += 10 * std::log10(each.before / each.after);
    ++measured;
  }
  std::string message =
      fmt::format("low_rank: factors for {} take {}", counted(report.corrected.size(), "weight"),
                  counted(bytes, "byte"));
  if (measured > 0) {
    message += fmt::format(
        "; {} {:.1f} dB less error on average",
        has_moments ? "on these samples, each layer's results have" : "the weights have",
        gained / static_cast<double>(measured));
  }
  context.note(std::move(message), {.file = path});
}

}  // namespace

SchemeSteps::Finish low_rank_step(SchemeSubject& subject, std::size_t rank,
                                  std::shared_ptr<const SecondMomentsTable> moments) {
  subject.low_rank = std::make_shared<LowRankReport>();
  const bool has_moments = moments != nullptr;
  if (const std::uint64_t memory = subject.context.moments_memory; !has_moments && memory != 0) {
    SecondMomentsTable none{.room = std::make_shared<SharedRoom>(memory / 2)};
    moments = std::make_shared<const SecondMomentsTable>(std::move(none));
  }
  return [rank, has_moments, moments = std::move(moments), log = subject.low_rank,
          context = subject.context,
          path = subject.request.model](const Graph& graph, Graph& quantized) -> Expected<void> {
    const LowRankOptions options{
        .rank = rank, .moments = moments.get(), .executor = context.executor};
    QUADRANT_TRY(*log, in_file(correct_low_rank(quantized, graph, options), path));
    tell_corrected(*log, has_moments, path, context);
    tell("low_rank: its codes are not corrected", log->left, context);
    return {};
  };
}

}  // namespace quadrant::inline v0
