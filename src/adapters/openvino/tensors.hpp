// The library's tensors and OpenVINO's.
#pragma once

#include "adapters/openvino/library.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::openvino {

/// What elements of 4 bits are to OpenVINO: a byte each, as they are here. It does take packed
/// ones, but reads beyond their end. All other types stay what they are.
[[nodiscard]] ElementType interface_type(ElementType element) noexcept;

/// A copy, of the interface type. `impossible` for an element type that OpenVINO has not.
[[nodiscard]] Expected<Handle<ov_tensor_t>> to_openvino(const Library& library,
                                                        const Tensor& tensor);

/// A copy, with elements of the type `wanted`, or, where that is `undefined`, as they are.
/// `impossible` when they are of another interface type, or one that the library does not read.
[[nodiscard]] Expected<Tensor> from_openvino(const Library& library, const ov_tensor_t& tensor,
                                             ElementType wanted);

}  // namespace quadrant::inline v0::openvino
