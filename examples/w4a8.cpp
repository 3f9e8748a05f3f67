// Weights of 4 bits and activations of 8, with outliers of activations migrated into weights
// (SmoothQuant, arXiv 2211.10438).
//
//   build/release/bin/example_w4a8 examples/models/tiny_transformer.onnx /tmp/w4a8.onnx
#include <cmath>
#include <iostream>

#include "quadrant/quadrant.hpp"

using namespace quadrant;

namespace {

// By the square root of the largest magnitude of each channel.
Expected<std::size_t> migrate_outliers(Graph& graph, const DataSet& samples) {
  CalibrateOptions watched{.histograms = false};
  for (const MigrationSite& site : find_migrations(graph).sites) {
    watched.values.push_back({graph.find_value(site.value), -1});
  }
  if (watched.values.empty()) return 0;
  QUADRANT_TRY(const StatisticsTable seen, calibrate(graph, Interpreter(), samples, watched));
  std::vector<Migration> migrations;
  for (const MigrationSite& site : find_migrations(graph).sites) {
    const auto& table = seen.find(site.value)->by_channel;
    if (!table || std::ssize(table->channels) != site.channels) continue;  // along another axis
    Migration& made = migrations.emplace_back(Migration{site.value, {}});
    for (const ChannelStatistics& each : table->channels) {
      made.factors.push_back(std::sqrt(std::max({-each.min, each.max, 1e-5F})));
    }
  }
  QUADRANT_CHECK(migrate(graph, migrations));
  return migrations.size();
}

Expected<void> quantize_file(const std::string& in, const std::string& out) {
  QUADRANT_TRY(Graph graph, read_model(in));
  const auto samples = random_data_set(graph, 16, /*seed=*/1);
  QUADRANT_TRY(const std::size_t migrated, migrate_outliers(graph, *samples));
  QUADRANT_TRY(StatisticsTable seen, calibrate(graph, Interpreter(), *samples));
  StaticAffineOptions options{.statistics =
                                  std::make_shared<const StatisticsTable>(std::move(seen))};
  options.weights.bits = 4;
  QUADRANT_TRY(const QuantizeResult result, quantize_static(graph, std::move(options)));
  QUADRANT_TRY(const WrittenModel written, write_model(result.graph, out));
  std::cout << migrated << " values migrated, " << written.bytes << " bytes\n";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: " << argv[0] << " MODEL OUT\n";
    return 2;
  }
  const auto done = quantize_file(argv[1], argv[2]);
  if (!done) std::cerr << to_string(done.error()) << '\n';
  return done ? 0 : 1;
}
