#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "calibration/layer_weights.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "support/byte_stream.hpp"
#include "support/merge_left.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::string_view magic = "QMOMENTS";
constexpr std::uint32_t whole_version = 1;  // sums of all pairs
constexpr std::uint32_t block_version = 2;  // some are of blocks
enum class Kind : std::uint8_t { grid, moments };

// --- writing -------------------------------------------------------------------------------------

const WeightMatrices& layout_of(const MomentsGrid::Weight& weight) { return weight.layout; }
const WeightMatrices& layout_of(const KeptMoments& weight) { return weight.layout(); }

std::size_t largest_block(const WeightMatrices& layout) {
  return SecondMoments::block_of(layout, SecondMoments::whole);
}
std::size_t block_of(const MomentsGrid::Weight& weight) {
  return SecondMoments::block_of(weight.layout, weight.block);
}
std::size_t block_of(const KeptMoments& weight) { return weight.block(); }

// What earlier programs understand, too, is written as they do.
template <class Table>
std::uint32_t version_of(const Table& table) {
  const bool has_blocks = std::ranges::any_of(table.weights, [](const auto& weight) {
    return block_of(weight.second) < largest_block(layout_of(weight.second));
  });
  return has_blocks ? block_version : whole_version;
}

template <class Table>
void write_head(ByteWriter& out, Kind kind, std::uint32_t version, const Table& table) {
  out.raw(magic);
  out.number(version);
  out.number(static_cast<std::uint32_t>(kind));
  out.number(table.model_hash);
  out.number(static_cast<std::uint64_t>(table.samples));
  out.text(table.model);
  std::vector<LeftAlone> left;
  merge_left(left, table.left);
  out.number(static_cast<std::uint64_t>(left.size()));
  for (const LeftAlone& each : left) {
    out.text(each.name);
    out.text(each.reason);
  }
  out.number(static_cast<std::uint64_t>(table.weights.size()));
}

void write_layout(ByteWriter& out, std::uint32_t version, std::string_view name,
                  const WeightMatrices& layout, std::size_t block) {
  out.text(name);
  out.numbers(std::span<const std::int64_t>(layout.matrices));
  out.numbers(std::span<const std::int64_t>(layout.rows));
  out.numbers(std::span<const std::int64_t>(layout.columns));
  if (version == block_version) out.number(static_cast<std::uint64_t>(block));
}

// --- reading -------------------------------------------------------------------------------------

tl::unexpected<Error> cut_short(const ByteReader& in) {
  return fail(ErrorCode::invalid_model, "it is cut off", {.offset = in.at()});
}

WeightMatrices read_layout(ByteReader& in) {
  WeightMatrices layout;
  layout.matrices = in.numbers<std::int64_t>();
  layout.rows = in.numbers<std::int64_t>();
  layout.columns = in.numbers<std::int64_t>();
  return layout;
}

Expected<std::size_t> read_block(ByteReader& in, std::uint32_t version,
                                 const WeightMatrices& layout) {
  const std::size_t most = largest_block(layout);
  if (version == whole_version) return most;
  const auto block = in.number<std::uint64_t>();
  if (in.failed()) return cut_short(in);
  if (block >= 1 && block <= most) return static_cast<std::size_t>(block);
  return fail(ErrorCode::invalid_model,
              fmt::format("blocks of {} columns, where there are {}", block, most),
              {.offset = in.at()});
}

Expected<MomentsGrid::Weight> read_weight(ByteReader& in, std::uint32_t version,
                                          MomentsGrid& /*of*/) {
  MomentsGrid::Weight weight{read_layout(in), {}};
  QUADRANT_TRY(weight.block, read_block(in, version, weight.layout));
  weight.steps = in.numbers<double>();
  const std::uint64_t size =
      saturating_multiply(weight.layout.matrices.size(), weight.layout.columns.size());
  if (in.failed()) return cut_short(in);
  if (size == weight.steps.size() && std::ranges::all_of(weight.steps, SecondMoments::is_step)) {
    return weight;
  }
  return fail(ErrorCode::invalid_model, "these are no steps of its columns", {.offset = in.at()});
}

Expected<SecondMoments> read_weight(ByteReader& in, std::uint32_t version,
                                    SecondMomentsTable& /*of*/) {
  WeightMatrices layout = read_layout(in);
  QUADRANT_TRY(const std::size_t block, read_block(in, version, layout));
  std::vector<double> steps = in.numbers<double>();
  std::vector<std::int64_t> counts = in.numbers<std::int64_t>();
  std::vector<std::int64_t> sums = in.numbers<std::int64_t>();
  if (in.failed()) return cut_short(in);
  return SecondMoments::from_sums(std::move(layout), std::move(steps), std::move(counts),
                                  std::move(sums), block);
}

