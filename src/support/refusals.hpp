// Why a model cannot be written: all reasons at once, each with some of the nodes that it is about.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::failures {

class Refusals {
 public:
  void add(const std::string& why, std::string_view node, Remedy remedy = Remedy::none);
  [[nodiscard]] bool empty() const noexcept { return refused_.empty(); }
  /// `operation onnx.Foo ('a', 'b' and 3 more); ...`, printable: the first reasons, and how many
  /// more there are.
  [[nodiscard]] std::string text() const;
  /// Of the first that has one.
  [[nodiscard]] Remedy remedy() const noexcept { return remedy_; }

 private:
  struct Refused {
    std::string why;
    std::vector<std::string> nodes;
  };
  std::vector<Refused> refused_;
  Remedy remedy_ = Remedy::none;
  std::unordered_map<std::string, std::size_t> index_of_;  ///< by why
};

}  // namespace quadrant::inline v0::failures
