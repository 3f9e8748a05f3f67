// Einsum: one operand after the other is multiplied to the product of those before, and labels that
// nothing needs any more are summed on the way, so that each step is a batch of matrix products.
#include <algorithm>
#include <map>

#include "runtime/broadcast.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/gemm.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/einsum_equation.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

using Labels = std::vector<Label>;

struct LabelledAxis {
  std::int64_t extent = 1;
  std::size_t last_reader = 0;  // the last operand that has it; beyond all where the result does
};
using LabelledAxes = std::map<Label, LabelledAxis>;

// What is computed in: integers wrap around at 64 bits, and so at fewer.
template <class T>
using Work = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;

ElementType work_element(ElementType element) {
  return is_float(element) ? element : ElementType::uint64;
}

// A tensor whose elements are found by labels, each once: the diagonal of an operand that has one
// twice, and one element where an operand repeats.
struct View {
  Tensor tensor;
  Labels labels;
  std::vector<std::int64_t> strides;
};

bool contains(const Labels& labels, Label label) {
  return std::ranges::find(labels, label) != labels.end();
}

std::vector<std::int64_t> extents_of(const Labels& labels, const LabelledAxes& axes) {
  std::vector<std::int64_t> result;
  for (const Label label : labels) result.push_back(axes.at(label).extent);
  return result;
}

// Where extents of one label differ, those of 1 repeat.
Expected<LabelledAxes> find_axes(const EinsumEquation& equation, std::span<const Tensor> operands) {
  LabelledAxes axes;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    for (std::size_t k = 0; k < equation.operands[i].size(); ++k) {
      const std::int64_t extent = operands[i].extent(static_cast<std::int64_t>(k));
      LabelledAxis& axis = axes[equation.operands[i][k]];
      axis.last_reader = i;
      if (axis.extent == 1) axis.extent = extent;
      if (extent != 1 && extent != axis.extent) {
        return KernelCall::refuse(fmt::format(
            "an axis of operand {} has extent {}, and elsewhere {} under the same label", i, extent,
            axis.extent));
      }
    }
  }
  for (const Label label : equation.result) axes[label].last_reader = operands.size();
  return axes;
}

View view_of(const Tensor& operand, const Labels& labels, const LabelledAxes& axes) {
  View view{operand, {}, {}};
  const std::vector<std::int64_t> strides = operand.shape().strides();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (operand.extent(static_cast<std::int64_t>(i)) != axes.at(labels[i]).extent) continue;
    const auto known = std::ranges::find(view.labels, labels[i]);
    if (known != view.labels.end()) {
      view.strides[static_cast<std::size_t>(known - view.labels.begin())] += strides[i];
    } else {
      view.labels.push_back(labels[i]);
      view.strides.push_back(strides[i]);
    }
  }
  return view;
}

// The same numbers in fewer bits.
Expected<Tensor> narrowed(const Tensor& wide, ElementType element) {
  if (wide.element() == element) return wide;
  QUADRANT_TRY(Tensor narrow, Tensor::make(element, wide.shape()));
  const auto done = with_element(element, [&]<class T>() -> Expected<Tensors> {
    using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
    std::ranges::transform(wide.as<Wide>(), narrow.fill<T>().begin(),
                           [](Wide value) { return static_cast<T>(value); });
    return Tensors{};
  });
  if (!done) return fail(done.error());
  return narrow;
}

// Adds each element of a box of `from` to one of `to`. `strides`: of both.
template <class From, class To>
void add_box(const Shape& box, const std::array<std::vector<std::int64_t>, 2>& strides,
             const From* from, To* to) {
  for_each_run(box, strides,
               [&](std::int64_t, const std::array<std::int64_t, 2>& offsets, std::int64_t length,
                   const std::array<std::int64_t, 2>& steps) {
                 for (std::int64_t i = 0; i < length; ++i) {
                   // Integers are extended by their sign.
                   to[offsets[1] + i * steps[1]] += static_cast<To>(
                       from[offsets[0] + i * steps[0]]);  // NOLINT(bugprone-signed-char-misuse)
                 }
               });
}

