// Second moments of what weights are multiplied by.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "model.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "samples.hpp"

namespace quadrant::python {

/// Of one weight.
struct WeightMoments {
  std::shared_ptr<const SecondMoments> moments;
  /// Of the weight, where they were gathered in this process.
  std::optional<std::vector<std::int64_t>> shape;

  /// [matrices, columns, columns]
  [[nodiscard]] Array mean() const;
  /// [matrices, rows, columns]
  [[nodiscard]] Array places() const;
  /// [matrices]
  [[nodiscard]] std::vector<std::int64_t> counts() const;
};

struct Moments {
  SecondMomentsTable table;
  std::map<std::string, std::vector<std::int64_t>> shapes{};  ///< as far as they are known

  /// Throws for a file of grids.
  [[nodiscard]] static Moments parse(const nb::bytes& contents);
  [[nodiscard]] nb::bytes print() const;
  [[nodiscard]] std::vector<std::string> names() const;
  /// Throws a KeyError where there is none.
  [[nodiscard]] WeightMoments of(const std::string& name) const;
  /// Weights without, and why.
  [[nodiscard]] Dict left() const;
  void merge(const Moments& other);
};

/// `only`: names of weights; empty: all. `grid`: whose grid to count on; null: one of its own.
/// `block`, `memory`: CollectMomentsOptions; nothing: what that has.
[[nodiscard]] Moments second_moments(Session& session, const Model& model, const Samples& samples,
                                     const std::vector<std::string>& only, nb::handle runtime,
                                     const Moments* grid, std::optional<std::size_t> block,
                                     std::optional<std::uint64_t> memory);

}  // namespace quadrant::python
