// A small scheme for the engine's tests: a constraint is a colour, and operations of made-up kinds
// pass colours on. Nothing here knows weights or numbers.
#pragma once

#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/engine/macros.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/ops.hpp"

namespace toy {

using quadrant::Expected;
using quadrant::NodeRef;
using quadrant::RewriteContext;
using quadrant::Value;
using namespace quadrant;

struct Colour {
  int number = 0;
  // All hashes collide: equality alone must tell colours apart.
  [[nodiscard]] static std::size_t hash() { return 7; }
  [[nodiscard]] std::string print() const { return "colour " + std::to_string(number); }
  [[nodiscard]] static std::optional<Colour> parse(std::string_view text) {
    constexpr std::string_view prefix = "colour ";
    if (!text.starts_with(prefix)) return std::nullopt;
    Colour colour;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + prefix.size(), end, colour.number);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return colour;
  }
  friend auto operator<=>(const Colour&, const Colour&) = default;
};

/// How often each hook was called: laziness is tested by counting.
struct Calls {
  int callback = 0;
  int forward = 0;
  int examine = 0;
  int rewriter = 0;
};

struct Scheme final : quadrant::Scheme {
  explicit Scheme(std::shared_ptr<Calls> counter = std::make_shared<Calls>())
      : calls(std::move(counter)) {}
  QUADRANT_SCHEME(Scheme, Colour, "toy")
  [[nodiscard]] std::string describe() const override { return "toy"; }
  std::shared_ptr<Calls> calls;
};

inline std::shared_ptr<const UniformType> quantized_type() {
  auto type = std::make_shared<UniformType>();
  const float one = 1;
  type->scales = Constant::from_values(ElementType::float32, Shape(std::vector<std::int64_t>{}),
                                       std::span<const float>(&one, 1));
  return type;
}

struct Ops {
  struct Root {
    static constexpr std::string_view kind = "root";
  };
  struct Pass {
    static constexpr std::string_view kind = "pass";
  };
  struct Shift {  // result colour c needs operand colour c + 1
    static constexpr std::string_view kind = "shift";
  };
  struct Join {  // both operands in the same colour
    static constexpr std::string_view kind = "join";
  };
  struct Either {  // one of the operands in the colour
    static constexpr std::string_view kind = "either";
  };
  struct Use {  // asks operand i for colour attribute "colour" (default: i)
    static constexpr std::string_view kind = "use";
  };
  struct Strict {  // a consumer that needs another consumer in front
    static constexpr std::string_view kind = "after_consumer";
  };
};

QUADRANT_QUANTIZER(RootMethod, Scheme, Ops::Root) {
  void callback(const Colour& wanted, NodeRef node, Asks& asks) const override {
    ++scheme().calls->callback;
    if (wanted.number < node.attribute_or<std::int64_t>("colours", 4)) {
      asks.accept();
    } else {
      asks.refuse("no such colour");
    }
  }
  void forward(NodeRef, Offers& offers) const override {
    ++scheme().calls->forward;
    offers.offer_requests();
  }
  [[nodiscard]] std::optional<StorageChange> storage(const Colour&, NodeRef node) const override {
    return StorageChange{100,
                         static_cast<std::uint64_t>(node.attribute_or<std::int64_t>("after", 30))};
  }
  [[nodiscard]] Expected<void> examine(const Colour&, NodeRef node,
                                       DataContext& context) const override {
    ++scheme().calls->examine;
    if (node.attribute_or<std::int64_t>("bad", 0) != 0) context.refuse("bad contents");
    return {};
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    ++scheme().calls->rewriter;
    return context.set_quantized(node.result(), quantized_type());
  }
};

struct Step {
  int shift = 0;
};

QUADRANT_PARAMETERIZED(PassMethod, Scheme, Step, requires_parents(AnyQuantizable)) {
  using PassMethodBase::PassMethodBase;
  void callback(const Colour& wanted, NodeRef, Asks& asks) const override {
    ++scheme().calls->callback;
    asks.alternative({{0, {wanted.number + parameters().shift}}});
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return context.set_quantized(node.result(), quantized_type());
  }
};

QUADRANT_QUANTIZER(JoinMethod, Scheme, Ops::Join,
                   requires_parents(AnyQuantizable, AnyQuantizable)) {
  void callback(const Colour& wanted, NodeRef, Asks& asks) const override {
    asks.alternative({{0, wanted}, {1, wanted}});
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return context.set_quantized(node.result(), quantized_type());
  }
};

QUADRANT_QUANTIZER(EitherMethod, Scheme, Ops::Either, requires_parents(AnyQuantizable, AnyState),
                   requires_parents(AnyState, AnyQuantizable)) {
  void callback(const Colour& wanted, NodeRef, Asks& asks) const override {
    asks.alternative({{0, wanted}});
    asks.alternative({{1, wanted}});
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return context.set_quantized(node.result(), quantized_type());
  }
};

QUADRANT_CONSUMER(UseMethod, Scheme, Ops::Use, requires_parents(AnyQuantizable),
                  requires_parents(AnyQuantizable, AnyState),
                  requires_parents(AnyState, AnyQuantizable)) {
  void request(NodeRef node, Asks& asks) const override {
    for (std::uint32_t i = 0; i < node.operands().size(); ++i) {
      const auto colour = node.attribute_or<std::int64_t>("colour", i);
      asks.benefit(i, {static_cast<int>(colour)});
    }
  }
};

QUADRANT_CONSUMER(AfterConsumerMethod, Scheme, Ops::Strict,
                  requires_parents(AnyConsumer, AnyQuantizable)) {
  void request(NodeRef, Asks& asks) const override { asks.benefit(1, {0}); }
};

inline QUADRANT_DEQUANTIZER(Scheme)(Value quantized, RewriteContext& context) const {
  return context.emit(ops::Dequantize::kind, {quantized}, "dequantize",
                      context.view().type(quantized).expressed());
}

inline QUADRANT_METHODS(Scheme) {
  add<RootMethod>();
  add_parameterized<PassMethod, Ops::Pass>({0});
  add_parameterized<PassMethod, Ops::Shift>({1});
  add<JoinMethod>();
  add<EitherMethod>();
  add<UseMethod>();
  add<AfterConsumerMethod>();
}

inline Registry registry(std::shared_ptr<Calls> calls = std::make_shared<Calls>()) {
  return *RegistryBuilder::of(Scheme(std::move(calls))).freeze();
}

/// Adds a node of one float result; its name is also the result's.
inline Value add(Graph& graph, std::string_view kind, std::string name, std::vector<Value> operands,
                 Attributes attributes = {}) {
  return {graph.add({.kind = std::string(kind),
                     .name = name,
                     .operands = std::move(operands),
                     .results = {{name, {ElementType::float32, Shape{2, 3}, nullptr}}},
                     .attributes = std::move(attributes)})};
}

}  // namespace toy
