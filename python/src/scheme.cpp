#include "scheme.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <map>
#include <source_location>
#include <unordered_map>
#include <utility>

#include "pipeline/name_scope.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/recipe/documents.hpp"

namespace quadrant::python {
namespace {

// What is worth as much as the constraints say that are asked for.
class CarriedGain final : public GainModel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "constraint"; }
  [[nodiscard]] std::string_view unit() const noexcept override { return "gains of constraints"; }
  [[nodiscard]] Gain of_operand(const OperandReading& reading) const override {
    return static_cast<const Constraint*>(reading.form.constraint)->gain();
  }
  [[nodiscard]] Gain of_storage(const Storing&) const override { return Gain{}; }
};

// Calls hooks of Python, each with a Hook that is over when it returns.
class Caller {
 public:
  // `adapter`: which of the run's.
  Caller(std::shared_ptr<const HookRun> run, std::size_t adapter)
      : run_(std::move(run)), adapter_(adapter) {}

  [[nodiscard]] bool is_over() const noexcept { return run_->adapters.empty(); }

  // `read(answer, made)` makes what C++ takes of what Python returned in the call `made`.
  template <class Read, class... Arguments>
  auto call(const char* hook, Hook::Parts parts, Read read, const Arguments&... arguments) const {
    if (is_over()) throw Failure({ErrorCode::usage, "the run is over", {}, {}});
    if (run_->stop.stop_requested()) throw StoppableExecutor::Stopped();
    if (const auto& found = run_->found) parts.found = &*found;
    parts.carries_gains = run_->carries_gains;
    const PythonCall python(*run_->session);
    const auto made = std::make_shared<Hook>(parts);
    const Closing closing{*made};
    return read(run_->adapters[adapter_].attr(hook)(made, arguments...), *made);
  }

 private:
  struct Closing {
    Hook& hook;
    explicit Closing(Hook& of) : hook(of) {}
    Closing(const Closing&) = delete;
    Closing& operator=(const Closing&) = delete;
    ~Closing() { hook.close(); }
  };

  std::shared_ptr<const HookRun> run_;
  std::size_t adapter_;
};

constexpr auto nothing = [](const nb::object&, const Hook&) {};

class PythonScheme final : public Scheme {
 public:
  PythonScheme(std::string name, std::string options, Caller caller)
      : name_(std::move(name)), options_(std::move(options)), caller_(std::move(caller)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] const ConstraintType& constraint_type() const noexcept override {
    return quadrant::constraint_type<Constraint>;
  }
  [[nodiscard]] std::string describe() const override { return options_; }

  [[nodiscard]] Expected<Value> leave(Value quantized, RewriteContext& context) const override {
    const GraphView& graph = context.view();
    return caller_.call(
        "leave", {.graph = &graph, .node = {&graph, quantized.node}, .rewriting = &context},
        [](const nb::object& real, const Hook& call) { return call.value(nb::cast<Node>(real)); },
        quantized.result);
  }

  [[nodiscard]] bool can_enter() const noexcept override { return false; }
  [[nodiscard]] bool can_convert() const noexcept override { return false; }
  [[nodiscard]] std::optional<Gain> erased_price(const FormChange& change,
                                                 const GainModel& gains) const override {
    if (change.kind() != ConversionKind::leave) return std::nullopt;
    return gains.of_conversion(change);
  }
  [[nodiscard]] Expected<Value> erased_enter(Value, const void*, RewriteContext&) const override {
    return fail(ErrorCode::impossible, "this scheme does not quantize floats");
  }
  [[nodiscard]] Expected<Value> erased_convert(Value, const void*, RewriteContext&) const override {
    return fail(ErrorCode::impossible, "this scheme does not requantize");
  }
  [[nodiscard]] std::optional<ConstraintId> erased_recognize(const TensorType&, std::uint32_t,
                                                             ConstraintTable&) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::optional<ElementType> erased_storage_type(const void*) const override {
    return std::nullopt;
  }
  [[nodiscard]] bool can_resolve() const noexcept override { return false; }
  [[nodiscard]] Expected<std::shared_ptr<const UniformType>> erased_resolve(
      const ParameterQuery<void>&) const override {
    return nullptr;
  }

 private:
  std::string name_;
  std::string options_;
  Caller caller_;
};

class PythonMethod final : public QuantizationMethod {
 public:
  struct Declaration {
    std::string name;
    std::vector<ParentsPattern> patterns;
    bool is_consumer = false;
    std::vector<std::string> hooks;
  };

  PythonMethod(Declaration declaration, Caller caller)
      : declaration_(std::move(declaration)), caller_(std::move(caller)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return declaration_.name; }
  [[nodiscard]] std::span<const ParentsPattern> patterns() const noexcept override {
    return declaration_.patterns;
  }
  [[nodiscard]] State eligible_state() const noexcept override {
    return declaration_.is_consumer ? State::Consumer : State::Quantizable;
  }
  [[nodiscard]] std::source_location place() const noexcept override {
    return std::source_location::current();
  }

