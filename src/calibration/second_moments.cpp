#include "quadrant/calibration/second_moments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "calibration/layer_weights.hpp"
#include "calibration/located.hpp"
#include "calibration/reals.hpp"
#include "calibration/sample_loop.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0 {
namespace {

// Of inputs side by side, in bytes.
constexpr std::size_t room = std::size_t{1} << 24U;

/// A layer that reads a weight.
struct Reader {
  LayerWeight weight;
  std::optional<LayerProbe> probe;
  std::unique_ptr<ModelExecutor> layer;  ///< of the probe
};

/// A weight, and what is known of its inputs so far.
struct Watched {
  std::string name;
  std::vector<Reader> readers;
  std::vector<double> largest;  ///< magnitude, of each column of each matrix
  std::optional<SecondMoments> moments;
  std::string why_not;  ///< there are none
  std::mutex mutex;

  [[nodiscard]] const WeightMatrices& layout() const { return readers.front().weight.layout; }
};

// Elements along axes in front of one, the extent of that, and along those behind it.
struct Axes {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
};

Axes around(std::span<const std::int64_t> extents, std::int64_t axis) {
  Axes found;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(extents.size()); ++i) {
    const std::int64_t extent = extents[static_cast<std::size_t>(i)];
    (i < axis ? found.outer : i == axis ? found.extent : found.inner) *= extent;
  }
  return found;
}

/// Inputs [count, columns] of one matrix, as they are collected.
class Inputs {
 public:
  Inputs(Watched& watched, std::size_t matrix)
      : watched_(watched), matrix_(matrix), steps_(watched.moments->steps(matrix)) {
    numbers_.reserve(std::max<std::size_t>(room / sizeof(double) / steps_.size(), 1) *
                     steps_.size());
  }

  /// The next number, of the next column.
  Expected<void> add(double x) {
    const double step = steps_[numbers_.size() % steps_.size()];
    numbers_.push_back(step == 0 ? 0
                                 : std::clamp(std::nearbyint(x / step), -SecondMoments::most_steps,
                                              SecondMoments::most_steps));
    return numbers_.size() < numbers_.capacity() ? Expected<void>() : finish();
  }
  Expected<void> finish() {
    QUADRANT_CHECK(watched_.moments->add(matrix_, numbers_));
    numbers_.clear();
    return {};
  }

 private:
  Watched& watched_;
  std::size_t matrix_;
  std::span<const double> steps_;
  std::vector<double> numbers_;
};

/// Which of `count` inputs are taken, of which there are `most` at most.
class Spread {
 public:
  Spread(std::int64_t count, std::int64_t most)
      : count_(count), taken_(std::clamp<std::int64_t>(most, 0, count)) {}
  [[nodiscard]] std::int64_t size() const noexcept { return taken_; }
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const noexcept {
    return i * (count_ / taken_) + i * (count_ % taken_) / taken_;
  }

 private:
  std::int64_t count_;
  std::int64_t taken_;
};

// [batch, matrices * columns, positions...] of the probe of a convolution.
Expected<void> add_positions(Watched& watched, const Tensor& patches, std::int64_t most) {
  const auto y = patches.as<float>();
  const Axes axes = around(patches.extents(), 1);
  const auto columns = static_cast<std::int64_t>(watched.layout().columns.size());
  const Spread taken(axes.outer * axes.inner, most);
  for (std::size_t matrix = 0; matrix < watched.layout().matrices.size(); ++matrix) {
    Inputs inputs(watched, matrix);
    for (std::int64_t i = 0; i < taken.size(); ++i) {
      const std::int64_t image = taken[i] / axes.inner;
      const std::int64_t position = taken[i] % axes.inner;
      const std::int64_t first = image * axes.extent + static_cast<std::int64_t>(matrix) * columns;
      for (std::int64_t column = 0; column < columns; ++column) {
        const std::int64_t at = (first + column) * axes.inner + position;
        QUADRANT_CHECK(inputs.add(static_cast<double>(y[static_cast<std::size_t>(at)])));
      }
    }
    QUADRANT_CHECK(inputs.finish());
  }
  return {};
}

// Which of the batches of one tensor goes with which of the other's, as they broadcast.
std::vector<std::pair<std::int64_t, std::int64_t>> broadcast_batches(
    std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  const std::size_t rank = std::max(a.size(), b.size());
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs{{0, 0}};
  for (std::size_t i = 0; i < rank; ++i) {
    const auto extent = [&](std::span<const std::int64_t> of) {
      return i + of.size() < rank ? std::int64_t{1} : of[i + of.size() - rank];
    };
    const std::int64_t of_a = extent(a);
    const std::int64_t of_b = extent(b);
    std::vector<std::pair<std::int64_t, std::int64_t>> more;
    for (const auto& [at_a, at_b] : pairs) {
      const std::int64_t count = of_a == 0 || of_b == 0 ? 0 : std::max(of_a, of_b);
      for (std::int64_t k = 0; k < count; ++k) {
        more.emplace_back(at_a * of_a + (of_a == 1 ? 0 : k), at_b * of_b + (of_b == 1 ? 0 : k));
      }
    }
    pairs = std::move(more);
  }
  return pairs;
}

