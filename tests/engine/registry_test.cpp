#include "quadrant/engine/declare/registry.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/toy_scheme.hpp"
#include "quadrant/support/ranks.hpp"

using namespace quadrant;

namespace {

// A second scheme, which may be had under several names.
struct Tints final : Scheme {
  QUADRANT_SCHEME(Tints, toy::Colour, called)
  explicit Tints(std::string name) : called(std::move(name)) {}
  [[nodiscard]] std::string describe() const override { return "tints"; }
  std::string called;
};

QUADRANT_QUANTIZER(TintMethod, Tints, toy::Ops::Root) {
  void callback(const toy::Colour&, NodeRef, Asks& asks) const override { asks.accept(); }
};

struct Stray {
  static constexpr std::string_view kind = "stray";
};
QUADRANT_CONSUMER(StrayMethod, Tints, Stray, requires_parents(AnyQuantizable)){};

QUADRANT_DEQUANTIZER(Tints)(Value quantized, RewriteContext& context) const {
  return context.emit(ops::Dequantize::kind, {quantized}, "dequantize",
                      context.view().type(quantized).expressed());
}

QUADRANT_METHODS(Tints) { add<TintMethod>(); }

Registry tints(std::string name) { return *RegistryBuilder::of(Tints(std::move(name))).freeze(); }

std::vector<std::pair<std::string_view, std::string_view>> ops_and_names(const Registry& registry,
                                                                         std::uint32_t scheme = 0) {
  std::vector<std::pair<std::string_view, std::string_view>> all;
  for (const QuantizationMethod* method : registry.methods(scheme)) {
    all.emplace_back(method->op(), method->name());
  }
  return all;
}

// What is decided for a small graph.
Plan plan(const Registry& registry) {
  Graph graph;
  const Value root = toy::add(graph, "root", "r", {});
  const Value passed = toy::add(graph, "pass", "p", {root});
  const Value shifted = toy::add(graph, "shift", "s", {passed});
  graph.add_output("y", toy::add(graph, "use", "u", {shifted}));
  const UnitGain gains;
  return analyze(graph, registry, {.gains = &gains})->plan;
}

// Schemes that are derived from one another.
struct Base : Scheme {
  QUADRANT_SCHEME(Base, toy::Colour, "base")
  [[nodiscard]] std::string describe() const override { return "base"; }
};
QUADRANT_QUANTIZER(BaseRoot, Base, toy::Ops::Root){};
QUADRANT_QUANTIZER(BasePass, Base, toy::Ops::Pass){};
QUADRANT_QUANTIZER(BaseJoin, Base, toy::Ops::Join){};
QUADRANT_DEQUANTIZER(Base)(Value quantized, RewriteContext& context) const {
  return context.dequantize(quantized);
}
QUADRANT_METHODS(Base) {
  add<BaseRoot>();
  add<BasePass>();
  add<BaseJoin>();
}

struct Middle : Base {
  QUADRANT_SCHEME(Middle, toy::Colour, "middle")
};
QUADRANT_QUANTIZER(MiddlePass, Middle, toy::Ops::Pass){};
QUADRANT_QUANTIZER(MiddleJoin, Middle, toy::Ops::Join){};
QUADRANT_DEQUANTIZER(Middle)(Value quantized, RewriteContext& context) const {
  return context.dequantize(quantized);
}
QUADRANT_METHODS(Middle) {
  add<MiddlePass>();
  add_all_of<Base>();
  add<MiddleJoin>();
}

struct Last final : Middle {
  QUADRANT_SCHEME(Last, toy::Colour, "last")
};
QUADRANT_QUANTIZER(LastJoin, Last, toy::Ops::Join){};
QUADRANT_DEQUANTIZER(Last)(Value quantized, RewriteContext& context) const {
  return context.dequantize(quantized);
}
QUADRANT_METHODS(Last) {
  add_all_of<Middle>();
  add<LastJoin>();
}

}  // namespace

TEST_CASE("a scheme's own methods replace those that it inherits, whichever comes first") {
  const Registry middle = *RegistryBuilder::of(Middle()).freeze();
  CHECK(middle.find("root")->name() == "BaseRoot");
  CHECK(middle.find("pass")->name() == "MiddlePass");
  CHECK(middle.find("join")->name() == "MiddleJoin");
  const Registry last = *RegistryBuilder::of(Last()).freeze();
  CHECK(last.find("root")->name() == "BaseRoot");
  CHECK(last.find("pass")->name() == "MiddlePass");
  CHECK(last.find("join")->name() == "LastJoin");
  // What it inherits twice and replaces is no matter, whichever comes first.
  for (const bool is_first : {false, true}) {
    auto mended = RegistryBuilder::of(Middle());  // with what it lists
    Middle::Registration own(mended);
    mended.inherit([&] {
      if (is_first) Base::Registration(mended).add<BaseJoin>();
      Base::Registration(mended).add<BasePass>();
    });
    const auto found = std::move(mended).freeze();
    REQUIRE(found);
    CHECK(found->find("pass")->name() == "MiddlePass");
  }
  // Two of its own are still a mistake.
  auto builder = RegistryBuilder::of(Last());
  Last::Registration(builder).add<LastJoin>();
  const auto twice = std::move(builder).freeze();
  REQUIRE_FALSE(twice);
  CHECK(twice.error().message.find("'join' has 2 methods") != std::string::npos);
}

