// The bias of a sum of products: int32 codes in the scale of the products.
//
//   sum (s_x (q_x - z_x)) (s_w q_w) + b  =  s_x s_w (sum (q_x - z_x) q_w + b / (s_x s_w))
//
// A bias that came in another scale is rounded to this one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "quadrant/engine/phases/rewriting.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/methods/qdq_fusion.hpp"

namespace quadrant::inline v0::qdq_fusion {

/// How the bias of a node gets to be codes in the scale of the products.
struct BiasReading {
  enum class Kind : std::uint8_t {
    none,      ///< there is none
    codes,     ///< it is such codes: `form`
    constant,  ///< it is known, and is encoded anew
    refused,   ///< `why`
  };
  Kind kind = Kind::none;
  std::optional<GivenForm> form{};
  const char* why = nullptr;
};

/// `channels`: how many the sum has. `data`, `weight`: forms that it may read. Reads scales, and a
/// bias that is known.
[[nodiscard]] BiasReading read_bias(NodeRef node, const Product& product, std::int64_t channels,
                                    const GivenForm& data, const GivenForm& weight);

/// Phase 4: a bias that is known, and not such codes by now, becomes them.
[[nodiscard]] Expected<void> encode_bias(NodeRef node, const Product& product,
                                         std::int64_t channels, RewriteContext& context);

}  // namespace quadrant::inline v0::qdq_fusion
