#include "quadrant/engine/registry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quadrant/support/assert.hpp"

namespace quadrant::inline v0 {

const QuantizationMethod* Registry::find(std::string_view op) const noexcept {
  const auto found = methods_.find(op);
  return found == methods_.end() ? nullptr : found->second.get();
}

std::vector<const QuantizationMethod*> Registry::methods() const {
  std::vector<const QuantizationMethod*> all;
  all.reserve(methods_.size());
  for (const auto& [op, method] : methods_) all.push_back(method.get());
  std::ranges::sort(all, {}, &QuantizationMethod::op);
  return all;
}

RegistryBuilder::RegistryBuilder(std::unique_ptr<const Scheme> scheme) {
  QUADRANT_ASSERT(scheme != nullptr);
  registry_.scheme_ = std::move(scheme);
}

void RegistryBuilder::add(std::string_view op, std::unique_ptr<QuantizationMethod> method) {
  method->op_ = op;
  method->scheme_ = registry_.scheme_.get();
  const auto place = method->place();
  const std::string_view name = method->name();
  const auto [entry, added] = registry_.methods_.try_emplace(std::string(op), std::move(method));
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
                fmt::format("scheme '{}': {}", registry_.scheme_->name(), duplicates_));
  }
  return std::move(registry_);
}

}  // namespace quadrant::inline v0
