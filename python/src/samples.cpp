#include "samples.hpp"

#include "arrays.hpp"

namespace quadrant::python {

Expected<Sample> FetchedSamples::sample(std::size_t i) const {
  const nb::gil_scoped_acquire gil;
  try {
    Sample made;
    for (const nb::handle array : nb::object(fetch_(i))) made.inputs.push_back(to_tensor(array));
    return made;
  } catch (...) {
    session_->keep(std::current_exception());
    return fail(ErrorCode::cancelled, "a sample could not be made");
  }
}

std::string FetchedSamples::name(std::size_t i) const { return "sample " + std::to_string(i); }

}  // namespace quadrant::python
