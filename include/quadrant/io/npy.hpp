// NumPy's files of arrays: .npy holds one
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html), .npz is a zip archive
// of several, by name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {

// Read are booleans, integers of 8 to 64 bits and floats of 16 to 64 bits, of either byte order, by
// rows or by columns (Fortran order), of format versions 1.0 to 3.0.
//
// Written are version 1.0, little-endian, by rows. NumPy has no bfloat16, int4 and uint4: they are
// written as float32, int8 and uint8.
//
// `files`, which may be null, hear of files that are read, and put those in place that are written.
//
// Errors: `io` when the system refuses; `invalid_model` with file, array and byte offset for what
// is damaged, and for types that are not read, which are named; `impossible` for more elements than
// Tensor::make gives.

/// The array in a .npy file.
[[nodiscard]] Expected<Tensor> read_npy(const std::string& path, FileTransaction* files = nullptr);

/// The file appears complete or not at all.
[[nodiscard]] Expected<void> write_npy(const std::string& path, const Tensor& tensor);

/// An open .npz file. Its members may be stored or deflated; arrays are read one at a time, when
/// they are asked for, and their checksums are verified. For one thread at a time.
class NpzReader {
 public:
  [[nodiscard]] static Expected<NpzReader> open(const std::string& path,
                                                FileTransaction* files = nullptr);

  NpzReader(NpzReader&& other) noexcept;
  NpzReader& operator=(NpzReader&&) = delete;
  NpzReader(const NpzReader&) = delete;
  NpzReader& operator=(const NpzReader&) = delete;
  ~NpzReader();

  /// In the order of the archive. A member `x.npy` is the array `x`, as NumPy has it; `x` alone is
  /// one too.
  [[nodiscard]] std::span<const std::string> names() const noexcept;
  [[nodiscard]] bool contains(std::string_view name) const noexcept;
  /// `usage` where there is none of that name.
  [[nodiscard]] Expected<Tensor> read(std::string_view name);

 private:
  struct Archive;
  explicit NpzReader(std::unique_ptr<Archive> archive) noexcept;
  std::unique_ptr<Archive> archive_;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct NpzWriteOptions {
  bool compress = false;  ///< deflated, as numpy.savez_compressed; otherwise stored, as numpy.savez
  FileTransaction* files = nullptr;
};

/// Writes `tensors` in order; the same ones give the same bytes. The file appears complete or not
/// at all; it is put together in memory. `usage` for no tensors, and for a name that is empty, not
/// UTF-8, or there twice.
[[nodiscard]] Expected<void> write_npz(const std::string& path,
                                       std::span<const NamedTensor> tensors,
                                       const NpzWriteOptions& options = {});

}  // namespace quadrant::inline v0
