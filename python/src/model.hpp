// Models, and what quantization made of them.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "job.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/report/summary.hpp"
#include "session.hpp"

namespace quadrant::python {

/// Name, element type, and extents as far as they are known.
using Port =
    std::tuple<std::string, std::string, std::optional<std::vector<std::optional<std::int64_t>>>>;

struct Model {
  std::shared_ptr<const Graph> graph;
  std::string path;  ///< empty: it was not read from a file
  Recipe made_by;    ///< what quantized it; or nothing

  [[nodiscard]] std::vector<Port> inputs() const;
  [[nodiscard]] std::vector<Port> outputs() const;
  /// Constants of floats, or codes that stand for some.
  [[nodiscard]] std::vector<std::string> weights() const;
  /// Its elements. Fails for a name that is not among those.
  [[nodiscard]] Array weight(Session& session, const std::string& name) const;
};

/// `has_name`: the file stays, and its path is what to call the model.
[[nodiscard]] Model read(Session& session, const std::string& path, bool has_name);

struct WriteOptions {
  bool is_lowered = false;  ///< as `quadrant convert` does it
  std::string target;       ///< empty: what the format suggests
  bool external_data = false;
  bool matmul_nbits = false;
  bool coded_borders = false;
  bool repair_ranges = false;
};
struct Written {
  std::uint64_t bytes = 0;
  std::vector<std::string> remarks;
};
[[nodiscard]] Written write(Session& session, const Model& model, const std::string& path,
                            const WriteOptions& options);

/// A run that is over. What it needed of Python is gone.
class Result {
 public:
  Result(std::shared_ptr<Session> session, RunResult done);

  [[nodiscard]] static std::shared_ptr<Result> make(std::shared_ptr<Session> session,
                                                    const Model& model, const Job& job,
                                                    const Plan* plan);

  [[nodiscard]] std::string plan() const;     ///< JSON
  [[nodiscard]] std::string recipe() const;   ///< JSON
  [[nodiscard]] std::string summary() const;  ///< JSON, as the command's
  [[nodiscard]] std::string summary_text() const;
  /// Of each node of that name, or of the one that makes the value of that name.
  [[nodiscard]] std::string explain(const std::string& name) const;
  [[nodiscard]] std::string report(Session& session) const;  ///< HTML

  /// Shares `self`, which it is part of.
  [[nodiscard]] static Model model(const std::shared_ptr<Result>& self);
  [[nodiscard]] static Model float_model(const std::shared_ptr<Result>& self);

 private:
  [[nodiscard]] Summary summarized() const;

  std::shared_ptr<Session> session_;  // which `prepared_` refers to
  PreparedRun prepared_;
  QuantizeResult quantized_;
};

}  // namespace quadrant::python
