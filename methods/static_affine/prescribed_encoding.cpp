// Encodings that are prescribed: for which values they hold, and whether they can be had.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "static_affine/element_moves.hpp"
#include "static_affine/encodings.hpp"
#include "static_affine/limits.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

using Prescription = PrescribedEncodings::value_type;

const Prescription* named(const StaticAffineOptions& options, const GraphView& graph, Value value) {
  if (options.prescribed == nullptr) return nullptr;
  const auto found = options.prescribed->find(graph.value_name(value));
  return found == options.prescribed->end() ? nullptr : &*found;
}

// Files are written with as few digits as that.
bool is_same_scale(double a, double b) noexcept {
  constexpr double agreement = 1e-6;
  return std::abs(a - b) <= agreement * std::max(a, b);
}

bool mean_the_same(const PrescribedEncoding& a, const PrescribedEncoding& b) {
  return std::ranges::equal(a.encodings, b.encodings, [](const Encoding& x, const Encoding& y) {
    return x.bits == y.bits && x.steps == y.steps && x.zero_point == y.zero_point &&
           is_same_scale(x.scale, y.scale);
  });
}

std::string print(const PrescribedEncoding& prescribed) {
  if (prescribed.encodings.size() != 1) {
    return fmt::format("{} scales", prescribed.encodings.size());
  }
  const Encoding& encoding = prescribed.encodings.front();
  return fmt::format("scale {} and zero point {} of codes 0 to {}", encoding.scale,
                     encoding.zero_point, encoding.steps);
}

tl::unexpected<Error> refuse(const Prescription& prescribed, std::string message) {
  return fail(ErrorCode::impossible, std::move(message), {.tensor = prescribed.first});
}

// The members' own; where none has one, that of a value that is beside a member.
Expected<const Prescription*> of_members(const StaticAffineOptions& options, const Query& query) {
  const Prescription* first = nullptr;
  for (const Value member : query.members) {
    const Prescription* const other = named(options, *query.graph, member);
    if (other == nullptr) continue;
    if (first == nullptr) first = other;
    if (first == other || mean_the_same(first->second, other->second)) continue;
    return refuse(*first, fmt::format("it shares its scale with '{}', but different ones are "
                                      "prescribed: {}, and {}",
                                      other->first, print(first->second), print(other->second)));
  }
  if (first != nullptr || query.constraint->role != AffineForm::Role::activation) return first;
  for (const Value member : query.members) {
    if (query.graph->constant(member.node) != nullptr) continue;
    first = prescription(options, *query.graph, member);
    if (first != nullptr) break;
  }
  return first;
}

Expected<void> check_form(const Prescription& prescribed, const AffineForm& form) {
  const auto& encodings = prescribed.second.encodings;
  if (encodings.empty()) return refuse(prescribed, "an encoding without a scale is prescribed");
  const int bits = bit_width(form.storage);
  for (const Encoding& encoding : encodings) {
    if (encoding.bits == bits) continue;
    return refuse(prescribed,
                  fmt::format("codes of {} bits are prescribed for it, but in this run it is '{}': "
                              "prescribe {} bits, or choose other ones for all",
                              encoding.bits, form.print(), bits));
  }
  return {};
}

Expected<std::vector<Encoding>> of_channels(const Prescription& prescribed, const AffineForm& form,
                                            const Shape& shape) {
  const auto& [encodings, axis] = prescribed.second;
  if (form.granularity.kind == Granularity::Kind::tensor) {
    if (encodings.size() == 1) return encodings;
    return refuse(prescribed, fmt::format("{} scales are prescribed for it, one for each channel; "
                                          "in this run it has one for the tensor",
                                          encodings.size()));
  }
  const Extent channels = shape[form.granularity.axis];
  if (!channels.is_known()) {
    return refuse(prescribed,
                  "it has channels with scales of their own, and how many is not known: fix the "
                  "model's shapes");
  }
  const auto count = static_cast<std::size_t>(channels.value());
  const bool is_other_axis = encodings.size() != 1 && axis &&
                             (*axis < 0 ? *axis + shape.rank() : *axis) != form.granularity.axis;
  if (is_other_axis) {
    return refuse(prescribed,
                  fmt::format("scales along axis {} are prescribed for it; the channels that its "
                              "product keeps lie along axis {}",
                              *axis, form.granularity.axis));
  }
  if (encodings.size() != 1 && encodings.size() != count) {
    return refuse(prescribed, fmt::format("{} scales are prescribed for it, which has {} channels",
                                          encodings.size(), count));
  }
  const bool are_centred = std::ranges::all_of(encodings, [](const Encoding& encoding) {
    return encoding.zero_point == (encoding.steps + 1) / 2;
  });
  if (are_centred) return encodings.size() == 1 ? std::vector(count, encodings.front()) : encodings;
  return refuse(prescribed,
                "channels with zero points are prescribed for it: no runtime has integer kernels "
                "for those; symmetric ones can be had, or one zero point for the tensor");
}

bool shares_with_operand(NodeRef node) { return is_move(node) || is_only_clamp(node); }

}  // namespace

const PrescribedEncodings::value_type* prescription(const StaticAffineOptions& options,
                                                    const GraphView& graph, Value value) {
  constexpr int most_steps = 8;  // a limit, so that a chain of moves is not walked by each reader
  if (options.prescribed == nullptr || options.prescribed->empty()) return nullptr;
  if (const auto* const own = named(options, graph, value)) return own;
  Value result = value;
  for (int steps = 0; steps < most_steps; ++steps) {
    const auto uses = graph.uses(result.node);
    if (uses.size() != 1 || uses[0].operand != 0 || !shares_with_operand({&graph, uses[0].user})) {
      break;
    }
    result = {uses[0].user};
    if (const auto* const behind = named(options, graph, result)) return behind;
  }
  for (int steps = 0; steps < most_steps; ++steps) {
    const NodeRef node{&graph, value.node};
    if (!shares_with_operand(node)) return nullptr;
    value = node.operand(0);
    if (value.is_absent()) return nullptr;
    if (const auto* const source = named(options, graph, value)) return source;
  }
  return nullptr;
}

FoundType prescribed_type(const StaticAffineOptions& options, const Query& query) {
  if (options.prescribed == nullptr || options.prescribed->empty()) return nullptr;
  QUADRANT_TRY(const Prescription* const prescribed, of_members(options, query));
  if (prescribed == nullptr) return nullptr;
  const AffineForm& form = *query.constraint;
  QUADRANT_CHECK(check_form(*prescribed, form));
  const TensorType& value = query.graph->type(query.members.front());
  const bool is_whole = form.granularity.kind == Granularity::Kind::tensor;
  const Shape shape = is_whole ? Shape::scalar() : value.shape;
  QUADRANT_TRY(const std::vector<Encoding> encodings, of_channels(*prescribed, form, shape));
  const auto range = integer_range(form.storage);
  const auto sign = range && range->min == 0 ? CodeSign::unsigned_codes : CodeSign::signed_codes;
  Expected<UniformType> type = uniform_type(encodings, shape, form.granularity, sign);
  if (!type) return refuse(*prescribed, "what is prescribed for it: " + type.error().message);
  type->expressed = is_float(value.element) ? value.element : ElementType::float32;
  return std::make_shared<const UniformType>(*std::move(type));
}

}  // namespace quadrant::inline v0::static_affine
