// All rows together.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
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

constexpr bool has_roles(const Operation& row) {
  return !row.roles.letters.empty() &&
         row.roles.letters.find_first_not_of("dfwbatcs") == std::string_view::npos;
}

static_assert(std::ranges::all_of(table, has_roles),
              "an operand has no role, or an unheard-of one");

// Where a kind is, by a hash: it is asked of each node, many times.
constexpr std::size_t bucket_count = 1024;
using Buckets = std::array<std::uint16_t, bucket_count>;  // one more than the index; 0: none

constexpr std::size_t bucket_of(std::string_view kind) noexcept {
  std::uint64_t hash = kind.size();
  for (const std::size_t from_end : {1U, 2U, 4U}) {  // what tells kinds apart
    if (from_end > kind.size()) break;
    hash = hash * 31 + static_cast<unsigned char>(kind[kind.size() - from_end]);
  }
  return (hash * 0x9E3779B97F4A7C15U) >> (64 - std::countr_zero(bucket_count));
}

constexpr Buckets buckets = [] {
  static_assert(table.size() * 2 < bucket_count);
  Buckets made{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    std::size_t at = bucket_of(table[i].kind);
    while (made[at] != 0) at = (at + 1) % bucket_count;
    made[at] = static_cast<std::uint16_t>(i + 1);
  }
  return made;
}();

constexpr std::array<std::string_view, 12> family_names{
    "border",        "move",      "elementwise", "product", "window",     "reduction",
    "normalization", "recurrent", "place",       "code",    "simulation", "function"};

}  // namespace

std::string_view to_string(Family family) noexcept {
  return family_names[static_cast<std::size_t>(family)];
}

std::span<const Operation> operations() noexcept { return table; }

const Operation* find_operation(std::string_view kind) noexcept {
  for (std::size_t at = bucket_of(kind); buckets[at] != 0; at = (at + 1) % bucket_count) {
    const Operation& row = table[buckets[at] - 1U];
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

const Operation* find_operation(NodeRef node) noexcept {
  const std::string_view kind = node.kind();
  if (const Operation* const known = find_operation(kind)) return known;
  const auto own = node.graph->operations();
  const auto found = std::ranges::find(own, kind, &Operation::kind);
  return found == own.end() ? nullptr : &*found;
}

const Operation* find_onnx_operator(std::string_view name) noexcept {
  if (name.empty()) return nullptr;
  const auto* const found = std::ranges::find(table, name, &Operation::onnx);
  return found == table.end() ? nullptr : found;
}

bool has_trait(NodeRef node, Trait trait) noexcept {
  const Operation* const operation = find_operation(node);
  return operation != nullptr && operation->traits.contains(trait);
}

Expected<void> check_row(const Operation& row) {
  const auto lacks = [&](std::string_view what) {
    return fail(ErrorCode::usage, fmt::format("the row of the operation '{}' {}", row.kind, what));
  };
  const bool keeps_order = row.traits.contains(Trait::keeps_order);
  if (row.kind.empty()) return lacks("has no kind");
  if (find_operation(row.kind) != nullptr) return lacks("says what the library says already");
  if (!has_roles(row)) return lacks("has operands without a role, or with an unheard-of one");
  if (keeps_order && row.move == nullptr) return lacks("keeps the order, and is no move");
  if (row.move != nullptr && (row.move->source == nullptr || row.move->origin == nullptr)) {
    return lacks("has a move without both of its functions");
  }
  const Product* const product = row.product;
  if (product != nullptr && (product->channel == nullptr || product->adds_bias == nullptr)) {
    return lacks("has a product without both of its functions");
  }
  return {};
}

Role role_of(NodeRef node, std::size_t operand) noexcept {
  const Operation* const operation = find_operation(node);
  return operation == nullptr ? Role::data : operation->roles.of(operand);
}

Traits traits_of(NodeRef node) {
  const Operation* const operation = find_operation(node);
  if (operation == nullptr) return {};
  return operation->when == nullptr ? operation->traits : operation->traits | operation->when(node);
}

}  // namespace quadrant::inline v0
