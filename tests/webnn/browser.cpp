#include "browser.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace quadrant::webnn {
namespace {

/// A WebNN operation, and one name of the operation that it becomes.
struct Counterpart {
  std::string_view webnn;
  std::string_view emitted;
  bool is_half = false;  ///< with another half, one operation; or alone
};

constexpr std::array counterparts{
    Counterpart{"add", "ADD"},
    Counterpart{"argMax", "ARG_MAX"},
    Counterpart{"argMin", "ARG_MIN"},
    Counterpart{"averagePool2d", "AVERAGE_POOL_2D"},
    Counterpart{"clamp", "MAXIMUM", true},
    Counterpart{"clamp", "MINIMUM", true},
    Counterpart{"clamp", "RELU"},
    Counterpart{"clamp", "RELU6"},
    Counterpart{"clamp", "RELU_0_TO_1"},
    Counterpart{"clamp", "RELU_N1_TO_1"},
    Counterpart{"concat", "CONCATENATION"},
    Counterpart{"conv2d", "CONV_2D"},
    Counterpart{"conv2d", "DEPTHWISE_CONV_2D"},
    Counterpart{"convTranspose2d", "TRANSPOSE_CONV"},
    Counterpart{"div", "DIV"},
    Counterpart{"elu", "ELU"},
    Counterpart{"equal", "EQUAL"},
    Counterpart{"exp", "EXP"},
    Counterpart{"expand", "BROADCAST_TO"},
    Counterpart{"gather", "GATHER"},
    Counterpart{"gatherND", "GATHER_ND"},
    Counterpart{"gelu", "GELU"},
    Counterpart{"gemm", "FULLY_CONNECTED"},
    Counterpart{"greater", "GREATER"},
    Counterpart{"greaterOrEqual", "GREATER_EQUAL"},
    Counterpart{"hardSwish", "HARD_SWISH"},
    Counterpart{"leakyRelu", "LEAKY_RELU"},
    Counterpart{"lesser", "LESS"},
    Counterpart{"lesserOrEqual", "LESS_EQUAL"},
    Counterpart{"matmul", "BATCH_MATMUL"},
    Counterpart{"matmul", "FULLY_CONNECTED"},
    Counterpart{"max", "MAXIMUM"},
    Counterpart{"maxPool2d", "MAX_POOL_2D"},
    Counterpart{"min", "MINIMUM"},
    Counterpart{"mul", "MUL"},
    Counterpart{"notEqual", "NOT_EQUAL"},
    Counterpart{"pad", "MIRROR_PAD"},
    Counterpart{"pad", "PAD"},
    Counterpart{"pad", "PADV2"},
    Counterpart{"pow", "POW"},
    Counterpart{"prelu", "PRELU"},
    Counterpart{"reduceMax", "REDUCE_MAX"},
    Counterpart{"reduceMean", "MEAN"},
    Counterpart{"reduceMin", "REDUCE_MIN"},
    Counterpart{"reduceProduct", "REDUCE_PROD"},
    Counterpart{"reduceSum", "SUM"},
    Counterpart{"relu", "RELU"},
    Counterpart{"resample2d", "RESIZE_BILINEAR"},
    Counterpart{"resample2d", "RESIZE_NEAREST_NEIGHBOR"},
    Counterpart{"reshape", "RESHAPE"},
    Counterpart{"reverse", "REVERSE_V2"},
    Counterpart{"sigmoid", "LOGISTIC"},
    Counterpart{"slice", "SLICE"},
    Counterpart{"slice", "STRIDED_SLICE"},
    Counterpart{"softmax", "SOFTMAX"},
    Counterpart{"split", "SPLIT"},
    Counterpart{"split", "SPLIT_V"},
    Counterpart{"sub", "SUB"},
    Counterpart{"tanh", "TANH"},
    Counterpart{"tile", "TILE"},
    Counterpart{"transpose", "TRANSPOSE"},
    Counterpart{"where", "SELECT_V2"},
};

const Counterpart* find_counterpart(std::string_view webnn, std::string_view emitted) {
  for (const Counterpart& entry : counterparts) {
    if (entry.webnn == webnn && entry.emitted == emitted) return &entry;
  }
  return nullptr;
}

/// `const int8[3, 2] q(0.02,0)`
bool is_codes(std::string_view tensor) {
  constexpr std::string_view constant = "const ";
  if (tensor.starts_with(constant)) tensor.remove_prefix(constant.size());
  return !tensor.starts_with("float") && tensor.find(" q(") != std::string_view::npos;
}

bool is_float_text(std::string_view tensor) { return tensor.starts_with("float"); }

/// Reads codes, and makes codes or what has no parameters: truth values, indices.
bool computes_on_codes(const EmittedOp& op) {
  return std::ranges::any_of(op.inputs, is_codes) &&
         std::ranges::none_of(op.outputs, is_float_text);
}

}  // namespace

std::size_t count_fused(std::span<const EmittedOp> emitted, std::string_view op) {
  std::size_t count = 0;
  std::map<std::string_view, std::size_t> halves;
  for (const EmittedOp& one : emitted) {
    if (!computes_on_codes(one)) continue;
    const Counterpart* found = find_counterpart(op, one.op);
    if (found == nullptr && !one.activation.empty()) found = find_counterpart(op, one.activation);
    if (found == nullptr) continue;
    ++(found->is_half ? halves[found->emitted] : count);
  }
  std::size_t most_halves = 0;
  for (const auto& [name, times] : halves) most_halves = std::max(most_halves, times);
  return count + most_halves;
}

}  // namespace quadrant::webnn