  // Summaries ask again when the run is over, for nodes that were excluded, too.
  [[nodiscard]] Verdict check_eligibility(NodeRef node,
                                          const EligibilityContext& context) const override {
    if (!has("check_eligibility")) return QuantizationMethod::check_eligibility(node, context);
    if (caller_.is_over()) {
      const auto known = verdicts_.find(node.id.index);
      return known == verdicts_.end() ? Verdict{} : known->second;
    }
    Verdict verdict = verdict_of(node, context);
    verdicts_.try_emplace(node.id.index, verdict);
    return verdict;
  }
  void erased_possible(NodeRef, PossibilityContext&) const override {}
  void erased_callback(const void* wanted, NodeRef node, RequestCollector& asks) const override {
    if (!has("callback")) {
      asks.refuse("this operation does not pass quantization on");
      return;
    }
    Hook::Parts parts = at(node);
    parts.answers = &asks;
    caller_.call("callback", parts, nothing, object(wanted));
  }
  void erased_request(NodeRef node, RequestCollector& asks) const override {
    if (!has("request")) return;
    Hook::Parts parts = at(node);
    parts.asks = &asks;
    caller_.call("request", parts, nothing);
  }
  void erased_forward(NodeRef node, ForwardContext& offers) const override {
    if (!has("forward")) {
      offers.offer_requests();
      return;
    }
    Hook::Parts parts = at(node);
    parts.offers = &offers;
    caller_.call("forward", parts, nothing);
  }
  // Reports ask again when the run is over.
  [[nodiscard]] std::optional<StorageChange> erased_storage(const void* constraint,
                                                            NodeRef node) const override {
    if (!has("storage")) return std::nullopt;
    const std::pair key{node.id.index, constraint};
    if (!caller_.is_over()) storage_[key] = storage(constraint, node);
    const auto known = storage_.find(key);
    return known == storage_.end() ? std::nullopt : known->second;
  }
  [[nodiscard]] Expected<void> erased_examine(const void* selected, NodeRef node,
                                              DataContext& context) const override {
    if (!has("examine")) return {};
    Hook::Parts parts = at(node);
    parts.data = &context;
    caller_.call("examine", parts, nothing, object(selected));
    return {};
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    if (!has("rewriter")) return {};
    Hook::Parts parts = at(node);
    parts.rewriting = &context;
    caller_.call("rewriter", parts, nothing);
    return {};
  }

 private:
  [[nodiscard]] bool has(std::string_view hook) const {
    return std::ranges::find(declaration_.hooks, hook) != declaration_.hooks.end();
  }
  static Hook::Parts at(NodeRef node) { return {.graph = node.graph, .node = node}; }
  static const nb::object& object(const void* constraint) {
    return static_cast<const Constraint*>(constraint)->object();
  }

  [[nodiscard]] Verdict verdict_of(NodeRef node, const EligibilityContext& context) const {
    Hook::Parts parts = at(node);
    parts.method = this;
    parts.eligibility = &context;
    return caller_.call("check_eligibility", parts, [](const nb::object& answer, const Hook&) {
      auto [state, why] = nb::cast<std::pair<unsigned, std::string>>(answer);
      return Verdict{static_cast<State>(state), std::move(why)};
    });
  }
  [[nodiscard]] std::optional<StorageChange> storage(const void* constraint, NodeRef node) const {
    return caller_.call(
        "storage", at(node),
        [](const nb::object& bytes, const Hook&) -> std::optional<StorageChange> {
          if (bytes.is_none()) return std::nullopt;
          const auto [before, after] = nb::cast<std::pair<std::uint64_t, std::uint64_t>>(bytes);
          return StorageChange{before, after};
        },
        object(constraint));
  }

  Declaration declaration_;
  Caller caller_;
  // Of nodes, and of these with a constraint. Written while the run calls, in one thread.
  mutable std::unordered_map<std::uint32_t, Verdict> verdicts_;
  mutable std::map<std::pair<std::uint32_t, const void*>, std::optional<StorageChange>> storage_;
};

// Keeps the states that phase 1 found for the hooks of those after it.
class StateKeeper final : public PhaseObserver {
 public:
  explicit StateKeeper(HookRun& run) : run_(run) {}
  void after_eligibility(const GraphView&, const Eligibility& found) override {
    run_.found = found;
  }

 private:
  HookRun& run_;
};

// Ends the run, with whatever outcome.
struct Ending {
  explicit Ending(HookRun& of) : run(of) {}
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() { run.end(); }
  HookRun& run;
};

