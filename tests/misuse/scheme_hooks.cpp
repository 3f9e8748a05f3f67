// error: a scheme's enter must be:
// error: a scheme's convert must be:
// error: a scheme's prepare must be:
// error: a scheme's price must be:
// error: a scheme's recognize must be:
// error: a scheme's resolve must be:
// error: a scheme's storage_type must be:
// error: a scheme's type_of must be:
#include "misuse/scheme.hpp"

namespace misuse {

struct Mine final : Scheme {
  QUADRANT_SCHEME(Mine, Form, "mine")
  [[nodiscard]] std::string describe() const override { return ""; }
#ifdef MISUSE
  [[nodiscard]] Expected<Value> enter(Value real, RewriteContext&) const { return real; }
  [[nodiscard]] Expected<Value> convert(Value codes, const Form&, RewriteContext&) { return codes; }
  [[nodiscard]] int prepare(const GraphView&) const { return 0; }
  [[nodiscard]] Gain price(const ConversionOf<Form>&, const GainModel&) const { return {}; }
  [[nodiscard]] bool recognize(const TensorType&) const { return false; }
  [[nodiscard]] Expected<UniformType> resolve(const ParameterQuery<Form>&) const { return {}; }
  [[nodiscard]] bool type_of(const Form&, const TensorType&) const { return false; }
  [[nodiscard]] int storage_type(const Form&) const { return 0; }
#else
  [[nodiscard]] Expected<Value> enter(Value real, const Form&, RewriteContext&) const {
    return real;
  }
  [[nodiscard]] Expected<Value> convert(Value codes, const Form&, RewriteContext&) const {
    return codes;
  }
  [[nodiscard]] Expected<int> prepare(const GraphView&) const { return 0; }
  [[nodiscard]] std::optional<Gain> price(const ConversionOf<Form>&, const GainModel&) const {
    return Gain{};
  }
  [[nodiscard]] std::optional<Form> recognize(const TensorType&) const { return Form{}; }
  [[nodiscard]] Expected<std::shared_ptr<const UniformType>> resolve(
      const ParameterQuery<Form>&) const {
    return nullptr;
  }
  [[nodiscard]] std::optional<TensorType> type_of(const Form&, const TensorType& real) const {
    return real;
  }
  [[nodiscard]] ElementType storage_type(const Form&) const { return ElementType::int8; }
#endif
};

// A helper of the same name does not hide a hook.
struct Overloaded final : Scheme {
  QUADRANT_SCHEME(Overloaded, Form, "overloaded")
  [[nodiscard]] std::string describe() const override { return ""; }
  [[nodiscard]] Expected<Value> enter(Value real, const Form&, RewriteContext&) const {
    return enter(real);
  }
  [[nodiscard]] static Value enter(Value real) { return real; }
};
static_assert(detail::HasEnter<Overloaded> && !detail::HasConvert<Overloaded>);

}  // namespace misuse
