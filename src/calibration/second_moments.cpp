#include "quadrant/calibration/second_moments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "calibration/handed_out.hpp"
#include "calibration/layer_weights.hpp"
#include "calibration/located.hpp"
#include "calibration/reals.hpp"
#include "calibration/sample_loop.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "support/merge_left.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr const char* no_samples = "there are no samples to calibrate with";
constexpr const char* other_layout = "its layers read the weight in another way in the grid";
constexpr const char* other_extents = "inputs of its layer have other extents than the model says";

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
  std::unique_ptr<SecondMoments> moments;
  std::uint64_t cut = 0;  ///< numbers of inputs that the grid does not reach
  std::string why_not;    ///< there are none
  std::mutex mutex;       ///< of all of these but for the readers

  [[nodiscard]] const WeightMatrices& layout() const { return readers.front().weight.layout; }
  /// For the least of the reasons that samples give, whichever came first.
  void leave(std::string reason) {
    if (why_not.empty() || reason < why_not) why_not = std::move(reason);
  }
};

// --- extents -------------------------------------------------------------------------------------

using Extents = std::span<const std::int64_t>;

// Elements along axes in front of one, the extent of that, and along those behind it.
struct Axes {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
};

Axes around(Extents extents, std::size_t axis) {
  Axes found;
  for (std::size_t i = 0; i < axis; ++i) found.outer *= extents[i];
  found.extent = extents[axis];
  for (std::size_t i = axis + 1; i < extents.size(); ++i) found.inner *= extents[i];
  return found;
}

// Of the data of matrices, those in front of the last two.
Extents batch_of(Extents extents) {
  return extents.first(extents.size() - std::min<std::size_t>(extents.size(), 2));
}

// Of batches that broadcast, an extent counted from the end; 1 where there is none.
std::int64_t from_end(Extents of, std::size_t i) {
  return i < of.size() ? of[of.size() - 1 - i] : 1;
}

bool broadcast(Extents a, Extents b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::int64_t of_a = from_end(a, i);
    const std::int64_t of_b = from_end(b, i);
    if (of_a != of_b && of_a != 1 && of_b != 1) return false;
  }
  return true;
}

// The axis of the data along which the columns are; nothing where these do not fit the weight.
std::optional<std::size_t> data_axis(const LayerWeight& weight, Extents extents) {
  const auto columns = static_cast<std::int64_t>(weight.layout.columns.size());
  const auto matrices = static_cast<std::int64_t>(weight.layout.matrices.size());
  const auto axis = static_cast<std::size_t>(weight.data_axis);
  if (weight.is_convolution) {
    const bool fits = extents.size() > axis && extents[axis] > 0 && extents[axis] % matrices == 0 &&
                      columns % (extents[axis] / matrices) == 0;
    return fits ? std::optional(axis) : std::nullopt;
  }
  if (extents.size() < axis || extents[extents.size() - axis] != columns) return std::nullopt;
  if (!broadcast(batch_of(extents), weight.batch)) return std::nullopt;
  return extents.size() - axis;
}

// Which of the batches of one tensor goes with which of the other's.
std::vector<std::pair<std::int64_t, std::int64_t>> broadcast_batches(Extents a, Extents b) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs{{0, 0}};
  for (std::size_t i = std::max(a.size(), b.size()); i-- > 0;) {
    const std::int64_t of_a = from_end(a, i);
    const std::int64_t of_b = from_end(b, i);
    const std::int64_t count = of_a == 1 ? of_b : of_a;
    std::vector<std::pair<std::int64_t, std::int64_t>> more;
    for (const auto& [at_a, at_b] : pairs) {
      for (std::int64_t k = 0; k < count; ++k) {
        more.emplace_back(at_a * of_a + (of_a == 1 ? 0 : k), at_b * of_b + (of_b == 1 ? 0 : k));
      }
    }
    pairs = std::move(more);
  }
  return pairs;
}

