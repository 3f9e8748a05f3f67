#include "pipeline/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "calibration/hash_sample.hpp"
#include "calibration/located.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/support/files.hpp"
#include "quadrant/support/ranks.hpp"
#include "quadrant/version.hpp"
#include "support/content_hash.hpp"
#include "support/input_file.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::string_view checkpoint_magic = "QGATHERS";

// A sum, so that ranks can add up theirs.
Expected<std::uint64_t> hash_samples(const DataSet& samples, SamplePart part,
                                     const RunContext& context) {
  std::uint64_t sum = 0;
  for (std::size_t i = part.index; i < samples.size(); i += part.count) {
    QUADRANT_CHECK(context.check_stop());
    QUADRANT_TRY(const Sample sample, read_sample(samples, i));
    ContentHash hash;
    const std::string name = fmt::format("{} {}", i, samples.name(i));
    hash.add(std::as_bytes(std::span(name)));
    hash_sample(hash, sample);
    sum += hash.value();
  }
  return sum;
}

Expected<std::uint64_t> hash_samples(const DataSet& samples, const RunContext& context) {
  Ranks* const ranks = context.ranks;
  if (ranks == nullptr) return hash_samples(samples, SamplePart{}, context);
  auto own = hash_samples(samples, SamplePart{ranks->rank(), ranks->size()}, context);
  QUADRANT_TRY(const std::vector<std::string> all,
               ranks->gather(std::move(own).map([](std::uint64_t hash) {
                 ByteWriter out;
                 out.number(hash);
                 return out.take();
               })));
  std::uint64_t sum = 0;
  for (const std::string& each : all) sum += ByteReader(each).number<std::uint64_t>();
  return sum;
}

}  // namespace

std::string fact_of(std::string_view text) {
  ContentHash hash;
  hash.add(std::as_bytes(std::span(text)));
  return fmt::format("{:016x}", hash.value());
}

Expected<std::string> fact_of(const Graph& model, const RunContext& context) {
  QUADRANT_TRY(const std::uint64_t hash, model_hash(model, context.executor));
  return fmt::format("{:016x}", hash);
}

Expected<std::string> fact_of(const DataSet& samples, const RunContext& context) {
  QUADRANT_TRY(const std::uint64_t hash, hash_samples(samples, context));
  return fmt::format("{} of hash {:016x}", samples.size(), hash);
}

Expected<Checkpoint> Checkpoint::open(CheckpointOptions options, Facts facts,
                                      const RunContext& context) {
  Checkpoint made(std::move(options), context);
  made.facts_ = {{"the version", QUADRANT_VERSION_STRING}};
  for (auto& fact : facts) made.facts_.push_back(std::move(fact));
  for (const auto& setting : made.options_.settings) made.facts_.push_back(setting);
  Expected<std::string> bytes = is_first(context.ranks) ? made.read() : std::string();
  if (context.ranks != nullptr) bytes = context.ranks->of_first(std::move(bytes));
  QUADRANT_TRY(const std::string found, std::move(bytes));
  if (!found.empty()) QUADRANT_CHECK(in_file(made.parse(found), made.options_.path));
  return made;
}

// Nothing where there is none.
Expected<std::string> Checkpoint::read() const {
  std::error_code ignored;  // reading says more
  if (!std::filesystem::exists(options_.path, ignored)) return std::string();
  QUADRANT_TRY(const InputFile file, InputFile::open(options_.path));
  QUADRANT_TRY(std::string bytes,
               file.text(std::numeric_limits<std::uint64_t>::max(), "checkpoints"));
  if (bytes.starts_with(checkpoint_magic)) return bytes;
  return fail(ErrorCode::usage,
              "this is no checkpoint, and would be written over: remove it, or name another file",
              {.file = options_.path});
}

Expected<void> Checkpoint::parse(const std::string& bytes) {
  ByteReader in(std::string_view(bytes).substr(checkpoint_magic.size()));
  Facts saved;
  for (auto count = in.number<std::uint64_t>(); count != 0 && !in.failed(); --count) {
    std::string name = in.text();
    saved.emplace_back(std::move(name), in.text());
  }
  for (auto count = in.number<std::uint64_t>(); count != 0 && !in.failed(); --count) {
    Table& table = tables_[in.text()];
    table.samples = in.number<std::uint64_t>();
    table.contents = in.text();
  }
  QUADRANT_CHECK(check_read(in));
  std::string differing;
  for (const auto& [name, value] : facts_) {
    const auto same = std::ranges::find(saved, name, &Facts::value_type::first);
    const std::string was = same == saved.end() ? "not said" : same->second;
    if (was == value) continue;
    differing += fmt::format("{}{} ({}; now {})", differing.empty() ? "" : ", ", name, was, value);
  }
  if (differing.empty()) return {};
  return fail(ErrorCode::usage,
              fmt::format("this checkpoint is of another run, which differs in {}: remove it to "
                          "begin anew, or name another file",
                          differing));
}

Expected<void> Checkpoint::check_read(const ByteReader& table) const {
  if (!table.failed() && table.is_at_end()) return {};
  return fail(ErrorCode::invalid_model, "this checkpoint is damaged: remove it to begin anew",
              {.file = options_.path});
}

void Checkpoint::remove_at_end() const {
  if (!is_kept() || context_->files == nullptr || !is_first(context_->ranks)) return;
  context_->files->remove_at_end(options_.path);
}

const Checkpoint::Table* Checkpoint::find(const std::string& name) const {
  const auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : &found->second;
}

Expected<void> Checkpoint::keep(const std::string& name, Table table) {
  tables_[name] = std::move(table);
  if (!is_first(context_->ranks)) return {};
  ByteWriter out;
  out.raw(checkpoint_magic);
  out.number(static_cast<std::uint64_t>(facts_.size()));
  for (const auto& [fact, value] : facts_) {
    out.text(fact);
    out.text(value);
  }
  out.number(static_cast<std::uint64_t>(tables_.size()));
  for (const auto& [of, each] : tables_) {
    out.text(of);
    out.number(each.samples);
    out.text(each.contents);
  }
  const std::string bytes = out.take();
  QUADRANT_TRY(NewFile file, NewFile::create(options_.path));
  QUADRANT_CHECK(file.write(std::as_bytes(std::span(bytes))));
  return file.commit();
}

}  // namespace quadrant::inline v0
