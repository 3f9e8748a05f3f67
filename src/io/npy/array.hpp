// One array, as it stands in a .npy file or a member of a .npz.
#pragma once

#include <string>

#include "io/npy/input.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::npy {

/// Reads a header, and elements up to the end of `input`.
[[nodiscard]] Expected<Tensor> read_array(Input& input);

/// A tensor as it is written: these bytes, then those of the elements.
struct StoredArray {
  std::string header;
  Tensor elements;
};

/// `impossible` for an empty tensor.
[[nodiscard]] Expected<StoredArray> stored_array(const Tensor& tensor);

}  // namespace quadrant::inline v0::npy
