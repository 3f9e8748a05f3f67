#include "quadrant/engine/declare/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

struct Registry::Contents {
  struct StringHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  struct OfRows {
    bool (*holds)(const Operation& row);
    std::unique_ptr<QuantizationMethod> method;
  };
  std::unique_ptr<const Scheme> scheme;
  std::unordered_map<std::string, std::unique_ptr<QuantizationMethod>, StringHash, std::equal_to<>>
      methods;
  std::vector<OfRows> of_rows;
};

Expected<Registry> Registry::join(std::span<const Registry> registries) {
  std::vector<Entry> all;
  for (const Registry& registry : registries) {
    all.insert(all.end(), registry.entries_.begin(), registry.entries_.end());
  }
  std::ranges::sort(all, {}, &Entry::name);
  const auto twice = std::ranges::adjacent_find(all, {}, &Entry::name);
  if (twice != all.end()) {
    return fail(ErrorCode::usage,
                fmt::format("two schemes are called '{}': a run has each once", twice->name));
  }
  if (all.empty()) return fail(ErrorCode::usage, "a run needs a scheme");
  return Registry(std::move(all));
}

const Scheme& Registry::scheme(std::uint32_t index) const noexcept {
  return *entries_[index].contents->scheme;
}

Registry Registry::renamed(std::string name) const {
  QUADRANT_ASSERT(scheme_count() == 1);
  return Registry(std::vector<Entry>{{std::move(name), entries_[0].contents}});
}

Registry Registry::only(std::uint32_t index) const {
  QUADRANT_ASSERT(index < scheme_count());
  return Registry(std::vector<Entry>{entries_[index]});
}

const QuantizationMethod* Registry::find(std::string_view op, std::uint32_t scheme) const noexcept {
  const auto& methods = entries_[scheme].contents->methods;
  const auto found = methods.find(op);
  return found == methods.end() ? nullptr : found->second.get();
}

const QuantizationMethod* Registry::find(NodeRef node, std::uint32_t scheme) const noexcept {
  if (const QuantizationMethod* const known = find(node.kind(), scheme)) return known;
  if (node.graph->operations().empty()) return nullptr;  // the table's have theirs by their kind
  const Operation* const row = find_operation(node);
  if (row == nullptr) return nullptr;
  const auto& methods = entries_[scheme].contents->of_rows;
  const auto found = std::ranges::find_if(methods, [&](const auto& of) { return of.holds(*row); });
  return found == methods.end() ? nullptr : found->method.get();
}

std::vector<const QuantizationMethod*> Registry::methods(std::uint32_t scheme) const {
  std::vector<const QuantizationMethod*> all;
  all.reserve(entries_[scheme].contents->methods.size());
  for (const auto& [op, method] : entries_[scheme].contents->methods) all.push_back(method.get());
  std::ranges::sort(all, {}, &QuantizationMethod::op);
  return all;
}

std::string Registry::names() const {
  std::string text;
  for (const Entry& entry : entries_) {
    if (!text.empty()) text += '+';
    text += entry.name;
  }
  return text;
}

struct RegistryBuilder::Collected {
  std::shared_ptr<Registry::Contents> contents = std::make_shared<Registry::Contents>();
  std::uint32_t distance = 0;  // of the scheme whose list is being read; 0: its own
  std::unordered_map<const QuantizationMethod*, std::uint32_t> distances;
  std::vector<std::unique_ptr<const QuantizationMethod>> duplicates;
};

RegistryBuilder::RegistryBuilder(std::unique_ptr<const Scheme> scheme)
    : collected_(std::make_shared<Collected>()) {
  QUADRANT_ASSERT(scheme != nullptr);
  collected_->contents->scheme = std::move(scheme);
}

void RegistryBuilder::add(std::string_view op, std::unique_ptr<QuantizationMethod> method) {
  Collected& all = *collected_;
  method->op_ = op;
  method->scheme_ = all.contents->scheme.get();
  all.distances.insert_or_assign(method.get(), all.distance);
  const auto [entry, added] = all.contents->methods.try_emplace(std::string(op), std::move(method));
  if (added) return;  // else try_emplace has left it alone
  const std::uint32_t known = all.distances.at(entry->second.get());
  if (all.distance < known) {
    entry->second.swap(method);
    std::erase_if(all.duplicates, [&](const auto& other) { return other->op() == op; });
  }
  if (all.distance == known) all.duplicates.push_back(std::move(method));
}

void RegistryBuilder::add_of_rows(bool (*holds)(const Operation& row),
                                  std::unique_ptr<QuantizationMethod> method) {
  Collected& all = *collected_;
  method->scheme_ = all.contents->scheme.get();
  const auto is_farther = [&](const auto& known) {
    return all.distances.at(known.method.get()) > all.distance;
  };
  all.distances.insert_or_assign(method.get(), all.distance);
  all.contents->of_rows.insert(std::ranges::find_if(all.contents->of_rows, is_farther),
                               {holds, std::move(method)});
}

void RegistryBuilder::inherit(FunctionRef<void()> list) {
  ++collected_->distance;
  list();
  --collected_->distance;
}

Expected<Registry> RegistryBuilder::freeze() && {
  Collected& all = *collected_;
  if (!all.duplicates.empty()) {
    return fail(ErrorCode::usage, fmt::format("scheme '{}': {}", all.contents->scheme->name(),
                                              describe_duplicates()));
  }
  QUADRANT_CHECK(all.contents->scheme->check());
  std::string name(all.contents->scheme->name());
  return Registry(std::vector<Registry::Entry>{{std::move(name), std::move(all.contents)}});
}

std::string RegistryBuilder::describe_duplicates() const {
  const auto describe = [](const QuantizationMethod& method) {
    const auto place = method.place();
    return fmt::format("{} ({}:{})", method.name(), place.file_name(), place.line());
  };
  // Sorted, so that it does not matter who came first.
  std::map<std::string_view, std::vector<std::string>> methods;
  for (const auto& method : collected_->duplicates) {
    auto& all = methods[method->op()];
    if (all.empty())
      all.push_back(describe(*collected_->contents->methods.find(method->op())->second));
    all.push_back(describe(*method));
  }
  std::string text;
  for (auto& [op, all] : methods) {
    std::ranges::sort(all);
    text += fmt::format("{}operation '{}' has {} methods: {}", text.empty() ? "" : "; ", op,
                        all.size(), fmt::join(all, " and "));
  }
  return text;
}

}  // namespace quadrant::inline v0
