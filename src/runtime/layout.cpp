#include "runtime/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/broadcast.hpp"
#include "runtime/dispatch.hpp"

namespace quadrant::inline v0 {

void copy_box(const Shape& box, const Tensor& from, const Layout& from_layout, Tensor& to,
              const Layout& to_layout) {
  if (box.element_count().value_or(0) == 0) return;
  with_width(from.element(), [&]<class T>() {
    const T* source = from.as<T>().data() + from_layout.offset;
    T* target = to.fill<T>().data() + to_layout.offset;
    for_each_run(box, std::array{from_layout.steps, to_layout.steps},
                 [&](std::int64_t /*position*/, const std::array<std::int64_t, 2>& offsets,
                     std::int64_t length, const std::array<std::int64_t, 2>& steps) {
                   const T* in = source + offsets[0];
                   T* out = target + offsets[1];
                   if (steps[0] == 1 && steps[1] == 1) {
                     std::copy_n(in, length, out);
                   } else {
                     for (std::int64_t i = 0; i < length; ++i) out[i * steps[1]] = in[i * steps[0]];
                   }
                 });
  });
}

Expected<Tensor> take_box(Shape box, const Tensor& from, const Layout& layout) {
  QUADRANT_TRY(Tensor to, Tensor::make(from.element(), std::move(box)));
  copy_box(to.shape(), from, layout, to, {0, to.shape().strides()});
  return to;
}

Expected<Tensor> take_indices(const Tensor& from, Shape shape,
                              FunctionRef<std::int64_t(std::int64_t axis, std::int64_t i)> source) {
  QUADRANT_TRY(Tensor to, Tensor::make(from.element(), std::move(shape)));
  if (to.element_count() == 0) return to;
  if (to.rank() == 0) return from;
  // How far each index is from the first element.
  const std::vector<std::int64_t> strides = from.shape().strides();
  std::vector<std::vector<std::int64_t>> offsets(strides.size());
  for (std::size_t axis = 0; axis < offsets.size(); ++axis) {
    const auto a = static_cast<std::int64_t>(axis);
    for (std::int64_t i = 0; i < to.extent(a); ++i) {
      offsets[axis].push_back(source(a, i) * strides[axis]);
    }
  }
  with_width(from.element(), [&]<class T>() {
    T* out = to.fill<T>().data();
    std::vector<std::size_t> row(offsets.size() - 1, 0);  // an index along each axis but the last
    bool more = true;
    while (more) {
      const T* in = from.as<T>().data();
      for (std::size_t axis = 0; axis < row.size(); ++axis) in += offsets[axis][row[axis]];
      for (const std::int64_t offset : offsets.back()) *out++ = in[offset];
      more = false;
      for (std::size_t axis = row.size(); axis > 0 && !more; --axis) {
        more = ++row[axis - 1] < offsets[axis - 1].size();
        if (!more) row[axis - 1] = 0;
      }
    }
  });
  return to;
}

Expected<Tensor> filled(ElementType element, Shape shape, const Tensor& value) {
  QUADRANT_TRY(Tensor tensor, Tensor::make(element, std::move(shape)));
  if (value && (value.element() != element || value.element_count() != 1)) {
    return KernelCall::refuse(
        fmt::format("a fill value of {} elements of type {}, where one of {} "
                    "is wanted",
                    value.element_count(), to_string(value.element()), to_string(element)));
  }
  with_width(element, [&]<class T>() {
    std::ranges::fill(tensor.fill<T>(), value ? value.as<T>()[0] : T{0});
  });
  return tensor;
}

}  // namespace quadrant::inline v0
