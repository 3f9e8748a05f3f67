#include <string>

#include "quadrant/calibration/calibrate.hpp"

namespace quadrant::inline v0 {
namespace {

class Part final : public DataSet {
 public:
  Part(const DataSet& samples, SamplePart part) : samples_(samples), part_(part) {}

  [[nodiscard]] std::size_t size() const override {
    return (samples_.size() + part_.count - 1 - part_.index) / part_.count;
  }
  [[nodiscard]] Expected<Sample> sample(std::size_t i) const override {
    return samples_.sample(of_all(i));
  }
  [[nodiscard]] std::string name(std::size_t i) const override { return samples_.name(of_all(i)); }

 private:
  [[nodiscard]] std::size_t of_all(std::size_t i) const noexcept {
    return i * part_.count + part_.index;
  }

  const DataSet& samples_;
  SamplePart part_;
};

}  // namespace

std::unique_ptr<DataSet> part_of(const DataSet& samples, SamplePart part) {
  return std::make_unique<Part>(samples, part);
}

}  // namespace quadrant::inline v0