// --- inputs --------------------------------------------------------------------------------------

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

/// Inputs [count, columns] of one matrix, on the grid, as they are collected.
class Inputs {
 public:
  Inputs(Watched& watched, std::size_t matrix)
      : watched_(watched), matrix_(matrix), steps_(watched.moments->steps(matrix)) {
    constexpr std::size_t bytes_at_once = std::size_t{1} << 24U;
    most_ =
        std::max<std::size_t>(bytes_at_once / sizeof(double) / steps_.size(), 1) * steps_.size();
  }

  /// The next number, of the next column.
  Expected<void> add(double x) {
    const double step = steps_[numbers_.size() % steps_.size()];
    const double steps = step == 0 ? 0 : std::nearbyint(x / step);
    const double kept = std::clamp(steps, -SecondMoments::most_steps, SecondMoments::most_steps);
    if (kept != steps || (step == 0 && x != 0)) ++watched_.cut;
    numbers_.push_back(kept);
    return numbers_.size() < most_ ? Expected<void>() : finish();
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
  std::size_t most_ = 0;
};

// [batch, matrices * columns, positions...] of the probe of a convolution.
Expected<void> add_positions(Watched& watched, const Tensor& patches, std::int64_t most) {
  const SecondMoments& moments = *watched.moments;
  const auto y = patches.as<float>();
  const Axes axes = around(patches.extents(), 1);
  const auto columns = static_cast<std::int64_t>(moments.layout().columns.size());
  const Spread taken(axes.outer * axes.inner, most);
  for (std::size_t matrix = 0; matrix < moments.layout().matrices.size(); ++matrix) {
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

// Rows, or columns, of the matrices of a batch.
Expected<void> add_matrices(Watched& watched, const LayerWeight& weight, std::span<const double> x,
                            Extents extents, std::int64_t most) {
  const SecondMoments& moments = *watched.moments;
  std::int64_t size = 1;
  for (const std::int64_t extent : extents.last(extents.size() - batch_of(extents).size())) {
    size *= extent;
  }
  const auto columns = static_cast<std::int64_t>(moments.layout().columns.size());
  const std::int64_t inner = weight.data_axis == 1 ? 1 : extents.back();
  const std::int64_t rows = size / columns;
  const auto batches = broadcast_batches(batch_of(extents), weight.batch);
  const auto matrices = static_cast<std::int64_t>(moments.layout().matrices.size());
  const Spread taken(static_cast<std::int64_t>(batches.size()) * rows / matrices, most);
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

// --- runs ----------------------------------------------------------------------------------------

/// What a layer computes on in a sample.
struct Data {
  const Tensor& tensor;
  std::vector<double> reals;
};

class Collector {
 public:
  Collector(const Graph& graph, const DataSet& data, const CollectMomentsOptions& options)
      : graph_(graph), data_(data), options_(options) {}

  Expected<MomentsGrid> find_grid(const Runtime& runtime);
  Expected<SecondMomentsTable> count_on(const MomentsGrid& grid, const Runtime& runtime);

 private:
  [[nodiscard]] Expected<void> take(const MomentsGrid& grid) const;
  void tell_cut() const;
  Expected<void> find_weights(const Runtime& runtime);
  void make_room();
  void load(Watched& watched) const;
  using Visit = FunctionRef<Expected<void>(Watched&, const Reader&, const Data&)>;
  [[nodiscard]] Expected<void> visit(const Runtime& runtime, std::string_view task,
                                     Visit visit) const;
  [[nodiscard]] Expected<void> sum(Watched& watched, const Reader& reader, const Data& data) const;

  const Graph& graph_;
  const DataSet& data_;
  const CollectMomentsOptions& options_;
  std::vector<std::unique_ptr<Watched>> weights_;
  std::vector<LeftAlone> left_;
};

Expected<void> Collector::find_weights(const Runtime& runtime) {
  std::map<NodeId, Watched*> by_constant;
  for (LayerWeight& weight : layer_weights(graph_, left_)) {
    Watched*& watched = by_constant[weight.constant];
    if (watched == nullptr) {
      watched = weights_.emplace_back(std::make_unique<Watched>()).get();
      watched->name = graph_.value_name({weight.constant});
    } else if (watched->layout() != weight.layout) {
      watched->leave("its layers read it in different ways");
    }
    watched->readers.push_back({std::move(weight), std::nullopt, nullptr});
  }
  std::vector<Value> inputs;
  for (const auto& watched : weights_) {
    const NodeId constant = watched->readers.front().weight.constant;
    for (const Reader& reader : watched->readers) inputs.push_back(reader.weight.data);
    if (count_reads(graph_, constant) == watched->readers.size()) continue;
    watched->leave("a lookup, or another that is no layer, reads it, too");
  }
  QUADRANT_TRY(const std::set<Value> beyond, out_of_reach(runtime, graph_, inputs));
  for (const auto& watched : weights_) {
    const bool is_inside = std::ranges::any_of(watched->readers, [&](const Reader& reader) {
      return beyond.contains(reader.weight.data);
    });
    if (!is_inside) continue;
    watched->leave(
        "a layer in the body of a loop or a branch reads it: this runtime does not show "
        "its inputs, the interpreter does");
  }
  std::set<std::string, std::less<>> unclear;
  for (const LeftAlone& left : left_) unclear.insert(left.name);
  std::erase_if(weights_, [&](const auto& watched) {
    const bool is_asked = options_.only == nullptr || options_.only->contains(watched->name);
    return unclear.contains(watched->name) || !is_asked;
  });
  return {};
}

// For sums, and the weights of probes.
void Collector::make_room() {
  std::uint64_t used = 0;
  for (const auto& watched : weights_) {
    const WeightMatrices& layout = watched->layout();
    std::uint64_t bytes = SecondMoments::bytes_of(layout);
    for (const Reader& reader : watched->readers) {
      if (!reader.weight.is_convolution) continue;
      bytes = saturating_add(bytes, bytes_of_probe(reader.weight));
    }
    if (bytes > options_.most_bytes - used) {
      watched->leave(fmt::format("its moments take {} bytes: more than is left of {} for all",
                                 bytes, options_.most_bytes));
    }
    if (!watched->why_not.empty()) continue;
    used += bytes;
    watched->largest.assign(layout.matrices.size() * layout.columns.size(), 0);
  }
}

void Collector::load(Watched& watched) const {
  for (Reader& reader : watched.readers) {
    if (!reader.weight.is_convolution) continue;
    reader.probe = probe_of(graph_, reader.weight);
    auto loaded = Interpreter().load(reader.probe->graph, std::array{reader.probe->result});
    if (loaded) {
      reader.layer = std::move(*loaded);
    } else {
      watched.leave(std::move(loaded).error().message);
    }
  }
}

// Of the layers' inputs of all samples.
Expected<void> Collector::visit(const Runtime& runtime, std::string_view task, Visit visit) const {
  std::vector<Value> values;
  std::vector<std::vector<std::pair<Watched*, const Reader*>>> readers;
  std::map<Value, std::size_t> places;
  for (const auto& watched : weights_) {
    if (!watched->why_not.empty()) continue;
    for (const Reader& reader : watched->readers) {
      const auto [at, is_new] = places.try_emplace(reader.weight.data, values.size());
      if (is_new) {
        values.push_back(reader.weight.data);
        readers.emplace_back();
      }
      readers[at->second].emplace_back(watched.get(), &reader);
    }
  }
  if (values.empty()) return {};
  QUADRANT_TRY(const auto model, load_checked(runtime, graph_, values));
  const auto observe = [&](std::size_t i, const Tensor& tensor) -> Expected<void> {
    Data data{tensor, {}};
    QUADRANT_TRY(data.reals, to_doubles(tensor));
    for (const auto& [watched, reader] : readers[i]) {
      QUADRANT_CHECK(visit(*watched, *reader, data));
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

// Takes down the largest magnitudes.
Expected<void> reach(Watched& watched, const Reader& reader, const Data& data) {
  const auto axis = data_axis(reader.weight, data.tensor.extents());
  if (!axis) {
    const std::lock_guard lock(watched.mutex);
    watched.leave(other_extents);
    return {};
  }
  const Axes axes = around(data.tensor.extents(), *axis);
  std::vector<double> largest(static_cast<std::size_t>(axes.extent));
  bool is_finite = true;
  for (std::size_t i = 0; i < data.reals.size(); ++i) {
    const double magnitude = std::fabs(data.reals[i]);
    is_finite = is_finite && std::isfinite(magnitude);
    double& most = largest[i / static_cast<std::size_t>(axes.inner) % largest.size()];
    most = std::max(most, magnitude);
  }
  const std::lock_guard lock(watched.mutex);
  if (!is_finite) watched.leave("inputs of its layer are not finite");
  // Of a convolution, columns are the taps of a channel, and matrices groups of channels.
  const std::size_t taps =
      reader.weight.is_convolution ? watched.largest.size() / largest.size() : 1;
  for (std::size_t i = 0; i < watched.largest.size(); ++i) {
    watched.largest[i] = std::max(watched.largest[i], largest[i / taps % largest.size()]);
  }
  return {};
}

Expected<void> Collector::sum(Watched& watched, const Reader& reader, const Data& data) const {
  if (!reader.weight.is_convolution) {
    const std::lock_guard lock(watched.mutex);
    return add_matrices(watched, reader.weight, data.reals, data.tensor.extents(),
                        options_.most_inputs_of_sample);
  }
  const std::vector<float> reals(data.reals.begin(), data.reals.end());
  const Tensor input =
      Tensor::from_values<float>(ElementType::float32, data.tensor.shape(), std::span(reals));
  auto patches = run_model(*reader.layer, std::array{input}, 1);
  if (!patches && patches.error().code != ErrorCode::impossible) {
    return fail(std::move(patches).error());
  }
  const std::lock_guard lock(watched.mutex);
  if (patches) {
    return add_positions(watched, patches->front(), options_.most_inputs_of_sample);
  }
  watched.leave(std::move(patches).error().message);
  return {};
}

Expected<MomentsGrid> Collector::find_grid(const Runtime& runtime) {
  if (data_.size() == 0) return fail(ErrorCode::usage, no_samples);
  QUADRANT_CHECK(find_weights(runtime));
  make_room();
  QUADRANT_CHECK(visit(runtime, "ranges of inputs",
                       [](Watched& watched, const Reader& reader, const Data& data) {
                         return reach(watched, reader, data);
                       }));
  MomentsGrid grid{.left = std::move(left_), .samples = data_.size()};
  for (const auto& watched : weights_) {
    if (!watched->why_not.empty()) {
      grid.left.push_back({std::move(watched->name), std::move(watched->why_not)});
      continue;
    }
    for (double& largest : watched->largest) largest /= SecondMoments::most_steps;
    grid.weights.emplace(std::move(watched->name),
                         MomentsGrid::Weight{watched->layout(), std::move(watched->largest)});
  }
  return grid;
}

// What is on the grid, made ready to be counted.
Expected<void> Collector::take(const MomentsGrid& grid) const {
  for (const auto& watched : weights_) {
    if (!watched->why_not.empty()) continue;
    const auto found = grid.weights.find(watched->name);
    if (found == grid.weights.end()) {
      const auto left = std::ranges::find(grid.left, watched->name, &LeftAlone::name);
      if (left == grid.left.end()) {
        return fail(ErrorCode::usage, "the grid, of another model, has nothing of this weight",
                    {.tensor = watched->name});
      }
      watched->leave(left->reason);
      continue;
    }
    const auto& [layout, steps] = found->second;
    if (layout != watched->layout()) {
      return fail(ErrorCode::usage, other_layout, {.tensor = watched->name});
    }
    if (std::ranges::count(steps, 0.0) == std::ssize(steps)) {
      watched->leave("its layer has no inputs but zeros in the samples");
      continue;
    }
    load(*watched);
    if (watched->why_not.empty()) watched->moments = std::make_unique<SecondMoments>(layout, steps);
  }
  return {};
}

void Collector::tell_cut() const {
  std::uint64_t cut = 0;
  const Watched* first = nullptr;
  for (const auto& watched : weights_) {
    if (watched->cut != 0 && first == nullptr) first = watched.get();
    cut += watched->cut;
  }
  if (cut == 0 || options_.sink == nullptr) return;
  options_.sink->report(
      {Severity::warning,
       fmt::format("{} numbers of inputs are larger than the grid, of other samples, reaches, and "
                   "count as its largest",
                   cut),
       {.tensor = first->name}});
}

Expected<SecondMomentsTable> Collector::count_on(const MomentsGrid& grid, const Runtime& runtime) {
  if (data_.size() == 0) return fail(ErrorCode::usage, no_samples);
  QUADRANT_CHECK(find_weights(runtime));
  make_room();
  QUADRANT_CHECK(take(grid));
  QUADRANT_CHECK(visit(runtime, "moments of inputs",
                       [this](Watched& watched, const Reader& reader, const Data& data) {
                         return sum(watched, reader, data);
                       }));
  tell_cut();
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

MomentsGrid grid_of(const SecondMomentsTable& moments) {
  MomentsGrid grid{.left = moments.left, .model_hash = moments.model_hash};
  for (const auto& [name, weight] : moments.weights) {
    MomentsGrid::Weight& made = grid.weights[name];
    made.layout = weight.layout();
    for (std::size_t matrix = 0; matrix < made.layout.matrices.size(); ++matrix) {
      const auto steps = weight.steps(matrix);
      made.steps.insert(made.steps.end(), steps.begin(), steps.end());
    }
  }
  return grid;
}

Expected<void> MomentsGrid::merge(const MomentsGrid& other) {
  for (const auto& [name, weight] : other.weights) {
    const auto own = weights.find(name);
    if (own != weights.end() && own->second.layout != weight.layout) {
      return fail(ErrorCode::usage, other_layout, {.tensor = name});
    }
  }
  if (model.empty()) model = other.model;
  if (model_hash == 0) model_hash = other.model_hash;
  samples = saturating_add(samples, other.samples);
  merge_left(left, other.left);
  for (const auto& [name, weight] : other.weights) {
    const auto [place, is_new] = weights.try_emplace(name, weight);
    if (is_new) continue;
    std::vector<double>& steps = place->second.steps;
    std::ranges::transform(steps, weight.steps, steps.begin(),
                           [](double a, double b) { return std::max(a, b); });
  }
  for (const LeftAlone& each : left) weights.erase(each.name);
  return {};
}

Expected<MomentsGrid> find_moments_grid(const Graph& graph, const Runtime& runtime,
                                        const DataSet& data, const CollectMomentsOptions& options) {
  return Collector(graph, data, options).find_grid(runtime);
}

Expected<SecondMomentsTable> collect_second_moments(const Graph& graph, const Runtime& runtime,
                                                    const DataSet& data,
                                                    const CollectMomentsOptions& options) {
  if (options.grid != nullptr) {
    return Collector(graph, data, options).count_on(*options.grid, runtime);
  }
  QUADRANT_TRY(const MomentsGrid grid, find_moments_grid(graph, runtime, data, options));
  return Collector(graph, data, options).count_on(grid, runtime);
}

}  // namespace quadrant::inline v0
