#include "ir/tensor_memory.hpp"

#include <fmt/format.h>

namespace quadrant::inline v0 {
namespace {

// Kernels make tensors at a hundred places; what they may take is the caller's to say.
thread_local const TensorMemory* innermost = nullptr;

}  // namespace

bool TensorMemory::take(std::uint64_t bytes) const noexcept {
  std::uint64_t used = state_->used.load();
  do {
    if (bytes > state_->limit - used) {
      state_->was_short.store(true);
      return false;
    }
  } while (!state_->used.compare_exchange_weak(used, used + bytes));
  return true;
}

TensorMemory::Scope::Scope(const TensorMemory& memory) noexcept : outer_(innermost) {
  innermost = &memory;
}

TensorMemory::Scope::~Scope() { innermost = outer_; }

const TensorMemory* TensorMemory::current() noexcept { return innermost; }

Expected<ScratchMemory> ScratchMemory::take(std::uint64_t bytes) {
  if (innermost == nullptr) return ScratchMemory({}, 0);
  if (innermost->take(bytes)) return ScratchMemory(*innermost, bytes);
  return fail(ErrorCode::impossible,
              fmt::format("tables of {} bytes, where {} of {} are left", bytes,
                          innermost->limit() - innermost->used(), innermost->limit()));
}

}  // namespace quadrant::inline v0
