// All rows together.
#include <algorithm>
#include <array>
#include <cstddef>

#include "ir/operations/codes.hpp"
#include "ir/operations/elementwise.hpp"
#include "ir/operations/functions.hpp"
#include "ir/operations/moves.hpp"
#include "ir/operations/normalization.hpp"
#include "ir/operations/places.hpp"
#include "ir/operations/products.hpp"
#include "ir/operations/reductions.hpp"
#include "ir/operations/simulation.hpp"
#include "ir/operations/windows.hpp"

namespace quadrant::inline v0 {
namespace {

template <std::size_t... Sizes>
constexpr auto join(const std::array<Operation, Sizes>&... families) {
  std::array<Operation, (Sizes + ...)> all{};
  std::size_t next = 0;
  const auto append = [&](const auto& rows) {
    for (const Operation& row : rows) all[next++] = row;
  };
  (append(families), ...);
  std::ranges::sort(all, {}, &Operation::kind);
  return all;
}

constexpr auto table = join(detail::border_rows, detail::move_rows, detail::elementwise_rows,
                            detail::product_rows, detail::window_rows, detail::reduction_rows,
                            detail::normalization_rows, detail::recurrent_rows, detail::place_rows,
                            detail::code_rows, detail::simulation_rows, detail::function_rows);

static_assert(std::ranges::adjacent_find(table, {}, &Operation::kind) == table.end(),
              "an operation is listed twice");

constexpr std::array<std::string_view, 12> family_names{
    "border",        "move",      "elementwise", "product", "window",     "reduction",
    "normalization", "recurrent", "place",       "code",    "simulation", "function"};

}  // namespace

std::string_view to_string(Family family) noexcept {
  return family_names[static_cast<std::size_t>(family)];
}

std::span<const Operation> operations() noexcept { return table; }

const Operation* find_operation(std::string_view kind) noexcept {
  const auto* const found = std::ranges::lower_bound(table, kind, {}, &Operation::kind);
  return found != table.end() && found->kind == kind ? found : nullptr;
}

const Operation* find_onnx_operator(std::string_view name) noexcept {
  if (name.empty()) return nullptr;
  const auto* const found = std::ranges::find(table, name, &Operation::onnx);
  return found == table.end() ? nullptr : found;
}

bool has_trait(std::string_view kind, Trait trait) noexcept {
  const Operation* const operation = find_operation(kind);
  return operation != nullptr && operation->traits.contains(trait);
}

Traits traits_of(NodeRef node) {
  const Operation* const operation = find_operation(node.kind());
  if (operation == nullptr) return {};
  return operation->when == nullptr ? operation->traits : operation->traits | operation->when(node);
}

}  // namespace quadrant::inline v0
