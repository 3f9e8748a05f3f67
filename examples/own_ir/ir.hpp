// The IR of an imaginary compiler, Kiln: operations on the heap, linked by pointers, each value
// with a list of its uses. It knows nothing of Quadrant.
//
// Operations that fill a tensor write into a destination, their last operand, as MLIR's linalg does
// on tensors: the result is the destination after the operation, and has its type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace kiln {

enum class Scalar : std::uint8_t { f32, i8 };

/// What codes mean: real = values[index along axis] * code.
struct Scales {
  std::size_t axis = 0;
  std::vector<float> values;

  friend bool operator==(const Scales&, const Scales&) = default;
};

struct Type {
  Scalar scalar = Scalar::f32;
  std::vector<std::int64_t> extents;
  std::shared_ptr<const Scales> scales = nullptr;  ///< of codes; null for floats

  [[nodiscard]] bool is_real() const { return scalar == Scalar::f32 && scales == nullptr; }
};

enum class OpCode : std::uint8_t {
  input,
  weight,
  alloc,       ///< a buffer of zeros, to write into
  conv2d,      ///< image [H, W, C], filter [KH, KW, C, O], into [H', W', O]: adds to `into`
  dense,       ///< x [..., K], w [N, K], into [..., N]: adds x w' to `into`
  transpose,   ///< x [A, B], into [B, A]: whatever was in `into` is gone
  relu,        ///< x
  dequantize,  ///< codes
  output,      ///< x; has no result, and ends the function that `input` began
  state,       ///< begins the body of a loop: starts as its operand, then is what `loop` reads
  loop,        ///< ends it, after `times` rounds: x, the next state; the result is the last one
};

using Contents = std::shared_ptr<const std::vector<std::byte>>;

struct Op;
struct Value;

/// One operand: a link in the list of its value's uses.
struct Use {
  Use(Op* by, std::uint32_t at, Value* of) : user(by), number(at) { set(of); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() = default;

  void set(Value* to);

  Op* user;
  std::uint32_t number;
  Value* value = nullptr;
  Use* next = nullptr;
  Use** link = nullptr;  ///< what points here
};

struct Value {
  Op* def = nullptr;
  std::string name;
  Type type;
  Use* uses = nullptr;
};

struct Op {
  Op(OpCode made, std::string name, Type type, const std::vector<Value*>& reads);
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;
  ~Op() = default;

  OpCode code;
  std::deque<Use> operands;
  Value result;
  Contents contents;         ///< of a weight
  std::int64_t times = 0;    ///< of a loop
  std::unique_ptr<Op> next;  ///< in the module's order
};

/// A list of operations, definitions before uses: weights, which all functions may read, and
/// functions one after the other, each from its `input` to its `output`, with the bodies of loops
/// from `state` to `loop`. What is made in a function or a body is seen there alone. Names of
/// values are unique: a name that is taken gets a suffix.
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  [[nodiscard]] Op* first() const { return first_.get(); }
  /// `place`: null for the front.
  Op* insert_after(Op* place, OpCode code, const std::string& name, Type type,
                   const std::vector<Value*>& operands);
  Value* append(OpCode code, const std::string& name, Type type,
                const std::vector<Value*>& operands = {});
  Value* append_weight(const std::string& name, std::vector<std::int64_t> extents,
                       const std::vector<float>& values);
  void rename(Value& value, const std::string& name);

 private:
  std::string free_name(const std::string& name);

  std::unique_ptr<Op> first_;
  Op* last_ = nullptr;
  std::unordered_set<std::string> names_;
};

/// One line for each operation.
[[nodiscard]] std::string to_string(const Module& module);

/// The first rule that is broken: what is read is made before, and seen; a loop's state has one
/// type wherever it passes; operations have the types that they need. Empty: none is.
[[nodiscard]] std::string fault_of(const Module& module);

/// Hears of each value whenever it is computed: in a loop, in each round.
using Observer = std::function<void(const Value& value, const std::vector<float>& numbers)>;

/// What the function, of that number, computes for `input`: its output's numbers, row by row.
[[nodiscard]] std::vector<float> run(const Module& module, std::size_t function,
                                     const std::vector<float>& input,
                                     const Observer& observer = {});

}  // namespace kiln