TEST_CASE("a registry finds what the scheme lists, each knowing its operation") {
  const Registry registry = toy::registry();
  REQUIRE(registry.find("shift") != nullptr);
  CHECK(registry.find("shift")->op() == "shift");
  CHECK(registry.find("shift")->name() == "PassMethod");
  CHECK(registry.find("pass")->op() == "pass");
  CHECK(registry.find("unheard of") == nullptr);
  CHECK(registry.methods().size() == 7);
  CHECK(registry.scheme().name() == "toy");
}

TEST_CASE("two methods for one operation are refused, naming both places") {
  auto builder = RegistryBuilder::of(toy::Scheme());
  builder.add("pass", std::make_unique<toy::JoinMethod>());
  const auto registry = std::move(builder).freeze();
  REQUIRE_FALSE(registry.has_value());
  const std::string message = registry.error().message;
  CHECK(registry.error().code == ErrorCode::usage);
  CHECK(message.find("'pass'") != std::string::npos);
  CHECK(message.find("PassMethod") != std::string::npos);
  CHECK(message.find("JoinMethod") != std::string::npos);
  CHECK(message.find("toy_scheme.hpp:") != message.rfind("toy_scheme.hpp:"));
}

TEST_CASE("what is said of duplicates does not depend on their order") {
  const auto message = [](bool join_first) {
    RegistryBuilder builder(std::make_unique<toy::Scheme>());
    for (const bool join : {join_first, !join_first}) {
      if (join) {
        builder.add("pass", std::make_unique<toy::JoinMethod>());
        builder.add("shift", std::make_unique<toy::EitherMethod>());
      } else {
        builder.add("shift", std::make_unique<toy::UseMethod>());
        builder.add("pass", std::make_unique<toy::EitherMethod>());
        builder.add("pass", std::make_unique<toy::UseMethod>());
      }
    }
    return std::move(builder).freeze().error().message;
  };
  CHECK(message(true) == message(false));
  CHECK(message(true).find("operation 'pass' has 3 methods: ") != std::string::npos);
  CHECK(message(true).find("; operation 'shift' has 2 methods: ") != std::string::npos);
}

TEST_CASE("the order in which methods were added does not matter") {
  const auto registry = [](bool reversed) {
    RegistryBuilder builder(std::make_unique<toy::Scheme>());
    toy::Scheme::Registration methods(builder);
    const auto first = [&] {
      methods.add<toy::RootMethod>();
      methods.add_parameterized<toy::PassMethod, toy::Ops::Pass>({0});
    };
    const auto second = [&] {
      methods.add_parameterized<toy::PassMethod, toy::Ops::Shift>({1});
      methods.add<toy::UseMethod>();
    };
    if (reversed) second();
    first();
    if (!reversed) second();
    return *std::move(builder).freeze();
  };
  const Registry a = registry(false);
  const Registry b = registry(true);
  CHECK(ops_and_names(a) == ops_and_names(b));
  CHECK(plan(a) == plan(b));
  CHECK(plan(a).values.size() == 3);
}

TEST_CASE("joined schemes are numbered by name, whatever their order") {
  const Registry toy = toy::registry();
  const Registry one = tints("tint");
  const Registry two = tints("wash");
  CHECK(toy.names() == "toy");

  const Registry joined = *Registry::join(std::array{two, toy, one});
  CHECK(joined.names() == "tint+toy+wash");
  REQUIRE(joined.scheme_count() == 3);
  CHECK(joined.scheme(0).name() == "tint");
  CHECK(joined.scheme(1).name() == "toy");
  CHECK(joined.scheme(2).name() == "wash");

  // Each keeps its own methods, the same objects.
  CHECK(joined.find("use", 0) == nullptr);
  CHECK(joined.find("use", 1) == toy.find("use"));
  CHECK(joined.find("root", 0) == one.find("root"));
  CHECK(joined.find("root", 2) == two.find("root"));
  CHECK(joined.methods(1).size() == 7);
  CHECK(joined.methods(2).size() == 1);

  const Registry others = *Registry::join(std::array{one, toy, two});
  const Registry in_steps = *Registry::join(std::array{*Registry::join(std::array{two, one}), toy});
  for (const Registry& same : {others, in_steps}) {
    CHECK(same.names() == joined.names());
    for (std::uint32_t i = 0; i < 3; ++i) {
      CHECK(&same.scheme(i) == &joined.scheme(i));
      CHECK(ops_and_names(same, i) == ops_and_names(joined, i));
    }
    CHECK(plan(same) == plan(joined));
  }
  CHECK(plan(joined).schemes.size() == 3);
}

TEST_CASE("a joined registry outlives its parts") {
  const Registry joined = *Registry::join(std::array{tints("tint"), toy::registry()});
  CHECK(joined.scheme(0).describe() == "tints");
  CHECK(joined.find("root", 0)->name() == "TintMethod");
}

TEST_CASE("a scheme is joined once, and one at least") {
  const auto twice = Registry::join(std::array{tints("tint"), toy::registry(), tints("tint")});
  REQUIRE_FALSE(twice.has_value());
  CHECK(twice.error().code == ErrorCode::usage);
  CHECK(twice.error().message.find("two schemes are called 'tint'") != std::string::npos);
  const auto none = Registry::join({});
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().code == ErrorCode::usage);
}

TEST_CASE("methods are added to a scheme that has its list already") {
  auto builder = RegistryBuilder::of(Tints("tint"));
  Tints::Registration(builder).add<StrayMethod>();
  const Registry registry = *std::move(builder).freeze();
  CHECK(registry.methods().size() == 2);
  CHECK(registry.find("stray")->name() == "StrayMethod");
}
