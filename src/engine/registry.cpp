#include "quadrant/engine/registry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quadrant/support/assert.hpp"

namespace quadrant::inline v0 {

Expected<Registry> Registry::join(std::span<const Registry> registries) {
  std::vector<std::shared_ptr<const Contents>> all;
  for (const Registry& registry : registries) {
    all.insert(all.end(), registry.contents_.begin(), registry.contents_.end());
  }
  const auto name = [](const auto& contents) { return contents->scheme->name(); };
  std::ranges::sort(all, {}, name);
  const auto twice = std::ranges::adjacent_find(all, {}, name);
  if (twice != all.end()) {
    return fail(ErrorCode::usage,
                fmt::format("two schemes are called '{}': a run has each once", name(*twice)));
  }
  if (all.empty()) return fail(ErrorCode::usage, "a run needs a scheme");
  return Registry(std::move(all));
}

const QuantizationMethod* Registry::find(std::string_view op, std::uint32_t scheme) const noexcept {
  const auto& methods = contents_[scheme]->methods;
  const auto found = methods.find(op);
  return found == methods.end() ? nullptr : found->second.get();
}

std::vector<const QuantizationMethod*> Registry::methods(std::uint32_t scheme) const {
  std::vector<const QuantizationMethod*> all;
  all.reserve(contents_[scheme]->methods.size());
  for (const auto& [op, method] : contents_[scheme]->methods) all.push_back(method.get());
  std::ranges::sort(all, {}, &QuantizationMethod::op);
  return all;
}

std::string Registry::names() const {
  std::string text;
  for (const auto& contents : contents_) {
    if (!text.empty()) text += '+';
    text += contents->scheme->name();
  }
  return text;
}

RegistryBuilder::RegistryBuilder(std::unique_ptr<const Scheme> scheme)
    : contents_(std::make_shared<Registry::Contents>()) {
  QUADRANT_ASSERT(scheme != nullptr);
  contents_->scheme = std::move(scheme);
}

void RegistryBuilder::add(std::string_view op, std::unique_ptr<QuantizationMethod> method) {
  method->op_ = op;
  method->scheme_ = contents_->scheme.get();
  const auto place = method->place();
  const std::string_view name = method->name();
  const auto [entry, added] = contents_->methods.try_emplace(std::string(op), std::move(method));
  if (added) return;
  const auto earlier = entry->second->place();
  duplicates_ +=
      fmt::format("{}operation '{}' has two methods: {} ({}:{}) and {} ({}:{})",
                  duplicates_.empty() ? "" : "; ", op, entry->second->name(), earlier.file_name(),
                  earlier.line(), name, place.file_name(), place.line());
}

Expected<Registry> RegistryBuilder::freeze() && {
  if (!duplicates_.empty()) {
    return fail(ErrorCode::usage,
                fmt::format("scheme '{}': {}", contents_->scheme->name(), duplicates_));
  }
  return Registry({std::shared_ptr<const Registry::Contents>(std::move(contents_))});
}

}  // namespace quadrant::inline v0
