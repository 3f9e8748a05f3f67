#include "samples.hpp"

#include "arrays.hpp"

namespace quadrant::python {

Expected<Sample> FetchedSamples::sample(std::size_t i) const {
  return call_python(*session_, "a sample could not be made", [&]() -> Expected<Sample> {
    Sample made;
    for (const nb::handle array : nb::object(fetch_(i))) made.inputs.push_back(to_tensor(array));
    return made;
  });
}

std::string FetchedSamples::name(std::size_t i) const { return "sample " + std::to_string(i); }

}  // namespace quadrant::python
