// A data set that lies in memory.
#pragma once

#include <string>
#include <vector>

#include "quadrant/calibration/data_set.hpp"

namespace quadrant {

class MemoryData final : public DataSet {
 public:
  explicit MemoryData(std::vector<Sample> samples) : samples_(std::move(samples)) {}

  [[nodiscard]] std::size_t size() const override { return samples_.size(); }
  [[nodiscard]] Expected<Sample> sample(std::size_t i) const override { return samples_[i]; }
  [[nodiscard]] std::string name(std::size_t i) const override {
    return "sample " + std::to_string(i);
  }

 private:
  std::vector<Sample> samples_;
};

/// A sample of one float32 tensor.
inline Sample sample_of(Shape shape, const std::vector<float>& values) {
  return {{Tensor::from_values<float>(ElementType::float32, std::move(shape), values)}};
}

}  // namespace quadrant
