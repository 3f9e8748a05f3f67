// Schemes that are written in Python, as the engine sees them. What hooks return and raise is read
// in Python (quadrant/_adapter.py); what they raise passes through the engine, which it ends.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "constraint.hpp"
#include "hook.hpp"
#include "model.hpp"
#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/engine/quantize.hpp"

namespace quadrant::python {

/// What the hooks of one run share. What it holds of Python it lets go of when the run is over: it
/// may refer to the result of the run, which refers to this.
struct HookRun {
  Session* session = nullptr;  ///< while it runs
  std::stop_token stop;
  bool carries_gains = false;
  std::optional<Eligibility> found;  ///< of phase 1
  KnownConstraints known;
  std::vector<nb::object> adapters;  ///< none: the run is over

  /// Needs the GIL.
  void end() noexcept;
};

/// A scheme and its methods, put together piece by piece.
class SchemeBuilder {
 public:
  /// `adapter.leave(hook, node)` gives the float form.
  SchemeBuilder(std::string name, std::string options, nb::object adapter);
  SchemeBuilder(const SchemeBuilder&) = delete;
  SchemeBuilder& operator=(const SchemeBuilder&) = delete;
  ~SchemeBuilder() = default;

  /// `adapter` has the hooks; of these, the ones that `hooks` names are called. `patterns` are
  /// alternatives, of `(states, is_optional, is_variadic)` each, states a bit for each State.
  void add(const std::string& op, std::string name,
           const std::vector<std::vector<std::tuple<unsigned, bool, bool>>>& patterns,
           bool is_consumer, const std::vector<std::string>& hooks, nb::object adapter);

  /// Runs the phases. The builder is spent. Throws a Failure for methods of operations that there
  /// are not.
  [[nodiscard]] std::shared_ptr<Result> quantize(std::shared_ptr<Session> session,
                                                 const Model& model, const std::string& gain,
                                                 const std::string& policy, bool leave_non_finite,
                                                 std::vector<std::string> include,
                                                 std::vector<std::string> exclude,
                                                 const Plan* plan);

 private:
  [[nodiscard]] std::size_t keep(nb::object adapter);

  std::shared_ptr<HookRun> run_ = std::make_shared<HookRun>();
  RegistryBuilder builder_;
  std::vector<std::pair<std::string, std::string>> added_;  ///< an operation, and its method's name
};

}  // namespace quadrant::python
