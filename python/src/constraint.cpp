#include "constraint.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "session.hpp"

namespace quadrant::python {
namespace {

// Of the run in this thread, of which there is one: hooks start none.
thread_local KnownConstraints* known_here = nullptr;  // NOLINT(*-avoid-non-const-global-variables)

bool is_digit(char character) { return std::isdigit(static_cast<unsigned char>(character)) != 0; }

// Throws a TypeError that says which class, with what Python has raised as its cause.
[[noreturn]] void refuse_raised(const nb::object& object, const char* why) {
  nb::python_error raised;
  const auto name = nb::cast<std::string>(object.type().attr("__qualname__"));
  nb::raise_from(raised, PyExc_TypeError, "%s: %s", name.c_str(), why);  // NOLINT(*-vararg)
}

// Throws where an attribute is no integer of 64 bits.
Gain gain_of(const nb::object& object) {
  const nb::object index = nb::steal(PyNumber_Index(nb::object(object.attr("gain")).ptr()));
  const long long gain = index.is_valid() ? PyLong_AsLongLong(index.ptr()) : -1;
  if (gain == -1 && PyErr_Occurred() != nullptr) {
    refuse_raised(object, "a gain is an integer of 64 bits");
  }
  return Gain{gain};
}

std::string text_of(const nb::object& object) {
  std::string text;
  if (!nb::try_cast(nb::str(object), text)) {
    throw Failure(
        {ErrorCode::usage, "a constraint's text is not Unicode that can be written", {}, {}});
  }
  return text;
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
      return static_cast<unsigned char>(a.front()) < static_cast<unsigned char>(b.front());
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return first < second;  // 01 and 1
}

}  // namespace

Constraint::Constraint(const nb::object& object) : gain_(gain_of(object)) {
  if (known_here == nullptr) {
    throw Failure({ErrorCode::usage, "a hook asks in the thread in which it is called", {}, {}});
  }
  data_ = known_here->find_or_add(object);
}

std::optional<Constraint> Constraint::parse(std::string_view text) {
  if (known_here == nullptr) return std::nullopt;
  const auto found = known_here->by_text_.find(std::string(text));
  if (found == known_here->by_text_.end()) return std::nullopt;
  return Constraint(found->second);
}

bool operator<(const Constraint& a, const Constraint& b) {
  return comes_before(a.data_->text, b.data_->text);
}

KnownConstraints::Scope::Scope(KnownConstraints& known) noexcept
    : before_(std::exchange(known_here, &known)) {}

KnownConstraints::Scope::~Scope() { known_here = before_; }

bool KnownConstraints::is_kept() noexcept { return known_here != nullptr; }

void KnownConstraints::release() noexcept {
  for (const auto& [hash, data] : by_hash_) data->object.reset();
  by_hash_.clear();
  by_text_.clear();
}

std::shared_ptr<Constraint::Data> KnownConstraints::find_or_add(const nb::object& object) {
  const nb::object key = object.attr("hash")();
  const Py_hash_t signed_hash = PyObject_Hash(key.ptr());
  if (signed_hash == -1 && PyErr_Occurred() != nullptr) {
    refuse_raised(object, "unhashable: attributes are numbers, texts and tuples of these");
  }
  const auto hash = static_cast<std::size_t>(signed_hash);
  // A copy: `check` may make constraints, which are added meanwhile.
  std::vector<std::shared_ptr<Constraint::Data>> alike;
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto known = first; known != last; ++known) alike.push_back(known->second);
  for (const auto& known : alike) {
    const nb::object& other = known->object;
    const bool is_same =
        object.type().is(other.type()) && nb::cast<bool>(nb::bool_(other.attr("check")(object)));
    if (is_same) return known;
  }
  auto added = std::make_shared<Constraint::Data>(Constraint::Data{object, hash, text_of(object)});
  by_hash_.emplace(hash, added);
  by_text_.try_emplace(added->text, added);
  return added;
}

}  // namespace quadrant::python
