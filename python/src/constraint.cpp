#include "constraint.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

namespace quadrant::python {
namespace {

// Of the run in this thread, of which there is one: hooks start none.
thread_local KnownConstraints* known_here = nullptr;  // NOLINT(*-avoid-non-const-global-variables)

bool is_digit(char character) { return std::isdigit(static_cast<unsigned char>(character)) != 0; }

// Throws what an attribute raises that is no integer of 64 bits.
Gain gain_of(const nb::object& object) {
  const nb::object index = nb::steal(PyNumber_Index(nb::object(object.attr("gain")).ptr()));
  if (!index.is_valid()) throw nb::python_error();
  const long long gain = PyLong_AsLongLong(index.ptr());
  if (gain == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return Gain{gain};
}

// Takes the digits that `text` begins with, without leading zeros.
std::string_view take_number(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  const auto length = static_cast<std::size_t>(end - text.begin());
  std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

// Below zero where `a` comes first.
int compare_numbers(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

bool comes_before(std::string_view first, std::string_view second) {
  std::string_view a = first;
  std::string_view b = second;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view number = take_number(a);
      const int order = compare_numbers(number, take_number(b));
      if (order != 0) return order < 0;
    } else if (a.front() != b.front()) {
      return a.front() < b.front();
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return first < second;  // 01 and 1
}

}  // namespace

Held hold(nb::object object) {
  return {new nb::object(std::move(object)), [](const nb::object* last) noexcept {
            const nb::gil_scoped_acquire gil;
            delete last;  // NOLINT(*-owning-memory): whose `new` stands above
          }};
}

Constraint::Constraint(nb::object object) {
  const nb::object key = object.attr("hash")();
  const Py_hash_t hash = PyObject_Hash(key.ptr());
  if (hash == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  Data data{.hash = static_cast<std::size_t>(hash),
            .text = nb::cast<std::string>(nb::str(object)),
            .gain = gain_of(object)};
  data.object = hold(std::move(object));
  data_ = std::make_shared<const Data>(std::move(data));
  if (known_here != nullptr) known_here->add(*this);
}

std::optional<Constraint> Constraint::parse(std::string_view text) {
  return known_here == nullptr ? std::nullopt : known_here->find(text);
}

bool operator==(const Constraint& a, const Constraint& b) {
  if (a.data_ == b.data_) return true;
  if (a.hash() != b.hash()) return false;
  const nb::gil_scoped_acquire gil;
  return a.object().type().is(b.object().type()) &&
         nb::cast<bool>(nb::bool_(a.object().attr("check")(b.object())));
}

bool operator<(const Constraint& a, const Constraint& b) {
  return comes_before(a.data_->text, b.data_->text);
}

KnownConstraints::Scope::Scope(KnownConstraints& known) noexcept
    : before_(std::exchange(known_here, &known)) {}

KnownConstraints::Scope::~Scope() { known_here = before_; }

bool KnownConstraints::is_kept() noexcept { return known_here != nullptr; }

std::optional<Constraint> KnownConstraints::find(std::string_view text) const {
  const auto found = by_text_.find(std::string(text));
  return found == by_text_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace quadrant::python