Expected<PreparedRun> prepare(const Model& model, Registry registry, Recipe recipe,
                              const RunContext& context) {
  const ScopeOptions patterns{recipe.include, recipe.exclude};
  QUADRANT_CHECK(check_patterns(patterns));
  QUADRANT_TRY(Scope scope, find_scope(*model.graph, registry, patterns, {}));
  auto gains = recipe.gain.empty() ? std::make_unique<CarriedGain>() : make_gain_model(recipe.gain);
  if (gains == nullptr) {
    return fail(ErrorCode::usage, "there is no gain model '" + recipe.gain + "'");
  }
  return PreparedRun{.context = context,
                     .model = model.path,
                     .file_bytes = model.path.empty() ? 0 : model_bytes(model.path, *model.graph),
                     .graph = *model.graph,
                     .registry = std::move(registry),
                     .gains = std::move(gains),
                     .vetoes = std::move(scope.vetoes),
                     .value_vetoes = std::move(scope.value_vetoes),
                     .rules = {},
                     .couplings = {},
                     .recipe = {std::move(recipe), {}},
                     .steps = {},
                     .weights = {},
                     .rounding = {}};
}

Expected<RunResult> run_phases(PreparedRun prepared, const Plan* plan, HookRun& run) {
  if (!prepared.vetoes.empty() || !prepared.value_vetoes.empty()) {
    // Once without them, which is what a summary compares with.
    QUADRANT_TRY(const auto order, topological_order(prepared.graph));
    static_cast<void>(detect_eligibility(prepared.graph, order, prepared.registry));
  }
  StateKeeper keeper(run);
  QuantizeOptions options = prepared.engine_options();
  options.plan = plan;
  options.executor = nullptr;  // hooks hold the GIL: one at a time
  options.observer = &keeper;
  QUADRANT_TRY(QuantizeResult done,
               in_file(quantize(prepared.graph, prepared.registry, options), prepared.model));
  // Rewriters may have made what no operation is.
  QUADRANT_CHECK(in_file(verify(done.graph), prepared.model));
  return RunResult{std::move(prepared), std::move(done)};
}

ParentsPattern pattern_of(const std::vector<std::tuple<unsigned, bool, bool>>& operands) {
  ParentsPattern made;
  made.size = std::min(operands.size(), ParentsPattern::capacity);
  for (std::size_t i = 0; i < made.size; ++i) {
    const auto& [states, is_optional, is_variadic] = operands[i];
    made.operands[i] = {static_cast<std::uint8_t>(states), is_optional, is_variadic};
  }
  return made;
}

}  // namespace

void HookRun::end() noexcept {
  found.reset();
  known.release();
  adapters.clear();
}

std::size_t SchemeBuilder::keep(nb::object adapter) {
  run_->adapters.push_back(std::move(adapter));
  return run_->adapters.size() - 1;
}

SchemeBuilder::SchemeBuilder(std::string name, std::string options, nb::object adapter)
    : builder_(std::make_unique<PythonScheme>(std::move(name), std::move(options),
                                              Caller(run_, keep(std::move(adapter))))) {}

void SchemeBuilder::add(const std::string& op, std::string name,
                        const std::vector<std::vector<std::tuple<unsigned, bool, bool>>>& patterns,
                        bool is_consumer, const std::vector<std::string>& hooks,
                        nb::object adapter) {
  added_.emplace_back(op, name);
  PythonMethod::Declaration declaration{std::move(name), {}, is_consumer, hooks};
  for (const auto& each : patterns) declaration.patterns.push_back(pattern_of(each));
  builder_.add(op, std::make_unique<PythonMethod>(std::move(declaration),
                                                  Caller(run_, keep(std::move(adapter)))));
}

std::shared_ptr<Result> SchemeBuilder::quantize(std::shared_ptr<Session> session,
                                                const Model& model, const std::string& gain,
                                                const std::string& policy, bool leave_non_finite,
                                                std::vector<std::string> include,
                                                std::vector<std::string> exclude,
                                                const Plan* plan) {
  for (const auto& [kind, method] : added_) {
    try {
      check_kind(kind, *model.graph);
    } catch (Failure& unknown) {
      unknown.error.message.insert(0, method + ": ");
      throw;
    }
  }
  Recipe recipe;
  recipe.gain = gain;
  recipe.policy = policy;
  recipe.non_finite = leave_non_finite ? NonFinitePolicy::leave_float : NonFinitePolicy::refuse;
  recipe.include = std::move(include);
  recipe.exclude = std::move(exclude);
  run_->carries_gains = gain.empty();
  const Ending ending{*run_};
  RunResult done = session->run([&](const RunContext& context) -> Expected<RunResult> {
    // The thread's state lives as long as the run; hooks then take the GIL without making one.
    const nb::gil_scoped_acquire gil;
    const nb::gil_scoped_release no_gil;
    run_->session = session.get();
    run_->stop = context.stop;
    const KnownConstraints::Scope known(run_->known);
    QUADRANT_TRY(Registry registry, std::move(builder_).freeze());
    QUADRANT_TRY(PreparedRun prepared,
                 prepare(model, std::move(registry), std::move(recipe), context));
    return run_phases(std::move(prepared), plan, *run_);
  });
  return std::make_shared<Result>(std::move(session), std::move(done));
}

}  // namespace quadrant::python
