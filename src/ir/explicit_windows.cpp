#include "ir/explicit_windows.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/ops/codes.hpp"
#include "ir/ops/windows.hpp"
#include "ir/result_type.hpp"
#include "ir/shape_rules.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {
namespace {

enum class Sliding : std::uint8_t { convolution, transposed, pooling };

struct SlidingKind {
  std::string_view kind;
  Sliding how = Sliding::pooling;
  std::size_t weights = SIZE_MAX;  // which operand
};

constexpr std::array sliding_kinds{
    SlidingKind{ops::Conv::kind, Sliding::convolution, 1},
    SlidingKind{ops::ConvTranspose::kind, Sliding::transposed, 1},
    SlidingKind{ops::ConvInteger::kind, Sliding::convolution, 1},
    SlidingKind{ops::QLinearConv::kind, Sliding::convolution, 3},
    SlidingKind{ops::AveragePool::kind},
    SlidingKind{ops::LpPool::kind},
    SlidingKind{ops::MaxPool::kind},
};

constexpr std::int64_t most = std::int64_t{1} << 30U;  // beyond it nothing is turned

// What attributes and shapes say about one axis.
struct SlidingAxis {
  std::optional<std::int64_t> extent;  // of the image
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t added = 0;              // output_padding
  std::optional<std::int64_t> wanted;  // output_shape

  [[nodiscard]] std::int64_t reach() const noexcept { return (kernel - 1) * dilation + 1; }
};

struct ExplicitPads {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t added = 0;
};

ExplicitPads shared_out(std::int64_t total, bool is_upper) {
  const std::int64_t begin = is_upper ? total / 2 : total - total / 2;
  return {begin, total - begin, 0};
}

// Of an image of `extent` there are as many windows as strides fit into it.
std::optional<ExplicitPads> same_pads(const SlidingAxis& axis, Sliding how, bool is_upper) {
  // Runtimes leave the dilations of poolings out.
  if (how == Sliding::pooling && axis.dilation != 1) return std::nullopt;
  if (!axis.extent && axis.stride != 1) return std::nullopt;
  const std::int64_t extent = axis.extent.value_or(1);
  const std::int64_t windows = (extent + axis.stride - 1) / axis.stride;
  const std::int64_t total = (windows - 1) * axis.stride + axis.reach() - extent;
  if (total < 0 && how == Sliding::pooling) return std::nullopt;  // runtimes refuse it
  return shared_out(std::max<std::int64_t>(total, 0), is_upper);
}

// What is taken off the borders of the whole result, or added behind it.
std::optional<ExplicitPads> transposed_pads(const SlidingAxis& axis, bool is_same, bool is_upper) {
  if (!is_same && !axis.wanted) return ExplicitPads{0, 0, axis.added};
  if (axis.wanted && !axis.extent) return std::nullopt;
  const std::int64_t extent = axis.extent.value_or(1);
  const std::int64_t whole = (extent - 1) * axis.stride + axis.reach() + axis.added;
  const std::int64_t excess = whole - axis.wanted.value_or(extent * axis.stride);
  ExplicitPads pads = shared_out(std::max<std::int64_t>(excess, 0), is_upper);
  pads.added = axis.added;
  if (axis.wanted && excess < 0) pads.added -= excess;
  // Runtimes refuse more.
  if (pads.added >= std::max(axis.stride, axis.dilation)) return std::nullopt;
  return pads;
}

class ExplicitWindows {
 public:
  ExplicitWindows(Graph& graph, NodeRef node, const SlidingKind& kind)
      : graph_(graph), node_(node), kind_(kind) {}

