#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "ir/tensor_memory.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0 {

namespace {

// Cache lines, and what vector instructions like.
constexpr std::align_val_t alignment{64};

void free_bytes(std::byte* bytes) { ::operator delete(bytes, alignment); }

// `memory`, from which the bytes were taken, gets them back; it may be null.
std::shared_ptr<std::byte> allocate(std::size_t size, const TensorMemory* memory) {
  void* place = ::operator new(size == 0 ? 1 : size, alignment, std::nothrow);
  if (place == nullptr) {
    if (memory != nullptr) memory->give_back(size);
    return nullptr;
  }
  auto* const bytes = static_cast<std::byte*>(place);
  if (memory == nullptr) return {bytes, free_bytes};
  return {bytes, [size, taken_from = *memory](std::byte* taken) {
            free_bytes(taken);
            taken_from.give_back(size);
          }};
}

}  // namespace

Expected<Tensor> Tensor::make(ElementType element, Shape shape, std::uint64_t limit) {
  const std::int64_t count = shape.is_static() ? shape.element_count().value_or(-1) : -1;
  const auto width = static_cast<std::uint64_t>(byte_width(element));
  if (count < 0 || width == 0) {
    return fail(ErrorCode::impossible,
                fmt::format("a tensor of {} elements of shape [{}] cannot be made",
                            to_string(element), to_string(shape)));
  }
  const TensorMemory* const memory = TensorMemory::current();
  std::uint64_t size = 0;
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(count), width, &size)) size = UINT64_MAX;
  if (memory == nullptr && size > limit) {
    return fail(ErrorCode::impossible,
                fmt::format("a tensor of shape [{}] takes more than the {} bytes allowed",
                            to_string(shape), limit));
  }
  if (memory != nullptr && !memory->take(size)) {
    return fail(
        ErrorCode::impossible,
        fmt::format("a tensor of shape [{}] takes {} bytes, where {} of {} are left",
                    to_string(shape),
                    size == UINT64_MAX ? std::string("2^64 or more") : fmt::format("{}", size),
                    memory->limit() - memory->used(), memory->limit()));
  }
  Tensor tensor;
  tensor.element_ = element;
  tensor.shape_ = std::move(shape);
  tensor.count_ = count;
  tensor.byte_size_ = static_cast<std::size_t>(size);
  tensor.data_ = allocate(tensor.byte_size_, memory);
  if (!tensor.data_) {
    return fail(ErrorCode::io,
                fmt::format("there is no memory for a tensor of {} bytes", tensor.byte_size_));
  }
  return tensor;
}

Tensor Tensor::from_bytes(ElementType element, Shape shape, std::span<const std::byte> bytes) {
  const TensorMemory all(UINT64_MAX);  // what is there already is not refused
  const TensorMemory::Scope scope(all);
  auto tensor = make(element, std::move(shape), UINT64_MAX);
  QUADRANT_ASSERT(tensor && tensor->byte_size_ == bytes.size());
  if (!bytes.empty()) {
    // Nobody else has it yet.
    std::memcpy(const_cast<std::byte*>(tensor->data_.get()), bytes.data(), bytes.size());  // NOLINT
  }
  return *std::move(tensor);
}

Expected<Tensor> Tensor::from_constant(const Constant& constant) {
  QUADRANT_TRY(const ConstantBytes contents, constant.read());
  if (constant.element() == ElementType::boolean &&
      std::ranges::any_of(contents.bytes(), [](std::byte one) { return one > std::byte{1}; })) {
    // Files may write `true` as any byte that is not 0, a `bool` may not.
    QUADRANT_TRY(Tensor booleans, make(constant.element(), constant.shape(), UINT64_MAX));
    std::ranges::transform(contents.bytes(), booleans.fill_bytes().begin(),
                           [](std::byte one) { return std::byte{one != std::byte{0}}; });
    return booleans;
  }
  Tensor tensor;
  tensor.element_ = constant.element();
  tensor.shape_ = constant.shape();
  tensor.count_ = constant.element_count();
  tensor.byte_size_ = contents.bytes().size();
  // Shares the owner of the bytes.
  auto owner = std::make_shared<const ConstantBytes>(contents);
  tensor.data_ = std::shared_ptr<const std::byte>(owner, owner->bytes().data());
  return tensor;
}

Constant Tensor::to_constant() const {
  return Constant::from_bytes(element_, shape_, {bytes().begin(), bytes().end()});
}

Tensor Tensor::reshaped(Shape shape) const {
  QUADRANT_ASSERT(shape.element_count() == count_);
  Tensor tensor = *this;
  tensor.shape_ = std::move(shape);
  return tensor;
}

}  // namespace quadrant::inline v0
