// What the library has to say besides its result. It prints nothing itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

enum class Severity : std::uint8_t { note, warning };

/// Something a user should know that does not stop the work (a dropped attribute, a fallback).
struct Diagnostic {
  Severity severity = Severity::note;
  std::string message;
  Place place;
};

/// Receives diagnostics and progress. The default ignores them. Calls come from the thread that
/// called the library.
class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  virtual void report(const Diagnostic& /*diagnostic*/) {}

  /// `done` of `total` units (bytes, nodes) of the task are finished.
  virtual void progress(std::string_view /*task*/, std::uint64_t /*done*/,
                        std::uint64_t /*total*/) {}
};

// What a transformation did not touch.

/// Something that a transformation looked at and left as it was.
struct LeftAlone {
  std::string name;    ///< of a value: the result of the operation that is meant
  std::string reason;  ///< why, for people
  friend bool operator==(const LeftAlone&, const LeftAlone&) = default;
};

}  // namespace quadrant::inline v0
