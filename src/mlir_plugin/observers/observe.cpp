// What the calls of quadrant-instrument reach when the program runs: a library that whoever runs it
// loads (`mlir-cpu-runner -shared-libs=libquadrant_observers.so`). It keeps the statistics of each
// value, and writes them when the program ends. It uses nothing of MLIR but how tensors are handed
// over. Several threads may call.
#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/ir/type.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/support/files.hpp"

namespace {

namespace qd = quadrant;

// As `llvm.emit_c_interface` hands over a memref of unknown rank: its descriptor has two pointers,
// the second of which is to the elements, an offset, and an extent and a step for each axis.
struct UnrankedMemref {
  std::int64_t rank;
  const void* descriptor;
};

template <class T>
class Elements {
 public:
  explicit Elements(const UnrankedMemref& memref)
      : rank_(static_cast<std::size_t>(memref.rank)),
        first_(static_cast<const T* const*>(memref.descriptor)[1]),
        numbers_(reinterpret_cast<const std::int64_t*>(
            static_cast<const T* const*>(memref.descriptor) + 2)) {}

  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> found;
    std::vector<std::int64_t> at(rank_, 0);
    for (std::size_t axis = 0; axis < rank_; ++axis) {
      if (extent(axis) == 0) return found;
    }
    while (true) {
      std::int64_t place = numbers_[0];
      for (std::size_t axis = 0; axis < rank_; ++axis)
        place += at[axis] * numbers_[1 + rank_ + axis];
      found.push_back(first_[place]);
      std::size_t axis = rank_;
      while (axis > 0 && ++at[axis - 1] == extent(axis - 1)) at[--axis] = 0;
      if (axis == 0) return found;
    }
  }

 private:
  [[nodiscard]] std::int64_t extent(std::size_t axis) const { return numbers_[1 + axis]; }

  std::size_t rank_;
  const T* first_;
  const std::int64_t* numbers_;
};

class Observed {
 public:
  Observed() = default;
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;
  ~Observed() {
    try {
      for (const auto& [file, table] : tables_) save(file, table);
    } catch (const std::exception& problem) {
      lose(problem.what());
    }
  }

  // Each run of a function says where its values go.
  void write_to(const std::string& file) {
    const std::lock_guard lock(mutex_);
    ++tables_[file].samples;
  }

  void add(const std::string& file, const std::string& name, const std::vector<float>& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    const auto tensor = qd::Tensor::from_values<float>(qd::ElementType::float32, qd::Shape{count},
                                                       std::span(values));
    const std::lock_guard lock(mutex_);
    tables_[file].values[name].add(tensor);
  }

  // What was seen is not all: then nothing is written.
  void lose(const char* why) noexcept {
    for (const char* part : {"quadrant: the statistics are lost: ", why, "\n"}) {
      (void)std::fputs(part, stderr);
    }
    is_lost_ = true;
  }

 private:
  void save(const std::string& path, const qd::StatisticsTable& table) {
    if (is_lost_) return;
    const std::string text = qd::print_statistics(table);
    auto file = qd::NewFile::create(path);
    auto written = file ? file->write(std::as_bytes(std::span(text)))
                        : qd::Expected<void>(tl::unexpected(std::move(file.error())));
    if (written) written = file->commit();
    if (!written) {
      fmt::print(stderr, "quadrant: the statistics are lost: {}\n", qd::to_string(written.error()));
    }
  }

  std::mutex mutex_;
  std::atomic<bool> is_lost_ = false;
  std::map<std::string, qd::StatisticsTable> tables_;  // by the file that they go to
};

Observed& observed() {
  static Observed all;
  return all;
}

std::string text_of(const UnrankedMemref& bytes) {
  const std::vector<char> read = Elements<char>(bytes).read();
  return {read.begin(), read.end()};
}

// The program that calls takes no exceptions.
template <class Body>
void guarded(Body body) noexcept {
  try {
    body();
  } catch (const std::exception& problem) {
    observed().lose(problem.what());
  }
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): called so by what MLIR compiles
extern "C" {

__attribute__((visibility("default"))) void _mlir_ciface_quadrant_observe_into(
    const UnrankedMemref* file) {
  guarded([&] { observed().write_to(text_of(*file)); });
}

__attribute__((visibility("default"))) void _mlir_ciface_quadrant_observe(
    const UnrankedMemref* file, const UnrankedMemref* name, const UnrankedMemref* values) {
  guarded([&] { observed().add(text_of(*file), text_of(*name), Elements<float>(*values).read()); });
}
}
// NOLINTEND(readability-identifier-naming)