// Rows, or columns, of the matrices of a batch.
Expected<void> add_matrices(Watched& watched, const LayerWeight& weight, std::span<const double> x,
                            std::span<const std::int64_t> extents, std::int64_t most) {
  const std::size_t matrix_axes = std::min<std::size_t>(extents.size(), 2);
  const std::int64_t columns = extents[extents.size() - static_cast<std::size_t>(weight.data_axis)];
  std::int64_t size = 1;
  for (const std::int64_t extent : extents.last(matrix_axes)) size *= extent;
  const std::int64_t inner = weight.data_axis == 1 ? 1 : extents.back();
  const std::int64_t rows = columns == 0 ? 0 : size / columns;
  const auto batches = broadcast_batches(extents.first(extents.size() - matrix_axes), weight.batch);
  const auto matrices = static_cast<std::int64_t>(watched.layout().matrices.size());
  const auto count = static_cast<std::int64_t>(batches.size());
  const Spread taken(count * rows / std::max<std::int64_t>(matrices, 1), most);
  // With one matrix, all rows of all batches; else those of each of its batches.
  std::vector<std::vector<std::int64_t>> of_matrix(static_cast<std::size_t>(matrices));
  for (const auto& [of_data, of_weight] : batches) {
    of_matrix[matrices == 1 ? 0 : static_cast<std::size_t>(of_weight)].push_back(of_data);
  }
  for (std::size_t matrix = 0; matrix < of_matrix.size(); ++matrix) {
    Inputs inputs(watched, matrix);
    for (std::int64_t i = 0; i < taken.size(); ++i) {
      const std::int64_t of_data = of_matrix[matrix][static_cast<std::size_t>(taken[i] / rows)];
      const std::int64_t row = taken[i] % rows;
      const std::int64_t first = of_data * size + (inner == 1 ? row * columns : row);
      for (std::int64_t column = 0; column < columns; ++column) {
        QUADRANT_CHECK(inputs.add(x[static_cast<std::size_t>(first + column * inner)]));
      }
    }
    QUADRANT_CHECK(inputs.finish());
  }
  return {};
}

class Collector {
 public:
  Collector(const Graph& graph, const DataSet& data, const CollectMomentsOptions& options)
      : graph_(graph), data_(data), options_(options) {}

  Expected<SecondMomentsTable> run(const Runtime& runtime);

 private:
  void find_weights();
  Expected<void> load(Reader& reader) const;
  using Visit = Expected<void> (Collector::*)(Watched&, const Reader&, const Tensor&);
  Expected<void> visit(const Runtime& runtime, std::string_view task, Visit visit);
  Expected<void> reach(Watched& watched, const Reader& reader, const Tensor& tensor);
  Expected<void> sum(Watched& watched, const Reader& reader, const Tensor& tensor);

  const Graph& graph_;
  const DataSet& data_;
  const CollectMomentsOptions& options_;
  std::vector<std::unique_ptr<Watched>> weights_;
  std::vector<LeftAlone> left_;
};

void Collector::find_weights() {
  std::map<NodeId, Watched*> by_constant;
  for (LayerWeight& weight : layer_weights(graph_, left_)) {
    Watched*& watched = by_constant[weight.constant];
    if (watched == nullptr) {
      watched = weights_.emplace_back(std::make_unique<Watched>()).get();
      watched->name = graph_.value_name({weight.constant});
    } else if (watched->layout() != weight.layout) {
      watched->why_not = "its layers read it in different ways";
    }
    watched->readers.push_back({std::move(weight), std::nullopt, nullptr});
  }
  std::uint64_t used = 0;
  for (const auto& watched : weights_) {
    const WeightMatrices& layout = watched->layout();
    const std::uint64_t bytes = SecondMoments::bytes_of(layout);
    if (bytes > options_.most_bytes - used) {
      watched->why_not = fmt::format("its moments take {} bytes: more than is left of {} for all",
                                     bytes, options_.most_bytes);
    }
    if (!watched->why_not.empty()) continue;
    used += bytes;
    watched->largest.assign(layout.matrices.size() * layout.columns.size(), 0);
  }
}

Expected<void> Collector::load(Reader& reader) const {
  if (!reader.weight.is_convolution) return {};
  reader.probe = probe_of(graph_, reader.weight, options_.most_bytes);
  if (!reader.probe) return fail(ErrorCode::impossible, "it has too many inputs");
  QUADRANT_TRY(reader.layer,
               Interpreter().load(reader.probe->graph, std::array{reader.probe->result}));
  return {};
}