  Expected<void> run() {
    const auto auto_pad = node_.attribute_or<std::string>("auto_pad", "NOTSET");
    const bool is_same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
    const bool has_shape =
        kind_.how == Sliding::transposed && graph_.attribute(node_.id, "output_shape") != nullptr;
    if (!is_same && auto_pad != "VALID" && !has_shape) return {};
    QUADRANT_TRY(const auto axes, read());
    if (!axes) return {};
    std::vector<std::int64_t> begins;
    std::vector<std::int64_t> ends;
    std::vector<std::int64_t> added;
    for (const SlidingAxis& axis : *axes) {
      std::optional<ExplicitPads> pads = ExplicitPads{};
      const bool is_upper = auto_pad == "SAME_UPPER";
      if (kind_.how == Sliding::transposed) {
        pads = transposed_pads(axis, is_same, is_upper);
      } else if (is_same) {
        pads = same_pads(axis, kind_.how, is_upper);
      }
      if (!pads) return {};
      begins.push_back(pads->begin);
      ends.push_back(pads->end);
      added.push_back(pads->added);
    }
    begins.insert(begins.end(), ends.begin(), ends.end());
    graph_.erase_attribute(node_.id, "auto_pad");
    graph_.set_attribute(node_.id, "pads", std::move(begins));
    if (kind_.how != Sliding::transposed) return {};
    graph_.erase_attribute(node_.id, "output_shape");
    graph_.set_attribute(node_.id, "output_padding", std::move(added));
    // What was said of it may have meant something else.
    graph_.set_type(node_.result(), {node_.type().element, {}, node_.type().quantization});
    return {};
  }

 private:
  // Empty where the kernel is not known, and for numbers that no model has.
  [[nodiscard]] Expected<std::optional<std::vector<SlidingAxis>>> read() const {
    auto kernel = node_.attribute_or<std::vector<std::int64_t>>("kernel_shape", {});
    const Shape weights = operand_shape(node_, kind_.weights);
    if (weights.rank() > 2) {
      const auto known = weights.extents().subspan(2);
      // One that neither tells is 0, which does not fit below.
      kernel.resize(known.size(), 0);
      for (std::size_t i = 0; i < kernel.size(); ++i) kernel[i] = known[i].value_or(kernel[i]);
    }
    const Shape image = operand_shape(node_, 0);
    const std::size_t rank = kernel.size();
    if (rank == 0 || (image.is_ranked() && image.extents().size() != rank + 2)) return std::nullopt;
    QUADRANT_TRY(const auto strides, integers(node_, "strides", rank, 1, 1));
    QUADRANT_TRY(const auto dilations, integers(node_, "dilations", rank, 1, 1));
    std::vector<std::int64_t> added(rank, 0);
    std::vector<std::int64_t> wanted;
    if (kind_.how == Sliding::transposed) {
      QUADRANT_TRY(added, integers(node_, "output_padding", rank, 0, 0));
      QUADRANT_TRY(wanted, attribute_or(node_, "output_shape", std::vector<std::int64_t>{}));
      // It may begin with the batch and the channels.
      if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
      if (!wanted.empty() && wanted.size() != rank) return std::nullopt;
    }
    std::vector<SlidingAxis> axes;
    for (std::size_t i = 0; i < rank; ++i) {
      SlidingAxis axis{.extent = {},
                       .kernel = kernel[i],
                       .stride = strides[i],
                       .dilation = dilations[i],
                       .added = added[i],
                       .wanted = {}};
      if (image.is_ranked()) axis.extent = image.extents()[i + 2].known();
      if (!wanted.empty()) axis.wanted = wanted[i];
      const auto is_one = [](std::int64_t number) { return number >= 1 && number <= most; };
      const bool fits = is_one(axis.kernel) && is_one(axis.stride) && is_one(axis.dilation) &&
                        is_one(axis.extent.value_or(1)) && is_one(axis.wanted.value_or(1)) &&
                        axis.added <= most && axis.kernel <= most / axis.dilation &&
                        axis.extent.value_or(1) <= most / axis.stride;
      if (!fits) return std::nullopt;
      axes.push_back(axis);
    }
    return axes;
  }

  Graph& graph_;
  NodeRef node_;
  const SlidingKind& kind_;
};

}  // namespace

Expected<void> make_windows_explicit(Graph& graph) {
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  for (const NodeId node : order) {
    const auto* const found =
        std::ranges::find(sliding_kinds, graph.kind(node), &SlidingKind::kind);
    if (found != sliding_kinds.end()) {
      if (auto done = ExplicitWindows(graph, graph.ref(node), *found).run(); !done) {
        return fail(at(graph.ref(node), std::move(done).error()));
      }
    }
    QUADRANT_CHECK(infer_node(graph, node));
  }
  return {};
}

}  // namespace quadrant::inline v0::detail
