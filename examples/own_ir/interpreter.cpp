// Runs a function in the plainest way.
#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "ir.hpp"

namespace kiln {
namespace {

// Row by row. Codes are held as numbers too: what they stand for is the business of `dequantize`.
using Numbers = std::vector<float>;

std::size_t extent(const Value* value, std::size_t axis) {
  return static_cast<std::size_t>(value->type.extents[axis]);
}

Numbers read(const Op& weight) {
  const std::vector<std::byte>& bytes = *weight.contents;
  if (weight.result.type.scalar == Scalar::f32) {
    Numbers numbers(bytes.size() / sizeof(float));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }
  Numbers numbers;
  for (const std::byte code : bytes) numbers.push_back(static_cast<std::int8_t>(code));
  return numbers;
}

class Interpreter {
 public:
  explicit Interpreter(const Numbers& input) : input_(input) {}

  const Numbers& execute(const Op& op) { return values_[&op.result] = evaluate(op); }
  void set(const Value& value, Numbers numbers) { values_[&value] = std::move(numbers); }

 private:
  const Numbers& operand(const Op& op, std::size_t number) {
    return values_.at(op.operands[number].value);
  }

  Numbers evaluate(const Op& op) {
    switch (op.code) {
      case OpCode::input:
        return input_;
      case OpCode::weight:
        return read(op);
      case OpCode::alloc:
        return alloc(op.result.type);
      case OpCode::conv2d:
        return conv2d(op);
      case OpCode::dense:
        return dense(op);
      case OpCode::transpose:
        return transpose(op);
      case OpCode::relu: {
        Numbers numbers = operand(op, 0);
        for (float& number : numbers) number = std::max(number, 0.0F);
        return numbers;
      }
      case OpCode::dequantize:
        return dequantize(op);
      case OpCode::output:
      case OpCode::state:
      case OpCode::loop:
        return operand(op, 0);
    }
    return {};
  }

  static Numbers alloc(const Type& type) {
    std::size_t count = 1;
    for (const std::int64_t extent : type.extents) count *= static_cast<std::size_t>(extent);
    return Numbers(count);
  }

  Numbers conv2d(const Op& op) {
    const Numbers& image = operand(op, 0);
    const Numbers& filter = operand(op, 1);
    Numbers into = operand(op, 2);
    const std::size_t width = extent(op.operands[0].value, 1);
    const std::size_t channels = extent(op.operands[0].value, 2);
    const std::size_t kernel_width = extent(op.operands[1].value, 1);
    const std::size_t kernel = extent(op.operands[1].value, 0) * kernel_width;
    const std::size_t columns = extent(&op.result, 1);
    const std::size_t outputs = extent(&op.result, 2);
    for (std::size_t i = 0; i < into.size(); ++i) {
      const std::size_t y = i / outputs / columns;
      const std::size_t x = i / outputs % columns;
      for (std::size_t tap = 0; tap < kernel; ++tap) {
        const std::size_t pixel = (y + tap / kernel_width) * width + x + tap % kernel_width;
        for (std::size_t c = 0; c < channels; ++c) {
          into[i] +=
              image[pixel * channels + c] * filter[(tap * channels + c) * outputs + i % outputs];
        }
      }
    }
    return into;
  }

  Numbers dense(const Op& op) {
    const Numbers& x = operand(op, 0);
    const Numbers& w = operand(op, 1);
    Numbers into = operand(op, 2);
    const std::size_t n = extent(op.operands[1].value, 0);
    const std::size_t depth = extent(op.operands[1].value, 1);
    for (std::size_t i = 0; i < into.size(); ++i) {
      for (std::size_t k = 0; k < depth; ++k) {
        into[i] += x[i / n * depth + k] * w[i % n * depth + k];
      }
    }
    return into;
  }

  Numbers transpose(const Op& op) {
    const Numbers& x = operand(op, 0);
    Numbers into = operand(op, 1);
    const std::size_t rows = extent(&op.result, 0);
    const std::size_t columns = extent(&op.result, 1);
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = x[i % columns * rows + i / columns];
    return into;
  }

  Numbers dequantize(const Op& op) {
    Numbers numbers = operand(op, 0);
    const Type& type = op.operands[0].value->type;
    std::size_t stride = 1;
    for (std::size_t axis = type.scales->axis + 1; axis < type.extents.size(); ++axis) {
      stride *= static_cast<std::size_t>(type.extents[axis]);
    }
    const std::vector<float>& scales = type.scales->values;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] *= scales[i / stride % scales.size()];
    }
    return numbers;
  }

  const Numbers& input_;
  std::unordered_map<const Value*, Numbers> values_;
};

}  // namespace

std::vector<float> run(const Module& module, std::size_t function, const std::vector<float>& input,
                       const Observer& observer) {
  Interpreter interpreter(input);
  struct Loop {
    const Op* state;
    std::int64_t round = 1;
  };
  std::vector<Loop> loops;
  std::size_t begun = 0;  // functions
  bool is_weight = true;
  for (const Op* op = module.first(); op != nullptr; op = op->next.get()) {
    if (op->code == OpCode::input) {
      is_weight = false;
      ++begun;
    }
    if (!is_weight && begun != function + 1) continue;
    const Numbers& numbers = interpreter.execute(*op);
    if (op->code == OpCode::output) return numbers;
    if (observer) observer(op->result, numbers);
    if (op->code == OpCode::state) loops.push_back({op});
    if (op->code != OpCode::loop) continue;
    if (loops.back().round++ < op->times) {
      interpreter.set(loops.back().state->result, numbers);
      op = loops.back().state;  // on with what stands behind it
    } else {
      loops.pop_back();
    }
  }
  return {};
}

}  // namespace kiln