// Of the layers' inputs of all samples.
Expected<void> Collector::visit(const Runtime& runtime, std::string_view task, Visit visit) {
  std::vector<Value> values;
  std::vector<std::vector<std::pair<Watched*, const Reader*>>> readers;
  std::map<Value, std::size_t> places;
  for (const auto& watched : weights_) {
    if (!watched->why_not.empty()) continue;
    for (const Reader& reader : watched->readers) {
      const Value value = reader.weight.data;
      const auto [at, is_new] = places.try_emplace(value, values.size());
      if (is_new) {
        values.push_back(value);
        readers.emplace_back();
      }
      readers[at->second].emplace_back(watched.get(), &reader);
    }
  }
  if (values.empty()) return {};
  QUADRANT_TRY(const auto model, runtime.load(graph_, values));
  const auto observe = [&](std::size_t i, const Tensor& tensor) -> Expected<void> {
    for (const auto& [watched, reader] : readers[i]) {
      const std::lock_guard lock(watched->mutex);
      if (watched->why_not.empty()) QUADRANT_CHECK((this->*visit)(*watched, *reader, tensor));
    }
    return {};
  };
  const SampleLoop loop{.executor = options_.executor, .sink = options_.sink, .task = task};
  return for_each_sample(
      data_.size(), loop,
      [&](std::size_t sample, std::size_t) -> Expected<void> {
        QUADRANT_TRY(const Sample inputs, read_sample(data_, sample));
        return on_sample(model->run(inputs.inputs, observe), data_, sample);
      },
      [](std::size_t, std::size_t) { return Expected<void>(); });
}

Expected<void> Collector::reach(Watched& watched, const Reader& reader, const Tensor& tensor) {
  QUADRANT_TRY(const std::vector<double> x, to_doubles(tensor));
  const LayerWeight& weight = reader.weight;
  const std::int64_t axis = weight.is_convolution ? 1 : tensor.rank() - weight.data_axis;
  if (axis < 0 || axis >= tensor.rank()) return {};
  const Axes axes = around(tensor.extents(), axis);
  std::vector<double> largest(static_cast<std::size_t>(axes.extent));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double magnitude = std::fabs(x[i]);
    if (!std::isfinite(magnitude)) {
      watched.why_not = "inputs of its layer are not finite";
      return {};
    }
    double& most = largest[i / static_cast<std::size_t>(axes.inner) % largest.size()];
    most = std::max(most, magnitude);
  }
  const WeightMatrices& layout = watched.layout();
  const std::size_t columns = layout.columns.size();
  // Of a convolution, columns are the taps of a channel, and matrices groups of channels.
  const std::size_t taps = weight.is_convolution ? columns * layout.matrices.size() /
                                                       std::max<std::size_t>(largest.size(), 1)
                                                 : 1;
  if (taps == 0 ||
      (weight.is_convolution ? largest.size() * taps != columns * layout.matrices.size()
                             : largest.size() != columns)) {
    watched.why_not = "inputs of its layer have other extents than it says";
    return {};
  }
  for (std::size_t i = 0; i < watched.largest.size(); ++i) {
    const std::size_t channel = weight.is_convolution ? i / taps : i % columns;
    watched.largest[i] = std::max(watched.largest[i], largest[channel]);
  }
  return {};
}

Expected<void> Collector::sum(Watched& watched, const Reader& reader, const Tensor& tensor) {
  QUADRANT_TRY(const std::vector<double> x, to_doubles(tensor));
  if (!reader.weight.is_convolution) {
    return add_matrices(watched, reader.weight, x, tensor.extents(), options_.most_inputs);
  }
  const std::vector<float> reals(x.begin(), x.end());
  const Tensor input =
      Tensor::from_values<float>(ElementType::float32, tensor.shape(), std::span(reals));
  auto patches = run_model(*reader.layer, std::array{input}, 1);
  if (!patches) {
    if (patches.error().code != ErrorCode::impossible) return fail(std::move(patches).error());
    watched.why_not = std::move(patches).error().message;
    return {};
  }
  return add_positions(watched, patches->front(), options_.most_inputs);
}

Expected<SecondMomentsTable> Collector::run(const Runtime& runtime) {
  if (data_.size() == 0) return fail(ErrorCode::usage, "there are no samples to calibrate with");
  find_weights();
  QUADRANT_CHECK(visit(runtime, "ranges of inputs", &Collector::reach));
  for (const auto& watched : weights_) {
    for (Reader& reader : watched->readers) {
      if (!watched->why_not.empty()) break;
      if (const auto loaded = load(reader); !loaded) watched->why_not = loaded.error().message;
    }
    if (!watched->why_not.empty()) continue;
    for (double& largest : watched->largest) largest /= SecondMoments::most_steps;
    watched->moments.emplace(watched->layout(), std::move(watched->largest));
  }
  QUADRANT_CHECK(visit(runtime, "moments of inputs", &Collector::sum));
  SecondMomentsTable table;
  table.samples = data_.size();
  table.left = std::move(left_);
  for (const auto& watched : weights_) {
    if (watched->why_not.empty()) {
      table.weights.emplace(std::move(watched->name), std::move(*watched->moments));
    } else {
      table.left.push_back({std::move(watched->name), std::move(watched->why_not)});
    }
  }
  return table;
}

}  // namespace

Expected<SecondMomentsTable> collect_second_moments(const Graph& graph, const Runtime& runtime,
                                                    const DataSet& data,
                                                    const CollectMomentsOptions& options) {
  return Collector(graph, data, options).run(runtime);
}

}  // namespace quadrant::inline v0
