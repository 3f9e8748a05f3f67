#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "quadrant/recipe/documents.hpp"
#include "recipe/hash_text.hpp"
#include "recipe/json_reader.hpp"

namespace quadrant::inline v0 {
namespace {

using Json = nlohmann::ordered_json;
using Bins = std::vector<std::uint64_t>;

constexpr std::string_view statistics_format = "quadrant.statistics";
constexpr std::int64_t statistics_version = 2;
// Far more than models have. A line takes a hundred bytes in the file, and 128 KiB in memory.
constexpr std::size_t most_values = 65536;

// --- writing -------------------------------------------------------------------------------------

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json runs_of(std::span<const std::uint64_t> bins) {
  Json runs = Json::array();
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] == 0) continue;
    if (i == 0 || bins[i - 1] == 0) runs.push_back({i});
    runs.back().push_back(bins[i]);
  }
  return runs;
}

Json to_json(const ChannelTable& table) {
  Json count = Json::array();
  Json min = Json::array();
  Json max = Json::array();
  Json sum = Json::array();
  for (const ChannelStatistics& channel : table.channels) {
    count.push_back(channel.count);
    min.push_back(static_cast<double>(channel.min));
    max.push_back(static_cast<double>(channel.max));
    sum.push_back(channel.sum.to_hex());
  }
  return {{"axis", table.axis},    {"varying", table.is_varying}, {"count", std::move(count)},
          {"min", std::move(min)}, {"max", std::move(max)},       {"sum", std::move(sum)}};
}

Json to_json(const std::string& name, const TensorStatistics& statistics) {
  const Histogram::Counts counts = statistics.histogram.counts();
  Json json = {{"value", name},
               {"samples", statistics.samples},
               {"min", static_cast<double>(counts.min)},
               {"max", static_cast<double>(counts.max)},
               {"sum", statistics.sum.to_hex()},
               {"zeros", counts.zeros},
               {"nan", counts.nan},
               {"positive_infinity", counts.positive_infinity},
               {"negative_infinity", counts.negative_infinity},
               {"negative", runs_of(counts.negative)},
               {"positive", runs_of(counts.positive)}};
  if (statistics.by_channel) json["by_channel"] = to_json(*statistics.by_channel);
  return json;
}

// --- reading -------------------------------------------------------------------------------------

float read_float(ObjectReader& reader, const char* key, double value) {
  if (std::fabs(value) <= std::numeric_limits<float>::max()) return static_cast<float>(value);
  reader.refuse(key, "a number beyond float32's range");
  return 0;
}

ExactSum read_sum(ObjectReader& reader, const char* key, const std::string& text) {
  const std::optional<ExactSum> sum = ExactSum::from_hex(text);
  if (!sum) reader.refuse(key, "expected a number such as \"-0x3p-1\"");
  return sum.value_or(ExactSum{});
}

// Which had no hash.
bool is_first_version(const nlohmann::json& document) {
  if (!document.is_object()) return false;
  const auto found = document.find("version");
  return found != document.end() && *found == 1;
}

// Each run is in front of the next, and inside of the bins.
Bins read_bins(ObjectReader& reader, const char* key) {
  const std::vector<Bins> runs = reader.lists_of_counts(key);
  if (runs.empty()) return {};
  Bins bins(Histogram::bins_per_sign);
  std::size_t next = 0;
  for (const Bins& run : runs) {
    if (run.size() < 2 || run[0] < next || run[0] > bins.size() ||
        run.size() - 1 > bins.size() - run[0]) {
      reader.refuse(key,
                    fmt::format("expected runs of bins: [first, count, ...], in ascending order "
                                "and below {}",
                                bins.size()));
      return {};
    }
    std::copy(run.begin() + 1, run.end(), bins.begin() + static_cast<std::ptrdiff_t>(run[0]));
    next = static_cast<std::size_t>(run[0]) + run.size() - 1;
  }
  return bins;
}

// Whether so many values from this range can have this sum, but for rounding.
bool is_possible(const ChannelStatistics& values) {
  if (values.count == 0) {
    return values.min == 0 && values.max == 0 && values.sum == ExactSum{};
  }
  const auto min = static_cast<double>(values.min);
  const auto max = static_cast<double>(values.max);
  const double mean = values.sum.value() / static_cast<double>(values.count);
  const double slack = 1e-12 * std::max(std::fabs(min), std::fabs(max));
  return min <= max && mean >= min - slack && mean <= max + slack;
}

