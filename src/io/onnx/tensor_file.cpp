#include "io/onnx/tensor_file.hpp"

#include "io/onnx/failure.hpp"
#include "io/onnx/source.hpp"
#include "io/onnx/tensor.hpp"

namespace quadrant::inline v0 {

Expected<Tensor> read_onnx_tensor(const std::string& path) {
  return onnx::at_border(path, [&] {
    onnx::Source source(path, {});
    const onnx::Tensor tensor = onnx::read_tensor(source, {0, source.bytes().size()});
    if (!tensor.constant) onnx::invalid("it holds elements of a type that is not read");
    return onnx::value_of(Tensor::from_constant(tensor.constant));
  });
}

}  // namespace quadrant::inline v0
