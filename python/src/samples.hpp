// Samples from Python: a folder, or a function that makes them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/pipeline/run.hpp"
#include "session.hpp"

namespace quadrant::python {

/// `fetch(i)` gives the arrays of sample `i`, in the order of the model's inputs and of their
/// types. It is called from any thread, with the GIL; what it raises ends the session's call.
class FetchedSamples final : public DataSet {
 public:
  FetchedSamples(std::shared_ptr<Session> session, std::size_t size, nb::object fetch)
      : session_(std::move(session)), size_(size), fetch_(std::move(fetch)) {}

  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] Expected<Sample> sample(std::size_t i) const override;
  [[nodiscard]] std::string name(std::size_t i) const override;

 private:
  std::shared_ptr<Session> session_;
  std::size_t size_;
  nb::object fetch_;
};

/// Either; or statistics, where the path is of such a file.
struct Samples {
  std::string path;
  std::shared_ptr<FetchedSamples> fetched;

  [[nodiscard]] RunInputs inputs() const {
    return {.calibration = path, .samples = fetched.get(), .encodings = {}};
  }
};

}  // namespace quadrant::python