// The values of a histogram as one channel.
ChannelStatistics whole(const Histogram& histogram, const ExactSum& sum) {
  return {histogram.finite_count(), histogram.min(), histogram.max(), sum};
}

Expected<ChannelTable> read_channels(ObjectReader& reader, const ChannelStatistics& all) {
  ChannelTable table;
  table.axis = reader.integer("axis");
  table.is_varying = reader.boolean("varying");
  const Bins counts = reader.counts("count");
  const std::vector<double> min = reader.reals("min");
  const std::vector<double> max = reader.reals("max");
  const std::vector<std::string> sums = reader.strings("sum");
  if (min.size() != counts.size() || max.size() != counts.size() || sums.size() != counts.size()) {
    reader.refuse("count", "the channels have not as many counts as ranges and sums");
    return fail(reader.finish().error());
  }
  ChannelStatistics together;
  bool possible = !table.is_varying || counts.empty();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const ChannelStatistics channel{counts[i], read_float(reader, "min", min[i]),
                                    read_float(reader, "max", max[i]),
                                    read_sum(reader, "sum", sums[i])};
    possible = possible && channel.count <= all.count && is_possible(channel);
    together.merge(channel);
    table.channels.push_back(channel);
  }
  possible = possible && (table.channels.empty() || together == all);
  if (!possible) reader.refuse("count", "these are not the channels of this value");
  QUADRANT_CHECK(reader.finish());
  return table;
}

Expected<TensorStatistics> read_statistics(ObjectReader& reader) {
  TensorStatistics statistics;
  statistics.samples = reader.count("samples");
  Histogram::Counts counts;
  counts.min = read_float(reader, "min", reader.real("min"));
  counts.max = read_float(reader, "max", reader.real("max"));
  statistics.sum = read_sum(reader, "sum", reader.string("sum"));
  counts.zeros = reader.count("zeros");
  counts.nan = reader.count("nan");
  counts.positive_infinity = reader.count("positive_infinity");
  counts.negative_infinity = reader.count("negative_infinity");
  counts.negative = read_bins(reader, "negative");
  counts.positive = read_bins(reader, "positive");
  std::optional<ObjectReader> channels = reader.optional_object("by_channel");
  QUADRANT_CHECK(reader.finish());
  Expected<Histogram> histogram = Histogram::from_counts(counts);
  if (!histogram) {
    reader.refuse("min", histogram.error().message);
    return fail(reader.finish().error());
  }
  statistics.histogram = *std::move(histogram);
  const ChannelStatistics all = whole(statistics.histogram, statistics.sum);
  if (!is_possible(all)) reader.refuse("sum", "the values do not have this sum");
  QUADRANT_CHECK(reader.finish());
  if (channels) {
    QUADRANT_TRY(statistics.by_channel, read_channels(*channels, all));
  }
  return statistics;
}

}  // namespace

std::string print_statistics(const StatisticsTable& table) {
  std::string text = fmt::format(
      "{{\n  \"format\": \"{}\",\n  \"version\": {},\n  \"model\": {},\n{}  \"samples\": {},\n"
      "  \"values\": [",
      statistics_format, statistics_version, line_of(table.model),
      table.model_hash == 0
          ? std::string()
          : fmt::format("  \"model_hash\": \"{}\",\n", print_hash(table.model_hash)),
      table.samples);
  const char* separator = "\n    ";
  for (const auto& [name, statistics] : table.values) {
    text += separator + line_of(to_json(name, statistics));
    separator = ",\n    ";
  }
  return text + (table.values.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

Expected<StatisticsTable> parse_statistics(std::string_view text) {
  QUADRANT_TRY(const nlohmann::json document, parse_json(text));
  ObjectReader reader(document, "$");
  reader.check_format(statistics_format, is_first_version(document) ? 1 : statistics_version);
  StatisticsTable table;
  table.model = reader.string("model");
  if (reader.optional_member("model_hash") != nullptr) {
    table.model_hash = read_hash(reader, "model_hash");
  }
  table.samples = reader.count("samples");
  std::vector<ObjectReader> values = reader.objects("values");
  if (values.size() > most_values) {
    reader.refuse("values", fmt::format("more than {} values", most_values));
  }
  QUADRANT_CHECK(reader.finish());
  for (ObjectReader& value : values) {
    std::string name = value.string("value");
    if (table.find(name) != nullptr) value.refuse("value", "this value is there already");
    QUADRANT_TRY(table.values[std::move(name)], read_statistics(value));
  }
  return table;
}

}  // namespace quadrant::inline v0