// What is behind the kind.
template <class Table>
Expected<SavedMoments> read_table(ByteReader& in, std::uint32_t version) {
  Table table;
  table.model_hash = in.number<std::uint64_t>();
  table.samples = static_cast<std::size_t>(in.number<std::uint64_t>());
  table.model = in.text();
  for (auto left = in.number<std::uint64_t>(); left != 0 && !in.failed(); --left) {
    std::string name = in.text();
    table.left.push_back({std::move(name), in.text()});
  }
  const auto is_before = [](const LeftAlone& a, const LeftAlone& b) { return a.name < b.name; };
  for (std::size_t i = 1; i < table.left.size(); ++i) {
    if (is_before(table.left[i - 1], table.left[i]) || in.failed()) continue;
    return fail(ErrorCode::invalid_model, "names of what is left are not in order",
                {.tensor = table.left[i].name});
  }
  for (auto weights = in.number<std::uint64_t>(); weights != 0 && !in.failed(); --weights) {
    std::string name = in.text();
    if (in.failed()) break;
    if (!table.weights.empty() && !(table.weights.rbegin()->first < name)) {
      return fail(ErrorCode::invalid_model, "names of weights are not in order",
                  {.tensor = std::move(name), .offset = in.at()});
    }
    auto weight = read_weight(in, version, table);
    if (!weight) {
      weight.error().place.tensor = name;
      return fail(std::move(weight).error());
    }
    table.weights.emplace_hint(table.weights.end(), std::move(name), *std::move(weight));
  }
  if (in.failed()) return cut_short(in);
  if (!in.is_at_end()) {
    return fail(ErrorCode::invalid_model, "more follows behind its end", {.offset = in.at()});
  }
  if (version != version_of(table)) {
    return fail(ErrorCode::invalid_model, "it has the version of a file with blocks, and has none",
                {.offset = magic.size()});
  }
  for (const LeftAlone& each : table.left) {
    if (!table.weights.contains(each.name)) continue;
    return fail(ErrorCode::invalid_model, "it is listed as left out, but is in the file",
                {.tensor = each.name});
  }
  return table;
}

}  // namespace

std::string print_moments(const MomentsGrid& grid) {
  ByteWriter out;
  const std::uint32_t version = version_of(grid);
  write_head(out, Kind::grid, version, grid);
  for (const auto& [name, weight] : grid.weights) {
    write_layout(out, version, name, weight.layout, block_of(weight));
    out.numbers(std::span<const double>(weight.steps));
  }
  return out.take();
}

Expected<void> write_moments(const SecondMomentsTable& moments,
                             FunctionRef<Expected<void>(std::string_view)> sink) {
  ByteWriter out;
  const std::uint32_t version = version_of(moments);
  write_head(out, Kind::moments, version, moments);
  QUADRANT_CHECK(sink(out.take()));
  for (const auto& [name, saved] : moments.weights) {
    QUADRANT_TRY(const auto weight, moments.load(name));
    const std::size_t matrices = weight->layout().matrices.size();
    std::vector<double> steps;
    std::vector<std::int64_t> counts;
    std::uint64_t sums = 0;
    for (std::size_t matrix = 0; matrix < matrices; ++matrix) {
      const auto own = weight->steps(matrix);
      steps.insert(steps.end(), own.begin(), own.end());
      counts.push_back(weight->count(matrix));
      sums += weight->triangle(matrix).size();
    }
    ByteWriter head;
    write_layout(head, version, name, weight->layout(), weight->block());
    head.numbers(std::span<const double>(steps));
    head.numbers(std::span<const std::int64_t>(counts));
    head.number(sums);
    QUADRANT_CHECK(sink(head.take()));
    for (std::size_t matrix = 0; matrix < matrices; ++matrix) {
      const auto bytes = std::as_bytes(weight->triangle(matrix));
      QUADRANT_CHECK(sink({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    }
  }
  return {};
}

std::string print_moments(const SecondMomentsTable& moments) {
  std::string bytes;
  const auto append = [&](std::string_view part) -> Expected<void> {
    bytes += part;
    return {};
  };
  return write_moments(moments, append) ? bytes : std::string();
}

Expected<SavedMoments> parse_moments(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.raw(magic.size()) != magic) {
    return fail(ErrorCode::invalid_model, "this is no file of second moments", {.offset = 0});
  }
  const auto version = in.number<std::uint32_t>();
  const auto kind = in.number<std::uint32_t>();
  if (in.failed()) return cut_short(in);
  if (version < whole_version || version > block_version) {
    return fail(ErrorCode::invalid_model,
                fmt::format("it has version {} of the format; this program reads {} to {}", version,
                            whole_version, block_version),
                {.offset = magic.size()});
  }
  if (kind == static_cast<std::uint32_t>(Kind::grid)) return read_table<MomentsGrid>(in, version);
  if (kind == static_cast<std::uint32_t>(Kind::moments)) {
    return read_table<SecondMomentsTable>(in, version);
  }
  return fail(ErrorCode::invalid_model, "it holds neither grids nor moments",
              {.offset = magic.size() + sizeof(version)});
}

Expected<void> check_moments(const Graph& graph, const SecondMomentsTable& moments) {
  std::vector<LeftAlone> left;
  std::map<std::string_view, WeightMatrices> layouts;
  for (LayerWeight& weight : layer_weights(graph, left)) {
    layouts.try_emplace(graph.value_name({weight.constant}), std::move(weight.layout));
  }
  for (const auto& [name, weight] : moments.weights) {
    const auto found = layouts.find(name);
    if (found != layouts.end() && found->second == weight.layout()) continue;
    return fail(ErrorCode::usage,
                "these second moments are of another model: no layer of this one reads a weight of "
                "that name so",
                {.tensor = name});
  }
  return {};
}

}  // namespace quadrant::inline v0
