// The file of what a call has come to so far.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/support/error.hpp"
#include "support/byte_stream.hpp"

namespace quadrant::inline v0 {

/// All ranks have the same of it; the first reads and writes the file.
///
/// Little-endian; a text is its length, in 8 bytes, and its bytes:
///
///   "QGATHERS"  8 bytes
///   facts       u64 how many, then of each: name, value (texts)
///   tables      u64 how many, then of each: name (text), samples (u64), contents (text)
class Checkpoint {
 public:
  /// A table, and of how many samples it is.
  struct Table {
    std::uint64_t samples = 0;
    std::string contents;
  };
  using Facts = std::vector<std::pair<std::string, std::string>>;

  Checkpoint() = default;  ///< none is kept
  /// Reads it where it is there, and refuses what was kept with other facts. `facts`: what the
  /// result depends on, by names for people, besides the version and the settings of `options`.
  [[nodiscard]] static Expected<Checkpoint> open(CheckpointOptions options, Facts facts,
                                                 const RunContext& context);

  [[nodiscard]] bool is_kept() const noexcept { return !options_.path.empty(); }
  [[nodiscard]] const CheckpointOptions& options() const noexcept { return options_; }
  [[nodiscard]] const std::map<std::string, Table>& tables() const noexcept { return tables_; }
  /// Of this name; null: none yet.
  [[nodiscard]] const Table* find(const std::string& name) const;
  /// Puts the file in place, with this table in place of that of its name.
  [[nodiscard]] Expected<void> keep(const std::string& name, Table table);
  /// That all of a table was read, and it was one.
  [[nodiscard]] Expected<void> check_read(const ByteReader& table) const;
  /// It is of no more use once the context's files are in place.
  void remove_at_end() const;

 private:
  Checkpoint(CheckpointOptions options, const RunContext& context)
      : options_(std::move(options)), context_(&context) {}

  [[nodiscard]] Expected<std::string> read() const;
  [[nodiscard]] Expected<void> parse(const std::string& bytes);

  CheckpointOptions options_;
  const RunContext* context_ = nullptr;
  Facts facts_;
  std::map<std::string, Table> tables_;
};

/// What facts say of what is long: hashes, of samples by name and contents. On ranks each reads a
/// part of the samples.
[[nodiscard]] std::string fact_of(std::string_view text);
[[nodiscard]] Expected<std::string> fact_of(const Graph& model, const RunContext& context);
[[nodiscard]] Expected<std::string> fact_of(const DataSet& samples, const RunContext& context);

}  // namespace quadrant::inline v0
