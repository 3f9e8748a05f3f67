#include "pipeline/run_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "calibration/located.hpp"
#include "calibration/sample_loop.hpp"
#include "quadrant/io/npy.hpp"
#include "quadrant/ir/shape.hpp"
#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {
namespace {

namespace fs = std::filesystem;

// What a sample's file or folder is called, without the ending of a file of data.
std::string bare_name(const std::string& sample) {
  std::error_code ignored;  // where there is no working directory
  fs::path path = fs::absolute(sample, ignored).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();  // a/b/
  constexpr std::array<std::string_view, 5> endings{".npz", ".npy", ".pb", ".raw", ".bin"};
  const bool is_data = std::ranges::find(endings, path.extension().string()) != endings.end();
  return (is_data ? path.stem() : path.filename()).string();
}

// A file for each sample, called after it; with its number where that is taken.
std::vector<std::string> files_of(const DataSet& data, const fs::path& folder) {
  std::set<std::string> taken;
  std::vector<std::string> files;
  files.reserve(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::string bare = bare_name(data.name(i));
    std::string name = bare + ".npz";
    for (std::size_t number = i; !taken.insert(name).second; ++number) {
      name = fmt::format("{}_{}.npz", bare, number);
    }
    files.push_back((folder / name).string());
  }
  return files;
}

// What two arrays have in common: an extent that differs is not known.
TensorType common(const TensorType& a, const TensorType& b) {
  if (a.shape.rank() != b.shape.rank()) return {a.element, Shape(), nullptr};
  std::vector<Extent> extents(a.shape.extents().begin(), a.shape.extents().end());
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (!surely_equal(extents[axis], b.shape.extents()[axis])) extents[axis] = Extent::open();
  }
  return {a.element, Shape(std::move(extents)), nullptr};
}

Expected<std::vector<NamedTensor>> results_of(const ModelExecutor& executor, const DataSet& data,
                                              std::size_t i, const NamedValues& values,
                                              const std::string& model) {
  QUADRANT_TRY(const Sample sample, read_sample(data, i));
  auto run = run_model(executor, sample.inputs, values.values.size());
  QUADRANT_TRY(Tensors tensors, in_file(on_sample(std::move(run), data, i), model));
  std::vector<NamedTensor> results;
  results.reserve(tensors.size());
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    if (!tensors[k]) {
      return on_sample(Expected<std::vector<NamedTensor>>(
                           fail(ErrorCode::impossible,
                                "it was not computed: it is in a branch or a loop that did not run",
                                {.file = model, .tensor = values.names[k]})),
                       data, i);
    }
    results.push_back({values.names[k], std::move(tensors[k])});
  }
  return results;
}

}  // namespace

Expected<SampleResults> run_samples(const ModelExecutor& executor, const DataSet& data,
                                    const NamedValues& values, const RunSamplesOptions& options,
                                    const RunContext& context) {
  FileTransaction own;
  FileTransaction& files = context.files != nullptr ? *context.files : own;
  SampleResults made{files_of(data, options.folder), {}};
  QUADRANT_CHECK(files.make_folder(options.folder));
  for (const std::string& file : made.files) QUADRANT_CHECK(files.announce(file, "`output`"));
  std::array<std::vector<TensorType>, sample_slots> found;
  const auto compute = [&](std::size_t i, std::size_t slot) -> Expected<void> {
    QUADRANT_TRY(const auto results, results_of(executor, data, i, values, options.model));
    found[slot].clear();
    for (const auto& [name, tensor] : results) {
      found[slot].push_back({tensor.element(), tensor.shape(), nullptr});
    }
    return write_npz(made.files[i], results, {.compress = options.compress, .files = &files});
  };
  const auto settle = [&](std::size_t i, std::size_t slot) -> Expected<void> {
    if (i == 0) made.types = found[slot];
    std::ranges::transform(made.types, found[slot], made.types.begin(), common);
    return {};
  };
  const SampleLoop loop{.executor = context.executor, .sink = context.sink, .task = "running"};
  QUADRANT_CHECK(for_each_sample(data.size(), loop, compute, settle));
  if (context.files == nullptr) QUADRANT_CHECK(own.commit());
  return made;
}

}  // namespace quadrant::inline v0
