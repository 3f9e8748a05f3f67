// The methods of qdq_fusion, one file a family; rules say which operation is of which.
#pragma once

#include "qdq_fusion/rules.hpp"
#include "quadrant/methods/qdq_fusion.hpp"

namespace quadrant::inline v0::qdq_fusion {

/// `quantize` and `dequantize`.
void register_borders(QdqFusion::Registration& methods);

// Each adds the method for operations that `rule` is about.
void register_product(QdqFusion::Registration& methods, const KernelRule& rule);
void register_rescaling(QdqFusion::Registration& methods, const KernelRule& rule);
void register_same(QdqFusion::Registration& methods, const KernelRule& rule);
void register_fixed(QdqFusion::Registration& methods, const KernelRule& rule);
void register_reader(QdqFusion::Registration& methods, const KernelRule& rule);

}  // namespace quadrant::inline v0::qdq_fusion
