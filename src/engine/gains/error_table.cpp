#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "quadrant/engine/gains/gain.hpp"

namespace quadrant::inline v0 {

struct ErrorTable::Errors {
  struct Less {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return std::pair<std::string_view, std::string_view>(a) <
             std::pair<std::string_view, std::string_view>(b);
    }
  };
  std::map<std::pair<std::string, std::string>, double, Less> all;
};

ErrorTable::ErrorTable() noexcept = default;
ErrorTable::ErrorTable(const ErrorTable& other)
    : errors_(other.errors_ ? std::make_unique<Errors>(*other.errors_) : nullptr) {}
ErrorTable::ErrorTable(ErrorTable&& other) noexcept = default;
ErrorTable& ErrorTable::operator=(const ErrorTable& other) { return *this = ErrorTable(other); }
ErrorTable& ErrorTable::operator=(ErrorTable&& other) noexcept = default;
ErrorTable::~ErrorTable() = default;

void ErrorTable::set(std::string_view value, std::string_view scheme, double error) {
  if (!errors_) errors_ = std::make_unique<Errors>();
  errors_->all[{std::string(value), std::string(scheme)}] = finite(error);
}

std::optional<double> ErrorTable::find(std::string_view value, std::string_view scheme) const {
  if (!errors_) return std::nullopt;
  const auto found = errors_->all.find(std::pair(value, scheme));
  return found != errors_->all.end() ? std::optional(found->second) : std::nullopt;
}

std::size_t ErrorTable::size() const noexcept { return errors_ ? errors_->all.size() : 0; }

double ErrorTable::largest_sum() const {
  if (!errors_) return 0;
  double sum = 0;
  for (auto entry = errors_->all.begin(); entry != errors_->all.end();) {
    const std::string& value = entry->first.first;
    double largest = 0;
    for (; entry != errors_->all.end() && entry->first.first == value; ++entry) {
      largest = std::max(largest, entry->second);
    }
    sum += largest;
  }
  return sum;
}

}  // namespace quadrant::inline v0