// `view` laid out by the labels `wanted`, in this order, and summed over its others. A label that
// the view does not have repeats its elements.
Expected<Tensor> gather(const View& view, const Labels& wanted, const LabelledAxes& axes) {
  Labels order = wanted;
  for (const Label label : view.labels) {
    if (!contains(wanted, label)) order.push_back(label);
  }
  const bool sums = order.size() > wanted.size();
  const Shape shape(extents_of(wanted, axes));
  std::array<std::vector<std::int64_t>, 2> strides{std::vector<std::int64_t>(order.size(), 0),
                                                   shape.strides()};
  strides[1].resize(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto own = std::ranges::find(view.labels, order[i]);
    if (own == view.labels.end()) continue;
    strides[0][i] = view.strides[static_cast<std::size_t>(own - view.labels.begin())];
  }
  // Long sums of float32 need float64.
  const ElementType element = view.tensor.element();
  const ElementType work = work_element(element);
  const bool widens = sums && is_float(element);
  QUADRANT_TRY(Tensor result, Tensor::make(widens ? ElementType::float64 : work, shape));
  std::ranges::fill(result.fill_bytes(), std::byte{0});
  const auto done = with_element(element, [&]<class T>() -> Expected<Tensors> {
    const Shape box(extents_of(order, axes));
    const T* from = view.tensor.as<T>().data();
    if (widens) {
      add_box(box, strides, from, result.fill<double>().data());
    } else {
      add_box(box, strides, from, result.fill<Work<T>>().data());
    }
    return Tensors{};
  });
  if (!done) return fail(done.error());
  return narrowed(result, work);
}

// The labels that are among the `chosen`, or are not.
Labels select(const Labels& labels, const Labels& chosen, bool among) {
  Labels result;
  std::ranges::copy_if(labels, std::back_inserter(result),
                       [&](Label label) { return contains(chosen, label) == among; });
  return result;
}

Labels joined(const Labels& a, const Labels& b, const Labels& c) {
  Labels all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

View dense_view(Tensor tensor, Labels labels) {
  std::vector<std::int64_t> strides = tensor.shape().strides();
  return {std::move(tensor), std::move(labels), std::move(strides)};
}

// The product, summed over the labels that nothing but these two needs; `right` is operand `index`.
Expected<View> contract(const View& left, const View& right, std::size_t index,
                        const LabelledAxes& axes) {
  Labels needed;
  for (const auto& [label, axis] : axes) {
    if (axis.last_reader > index) needed.push_back(label);
  }
  const Labels both = select(left.labels, right.labels, true);
  const Labels batch = select(both, needed, true);
  const Labels summed = select(both, needed, false);
  const Labels rows = select(select(left.labels, right.labels, false), needed, true);
  const Labels columns = select(select(right.labels, left.labels, false), needed, true);
  QUADRANT_TRY(const Tensor a, gather(left, joined(batch, rows, summed), axes));
  QUADRANT_TRY(const Tensor b, gather(right, joined(batch, summed, columns), axes));
  Labels labels = joined(batch, rows, columns);
  QUADRANT_TRY(Tensor product, Tensor::make(a.element(), Shape(extents_of(labels, axes))));
  std::ranges::fill(product.fill_bytes(), std::byte{0});

  const auto first_row = static_cast<std::int64_t>(batch.size());
  const auto first_summed = first_row + static_cast<std::int64_t>(rows.size());
  const std::int64_t m = count_between(a.shape(), first_row, first_summed);
  const std::int64_t k = count_between(a.shape(), first_summed, a.rank());
  const std::int64_t n =
      count_between(b.shape(), first_row + static_cast<std::int64_t>(summed.size()), b.rank());
  const auto done = with_element(product.element(), [&]<class T>() -> Expected<Tensors> {
    if constexpr (std::is_same_v<T, Work<T>>) {
      for (std::int64_t i = 0; i * m * n < product.element_count(); ++i) {
        add_product<T>(MatrixView<const T>::dense(a.as<T>().data() + i * m * k, m, k),
                       MatrixView<const T>::dense(b.as<T>().data() + i * k * n, k, n), T{1},
                       MatrixView<T>::dense(product.fill<T>().data() + i * m * n, m, n));
      }
    }
    return Tensors{};
  });
  if (!done) return fail(done.error());
  return dense_view(std::move(product), std::move(labels));
}

Expected<Tensors> einsum(const KernelCall& call) {
  const std::span<const Tensor> operands = call.operands();
  if (operands.empty()) return KernelCall::refuse("no operands");
  for (const Tensor& operand : operands) {
    const ElementType element = operand.element();
    if (element == operands[0].element() && (is_float(element) || is_integer(element))) continue;
    return KernelCall::refuse(fmt::format("operands of types {} and {}",
                                          to_string(operands[0].element()), to_string(element)));
  }
  QUADRANT_TRY(const EinsumEquation equation,
               parse_einsum(call.attribute_or("equation", std::string()), operands));
  QUADRANT_TRY(const LabelledAxes axes, find_axes(equation, operands));
  View product = view_of(operands[0], equation.operands[0], axes);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const View next = view_of(operands[i], equation.operands[i], axes);
    QUADRANT_TRY(product, contract(product, next, i, axes));
  }
  QUADRANT_TRY(const Tensor wide, gather(product, equation.result, axes));
  QUADRANT_TRY(Tensor result, narrowed(wide, operands[0].element()));
  return Tensors{std::move(result)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_einsum() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{"einsum", einsum, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
