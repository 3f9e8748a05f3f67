#include "pipeline/search_checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "calibration/agreement_bytes.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "support/byte_stream.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::string_view attempts = "attempt ";
constexpr std::string_view costs = "costs ";

// --- as bytes: every number as it is -----------------------------------------------------------

void write(ByteWriter& out, const std::optional<ClassificationScore>& score) {
  out.number(static_cast<std::uint8_t>(score.has_value()));
  if (!score) return;
  for (const std::uint64_t count : {score->rows, score->top1, score->top5}) out.number(count);
}

void read(ByteReader& in, std::optional<ClassificationScore>& score) {
  if (in.number<std::uint8_t>() == 0) return;
  score.emplace();
  for (std::uint64_t* const count : {&score->rows, &score->top1, &score->top5}) {
    *count = in.number<std::uint64_t>();
  }
}

void write(ByteWriter& out, const OptimizeFigure& figure) {
  out.number(static_cast<std::uint64_t>(figure.outputs.size()));
  for (const Agreement& output : figure.outputs) write(out, output);
  write(out, figure.before);
  write(out, figure.after);
}

void read(ByteReader& in, OptimizeFigure& figure) {
  for (auto count = in.number<std::uint64_t>(); count != 0 && !in.failed(); --count) {
    figure.outputs.push_back(read_agreement(in));
  }
  read(in, figure.before);
  read(in, figure.after);
}

void write(ByteWriter& out, const OptimizeAttempt& attempt) {
  write(out, attempt.judged);
  write(out, attempt.fitted);
  out.number(attempt.weights);
  out.number(attempt.quantized);
  out.number(static_cast<std::uint8_t>(attempt.is_float));
  out.number(attempt.seconds);
}

void read(ByteReader& in, OptimizeAttempt& attempt) {
  read(in, attempt.judged);
  read(in, attempt.fitted);
  attempt.weights = in.number<std::uint64_t>();
  attempt.quantized = in.number<std::uint64_t>();
  attempt.is_float = in.number<std::uint8_t>() != 0;
  attempt.seconds = in.number<double>();
}

void write(ByteWriter& out, const std::vector<CostlyProduct>& products) {
  out.number(static_cast<std::uint64_t>(products.size()));
  for (const CostlyProduct& product : products) {
    out.text(product.part.name);
    out.text(product.part.reason);
    write(out, product.alone);
  }
}

void read(ByteReader& in, std::vector<CostlyProduct>& products) {
  for (auto count = in.number<std::uint64_t>(); count != 0 && !in.failed(); --count) {
    CostlyProduct product;
    product.part.name = in.text();
    product.part.reason = in.text();
    product.alone = read_agreement(in);
    products.push_back(std::move(product));
  }
}

// --- tables ------------------------------------------------------------------------------------

std::string name_of(const OptimizeAttempt& /*of*/, const std::string& key) {
  return std::string(attempts) + key;
}
std::string name_of(const std::vector<CostlyProduct>& /*of*/, const std::string& key) {
  return std::string(costs) + key;
}

template <class Made>
Expected<bool> find_in(const Checkpoint& file, const std::string& key, Made& made) {
  const Checkpoint::Table* const table = file.find(name_of(made, key));
  if (table == nullptr) return false;
  ByteReader in(table->contents);
  read(in, made);
  QUADRANT_CHECK(file.check_read(in));
  return true;
}

template <class Made>
Expected<void> keep_in(Checkpoint& file, const std::string& key, std::size_t samples,
                       const Made& made) {
  if (!file.is_kept()) return {};
  ByteWriter out;
  write(out, made);
  return file.keep(name_of(made, key), {samples, out.take()});
}

std::string fact_of_labels(const std::optional<std::vector<std::int64_t>>& labels) {
  if (!labels) return "none";
  ByteWriter out;
  out.numbers(std::span<const std::int64_t>(*labels));
  return fact_of(out.take());
}

}  // namespace

Expected<SearchCheckpoint> SearchCheckpoint::open(const TrialSubject& subject,
                                                  const SearchSamples& samples) {
  const OptimizeOptions& options = subject.options;
  const RunContext& context = subject.context;
  const std::size_t fitted = samples.counts().fitted;
  if (options.checkpoint.path.empty()) return SearchCheckpoint(Checkpoint(), fitted);
  QUADRANT_TRY(std::string model, fact_of(subject.model, context));
  QUADRANT_TRY(std::string all, fact_of(samples.all(), context));
  QUADRANT_TRY(std::string judged, fact_of(samples.judging(), context));
  Checkpoint::Facts facts{
      {"what is gathered", "attempts of a search"},
      {"the model", std::move(model)},
      {"the samples", std::move(all)},
      {"the samples to judge on", std::move(judged)},
      {"the labels", fact_of_labels(options.labels)},
      {"the recipe", fact_of(print_recipe(subject.request.recipe.recipe))},
      {"what is good enough",
       fmt::format("{} points, {} dB", options.accept_points, options.accept_sqnr_db)},
      {"what may stay float", fmt::to_string(options.most_float)}};
  QUADRANT_TRY(Checkpoint file, Checkpoint::open(options.checkpoint, std::move(facts), context));
  const auto kept = std::ranges::count_if(
      file.tables(), [](const auto& table) { return table.first.starts_with(attempts); });
  if (kept != 0) {
    context.note(fmt::format("goes on with what {} came to",
                             counted(static_cast<std::size_t>(kept), "attempt")),
                 {.file = options.checkpoint.path});
  }
  return SearchCheckpoint(std::move(file), fitted);
}

Expected<bool> SearchCheckpoint::find(const std::string& key, OptimizeAttempt& made) const {
  return find_in(file_, key, made);
}

Expected<bool> SearchCheckpoint::find(const std::string& key,
                                      std::vector<CostlyProduct>& made) const {
  return find_in(file_, key, made);
}

Expected<void> SearchCheckpoint::keep(const std::string& key, const OptimizeAttempt& made) {
  return keep_in(file_, key, samples_, made);
}

Expected<void> SearchCheckpoint::keep(const std::string& key,
                                      const std::vector<CostlyProduct>& made) {
  return keep_in(file_, key, samples_, made);
}

}  // namespace quadrant::inline v0
