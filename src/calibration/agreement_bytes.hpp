// Agreements as bytes, for other ranks: every number as it is.
#pragma once

#include "quadrant/numerics/statistics.hpp"
#include "support/byte_stream.hpp"

namespace quadrant::inline v0 {

inline void write(ByteWriter& out, const Agreement& agreement) {
  for (const std::uint64_t count :
       {agreement.elements, agreement.equal, agreement.non_finite, agreement.nan}) {
    out.number(count);
  }
  for (const double sum : {agreement.signal, agreement.approximation, agreement.product,
                           agreement.noise, agreement.largest_error}) {
    out.number(sum);
  }
}

[[nodiscard]] inline Agreement read_agreement(ByteReader& in) {
  Agreement read;
  for (std::uint64_t* const count : {&read.elements, &read.equal, &read.non_finite, &read.nan}) {
    *count = in.number<std::uint64_t>();
  }
  for (double* const sum :
       {&read.signal, &read.approximation, &read.product, &read.noise, &read.largest_error}) {
    *sum = in.number<double>();
  }
  return read;
}

}  // namespace quadrant::inline v0
