// Constraints of schemes that are written in Python.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "quadrant/engine/gains/gain.hpp"

namespace quadrant::python {

namespace nb = nanobind;

/// A Python object that any thread may let go of.
using Held = std::shared_ptr<const nb::object>;
[[nodiscard]] Held hold(nb::object object);

/// A QuantizationConstraint of Python. What the engine compares, hashes and prints is asked of the
/// object once; of two that are alike in that, its `check` is asked, which may raise. Copies share
/// all of it and need no GIL.
class Constraint {
 public:
  /// Needs the GIL; throws what the object's methods raise.
  explicit Constraint(nb::object object);

  [[nodiscard]] std::size_t hash() const noexcept { return data_->hash; }
  [[nodiscard]] std::string print() const { return data_->text; }
  /// One of the constraints that the run of this thread has met, by its text.
  [[nodiscard]] static std::optional<Constraint> parse(std::string_view text);
  [[nodiscard]] const nb::object& object() const noexcept { return *data_->object; }
  /// What it carries for whoever asks it.
  [[nodiscard]] Gain gain() const noexcept { return data_->gain; }

  friend bool operator==(const Constraint& a, const Constraint& b);
  /// By text, in which numbers count as numbers: `axis=2` before `axis=10`.
  friend bool operator<(const Constraint& a, const Constraint& b);

 private:
  struct Data {
    Held object;
    std::size_t hash = 0;
    std::string text;
    Gain gain;
  };
  std::shared_ptr<const Data> data_;
};

/// The constraints that one run has met: what the texts of a plan mean.
class KnownConstraints {
 public:
  /// Until its end, constraints that this thread makes are kept in `known`, and found there.
  class Scope {
   public:
    explicit Scope(KnownConstraints& known) noexcept;
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    KnownConstraints* before_;
  };
  /// Whether this thread has such a scope: it runs the phases, or one of their hooks.
  [[nodiscard]] static bool is_kept() noexcept;

  void add(const Constraint& constraint) { by_text_.try_emplace(constraint.print(), constraint); }
  [[nodiscard]] std::optional<Constraint> find(std::string_view text) const;

 private:
  std::unordered_map<std::string, Constraint> by_text_;
};

}  // namespace quadrant::python
