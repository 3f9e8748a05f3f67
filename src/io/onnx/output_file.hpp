// Files that appear complete or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "io/onnx/rope.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/function_ref.hpp"

namespace quadrant::inline v0::onnx {

/// A new file beside `path`, which takes its place when it is complete. What is not put in place is
/// removed. Throws `io` Failures.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  /// Gives the file another final name in the same folder: one made from its contents.
  void rename_to(std::string path) { path_ = std::move(path); }
  /// Puts the file in place.
  void commit();
  /// Undoes `commit`, unless there was a file before.
  void withdraw() noexcept;

 private:
  void close();

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  bool committed_ = false;
  bool replaced_ = false;
};

/// 64 bits that tell contents apart (FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv).
class ContentHash {
 public:
  void add(std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

/// Receives the bytes of a rope in order, a few megabytes at a time.
using ByteSink = FunctionRef<void(std::span<const std::byte>)>;

/// Streams `rope`: payloads are read, or computed, in pieces that `executor` runs side by side.
void stream(const Rope& rope, Executor& executor, ByteSink out);

}  // namespace quadrant::inline v0::onnx
