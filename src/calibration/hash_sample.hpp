// Whether two samples are the same, by their contents.
#pragma once

#include <span>
#include <string>

#include "quadrant/calibration/data_set.hpp"
#include "support/content_hash.hpp"

namespace quadrant::inline v0 {

inline void hash_sample(ContentHash& hash, const Sample& sample) {
  for (const Tensor& tensor : sample.inputs) {
    const std::string type = std::string(to_string(tensor.element())) + to_string(tensor.shape());
    hash.add(std::as_bytes(std::span(type)));
    hash.add(tensor.bytes());
  }
}

}  // namespace quadrant::inline v0
