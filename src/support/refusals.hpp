// Why a model cannot be written: all reasons at once, each with some of the nodes that it is about.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace quadrant::inline v0::failures {

class Refusals {
 public:
  void add(const std::string& why, std::string_view node);
  [[nodiscard]] bool empty() const noexcept { return refused_.empty(); }
  /// `operation onnx.Foo ('a', 'b' and 3 more); ...`, printable: the first reasons, and how many
  /// more there are.
  [[nodiscard]] std::string text() const;

 private:
  struct Refused {
    std::string why;
    std::vector<std::string> nodes;
  };
  std::vector<Refused> refused_;
  std::unordered_map<std::string, std::size_t> index_of_;  ///< by why
};

}  // namespace quadrant::inline v0::failures
