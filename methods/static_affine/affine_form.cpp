#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "quadrant/methods/static_affine.hpp"

namespace quadrant::inline v0 {
namespace {

using Role = AffineForm::Role;

constexpr std::array<std::pair<Role, std::string_view>, 4> role_names{
    {{Role::activation, "activation"},
     {Role::weight, "weight"},
     {Role::bias, "bias"},
     {Role::sum, "sum"}}};

// Takes the text up to the next space, and the space, off `text`.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

}  // namespace

std::size_t AffineForm::hash() const noexcept {
  return (granularity.hash() * 31 + static_cast<std::size_t>(storage)) * role_names.size() +
         static_cast<std::size_t>(role);
}

std::string AffineForm::print() const {
  const std::string_view name = role_names[static_cast<std::size_t>(role)].second;
  if (granularity.kind == Granularity::Kind::tensor) {
    return fmt::format("{} {}", name, to_string(storage));
  }
  return fmt::format("{} {} {}", name, to_string(storage), granularity.print());
}

std::optional<AffineForm> AffineForm::parse(std::string_view text) {
  const std::string_view name = take_word(text);
  const auto* const role =
      std::ranges::find(role_names, name, &std::pair<Role, std::string_view>::second);
  const auto storage = parse_element_type(take_word(text));
  if (role == role_names.end() || !storage || !is_integer(*storage)) return std::nullopt;
  AffineForm form{role->first, *storage, {}};
  if (text.empty()) return form;
  const auto granularity = Granularity::parse(text);
  if (!granularity || granularity->kind == Granularity::Kind::tensor) return std::nullopt;
  form.granularity = *granularity;
  return form;
}

}  // namespace quadrant::inline v0
