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

/// A QuantizationConstraint of Python. What the engine compares, hashes and prints is asked of the
/// object once; of two that hash alike, its `check`, which may raise. Copies share all of it and
/// need no GIL.
class Constraint {
 public:
  /// Needs the GIL, and a KnownConstraints::Scope; throws what the object's methods raise.
  explicit Constraint(const nb::object& object);

  [[nodiscard]] std::size_t hash() const noexcept { return data_->hash; }
  [[nodiscard]] std::string print() const { return data_->text; }
  /// One of the constraints that the run of this thread has met, by its text.
  [[nodiscard]] static std::optional<Constraint> parse(std::string_view text);
  /// The first that was met of all that are equal. None once the run is over.
  [[nodiscard]] const nb::object& object() const noexcept { return data_->object; }
  /// What it carries for whoever asks it.
  [[nodiscard]] Gain gain() const noexcept { return gain_; }

  /// Those of one run share their data if they are equal.
  friend bool operator==(const Constraint& a, const Constraint& b) { return a.data_ == b.data_; }
  /// By text, in which numbers count as numbers: `axis=2` before `axis=10`.
  friend bool operator<(const Constraint& a, const Constraint& b);

 private:
  friend class KnownConstraints;
  struct Data {
    nb::object object;
    std::size_t hash = 0;
    std::string text;
  };
  explicit Constraint(std::shared_ptr<Data> data) : data_(std::move(data)) {}

  std::shared_ptr<Data> data_;
  Gain gain_;
};

/// The constraints that one run has met, each once.
class KnownConstraints {
 public:
  /// Until its end, constraints that this thread makes are those of `known`.
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

  /// Lets go of the objects, which may refer to what refers to the run. Needs the GIL.
  void release() noexcept;

 private:
  friend class Constraint;
  [[nodiscard]] std::shared_ptr<Constraint::Data> find_or_add(const nb::object& object);

  std::unordered_multimap<std::size_t, std::shared_ptr<Constraint::Data>> by_hash_;
  std::unordered_map<std::string, std::shared_ptr<Constraint::Data>> by_text_;
};

}  // namespace quadrant::python
