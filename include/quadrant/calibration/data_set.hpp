// The inputs that a model is run on, sample by sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {

/// What one run of a model takes: a tensor for each of `graph.inputs()`, in order.
struct Sample {
  std::vector<Tensor> inputs;
};

/// Samples for one model. They are read, or made, when they are asked for, and not kept: memory
/// does not grow with their number. Neither the graph nor the sink that it was made with is needed
/// any more.
class DataSet {
 public:
  DataSet() = default;
  DataSet(const DataSet&) = delete;
  DataSet& operator=(const DataSet&) = delete;
  virtual ~DataSet() = default;

  [[nodiscard]] virtual std::size_t size() const = 0;
  /// Sample `i` of `size()`, which fits the inputs of the graph. The same each time; several
  /// threads may ask at once. Errors name the file, and the input: `io` when it cannot be read,
  /// `invalid_model` when it is damaged or does not fit the model.
  [[nodiscard]] virtual Expected<Sample> sample(std::size_t i) const = 0;
  /// The name of sample `i` for people: its file or folder.
  [[nodiscard]] virtual std::string name(std::size_t i) const = 0;
};

struct DataSetOptions {
  /// Numbers of another type become those of the model's input: floats are rounded to the nearest,
  /// an integer that the new type does not have is an error. Without it, another type is an error.
  bool convert = false;
  /// Lets NaN and infinity pass; they are errors otherwise.
  bool allow_non_finite = false;
  Sink* sink = nullptr;  ///< hears what was ignored, while the data set is opened; may be null
  FileTransaction* files = nullptr;  ///< hears then of all files that will be read; may be null
};

/// The samples in `path`, in natural order of their names (`9`, then `10`). A folder holds one of
///
///  - `*.npz`: one sample each, with an array for each input, by name;
///  - `*.npy`, `*.pb`, `*.raw` or `*.bin`: one sample each, of a model with one input;
///  - folders: one sample each, of `INPUT.npy`, `INPUT.pb`, `INPUT.raw` or `INPUT.bin` for each
///    input, or, as ONNX's own tests have them, `input_0.pb`, `input_1.pb` in order of the inputs;
///  - `input_list.txt`: one sample a line, of paths in order of the inputs, or of `INPUT:=PATH`.
///
/// or is itself such a folder of one sample; `path` may also be one of these files. Folders
/// beside files are passed over, with a warning unless the file is a list. `.pb` are
/// ONNX's TensorProto; `.raw` and `.bin` are elements of the input's type and shape, little-endian
/// and nothing else. In the name of a file, characters of an input's name other than letters,
/// digits, `.`, `_` and `-` may be written as `_`.
///
/// Each sample must have a tensor for each input, of its element type, rank, and extents where the
/// model knows them, and without NaN or infinity. That is checked when it is read.
///
/// `usage` where there is nothing, nothing known, or of several kinds, and for a folder without
/// arrays among folders, and where one of `files` would be written over a sample; `io` for what
/// cannot be read.
[[nodiscard]] Expected<std::unique_ptr<DataSet>> open_data_set(const std::string& path,
                                                               const Graph& graph,
                                                               const DataSetOptions& options = {});

struct RandomDataOptions {
  /// Shapes for inputs, by name. In the others, an extent that the model does not know is 1.
  std::map<std::string, Shape> shapes{};
  /// Integers are between 0 and this, both included, as far as their type has them.
  std::int64_t largest_integer = 1;
  std::uint64_t largest_input = std::uint64_t{4} << 30U;  ///< bytes; larger ones are refused
  Sink* sink = nullptr;  ///< hears of extents that were made up; may be null
};

/// `count` samples of random numbers, called `random_0` and so on; the same for a seed on every
/// machine. Floats are nearly normal with mean 0 and variance 1: sums of twelve uniform numbers,
/// which lie within 6 of the mean. Integers are uniform over a small range, and so are booleans.
///
/// The samples are errors (`impossible`) where the rank or the element type of an input is unknown.
[[nodiscard]] std::unique_ptr<DataSet> random_data_set(const Graph& graph, std::size_t count,
                                                       std::uint64_t seed,
                                                       const RandomDataOptions& options = {});

}  // namespace quadrant::inline v0
