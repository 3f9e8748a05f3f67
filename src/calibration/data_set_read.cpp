#include "calibration/data_set_read.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "calibration/data_set_fit.hpp"
#include "calibration/data_set_folder.hpp"
#include "calibration/data_set_raw.hpp"
#include "io/onnx/tensor_file.hpp"
#include "quadrant/io/npy.hpp"

namespace quadrant::inline v0::data_set {
namespace {

Error located(Error error, const std::string& path, const Input& input) {
  error.place.file = path;
  error.place.tensor = input.name;
  return error;
}

Expected<Tensor> read_array(const std::string& path, const Input& input) {
  switch (kind_of(path)) {
    case FileKind::npy:
      return read_npy(path);
    case FileKind::pb:
      return read_onnx_tensor(path);
    default:
      return read_raw(path, input);
  }
}

}  // namespace

Expected<Sample> read_archive(const std::string& path, std::span<const Input> inputs,
                              const DataSetOptions& options) {
  QUADRANT_TRY(NpzReader archive, NpzReader::open(path));
  Sample sample;
  for (const Input& input : inputs) {
    if (!archive.contains(input.name)) {
      return fail(ErrorCode::invalid_model,
                  fmt::format("no array for this input; there is {}", listed(archive.names())),
                  {.file = path, .tensor = input.name});
    }
    QUADRANT_TRY(Tensor tensor, archive.read(input.name));
    auto fit = fitted(std::move(tensor), input, options);
    if (!fit) return fail(located(std::move(fit).error(), path, input));
    sample.inputs.push_back(*std::move(fit));
  }
  return sample;
}

Expected<Sample> read_files(std::span<const std::string> paths, std::span<const Input> inputs,
                            const DataSetOptions& options) {
  Sample sample;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto fit = read_array(paths[i], inputs[i]).and_then([&](Tensor tensor) {
      return fitted(std::move(tensor), inputs[i], options);
    });
    if (!fit) return fail(located(std::move(fit).error(), paths[i], inputs[i]));
    sample.inputs.push_back(*std::move(fit));
  }
  return sample;
}

}  // namespace quadrant::inline v0::data_set
