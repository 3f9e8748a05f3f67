#include "quadrant/engine/registry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quadrant/support/assert.hpp"

namespace quadrant::inline v0 {

const QuantizationMethod* Registry::find(std::string_view op) const noexcept {
  const auto found = contents_->methods.find(op);
  return found == contents_->methods.end() ? nullptr : found->second.get();
}

std::vector<const QuantizationMethod*> Registry::methods() const {
  std::vector<const QuantizationMethod*> all;
  all.reserve(contents_->methods.size());
  for (const auto& [op, method] : contents_->methods) all.push_back(method.get());
  std::ranges::sort(all, {}, &QuantizationMethod::op);
  return all;
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
  return Registry(std::move(contents_));
}

}  // namespace quadrant::inline v0
