#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/recipe/scheme_table.hpp"
#include "recipe/scheme_options.hpp"

namespace quadrant::inline v0 {
namespace {

// Of weights; activations have all but the last.
constexpr std::array encodings{std::pair("minmax", EncodingMethod::minmax),
                               std::pair("mse", EncodingMethod::mse),
                               std::pair("enhanced", EncodingMethod::enhanced),
                               std::pair("percentile", EncodingMethod::percentile),
                               std::pair("entropy", EncodingMethod::entropy),
                               std::pair("adjusted-weights", EncodingMethod::adjusted_weights)};

std::vector<OptionWord> encoding_words(std::size_t count) {
  std::vector<OptionWord> words;
  words.reserve(count);
  for (std::size_t i = 0; i < count; ++i) words.push_back({encodings[i].first});
  return words;
}

// Reads options that were checked.
class AffineOptionReader {
 public:
  explicit AffineOptionReader(const OptionValues& values) : values_(values) {}

  [[nodiscard]] Expected<StaticAffineOptions> read() const {
    for (const auto& [what, key] : {std::pair("weights", "weight_encoding"),
                                    std::pair("activations", "activation_encoding")}) {
      const std::string own = word(key, "enhanced");
      if (!uses_enhanced(what) || own == "enhanced") continue;
      return fail(ErrorCode::usage, fmt::format("`use_enhanced` says 'enhanced' for {}, another "
                                                "option '{}': leave out one of them",
                                                what, own));
    }
    StaticAffineOptions made;
    const bool is_asymmetric = flag("asymmetric_weights");
    made.activations =
        rule("activations", "activation_encoding", "activation_bits", EncodingSymmetry::asymmetric);
    made.weights =
        rule("weights", "weight_encoding", "weight_bits",
             is_asymmetric ? EncodingSymmetry::asymmetric : EncodingSymmetry::symmetric_strict);
    if (word("weights", "channel") == "tensor") made.weight_granularity = Granularity::Kind::tensor;
    made.unsigned_activations = flag("unsigned_activations");
    made.unsigned_weights = flag("unsigned_weights");
    made.kernels = parse_kernels_target(word("kernels", "any")).value_or(KernelsTarget::any);
    // Snapdragon's processors are Arm's, and its accelerators sum in 32 bits, too.
    const bool sums_in_32_bits =
        word("target_cpu", "any") == "vnni" || word("profile", "onnx") != "onnx";
    made.saturation = parse_saturation(word("saturation", sums_in_32_bits ? "allow" : "avoid"))
                          .value_or(Saturation::avoid);
    made.bias_bits = number("bias_bits", 32);
    made.quantized_recurrent_weights = word("recurrent_weights", "float") == "codes";
    made.quantized_inputs = flag("quantized_inputs");
    made.quantized_outputs = flag("quantized_outputs");
    QUADRANT_CHECK(StaticAffine::make(made));
    return made;
  }

 private:
  [[nodiscard]] std::string word(std::string_view key, std::string_view fallback) const {
    const auto* const found = given<std::string>(values_, key);
    return found == nullptr ? std::string(fallback) : *found;
  }
  [[nodiscard]] int number(std::string_view key, int fallback) const {
    const auto* const found = given<std::int64_t>(values_, key);
    return found == nullptr ? fallback : static_cast<int>(*found);
  }
  [[nodiscard]] bool flag(std::string_view key) const {
    const auto* const found = given<bool>(values_, key);
    return found != nullptr && *found;
  }

  // For `what`, of weights and activations.
  [[nodiscard]] bool uses_enhanced(std::string_view what) const {
    const std::string used = word("use_enhanced", "");
    return used == "both" || used == what;
  }

  [[nodiscard]] EncodingMethod method(std::string_view what, std::string_view key) const {
    if (uses_enhanced(what)) return EncodingMethod::enhanced;
    std::string name = word(key, word("encoding", "minmax"));
    // Of the encoding for both, what is for weights alone does not count for activations.
    if (what == "activations" && name == "adjusted-weights") name = "minmax";
    const auto* const found =
        std::ranges::find(encodings, std::string_view(name),
                          [](const auto& encoding) { return std::string_view(encoding.first); });
    return found == encodings.end() ? EncodingMethod::minmax : found->second;
  }

  [[nodiscard]] EncodingRule rule(std::string_view what, std::string_view encoding,
                                  std::string_view bits, EncodingSymmetry symmetry) const {
    const std::string profile = word("profile", "onnx");
    EncodingRule made = EncodingRule::onnx();
    if (profile == "snpe") made = EncodingRule::snpe();
    if (profile == "qairt") made = EncodingRule::qairt();
    made.method = method(what, encoding);
    made.bits = number(bits, 8);
    made.symmetry = symmetry;
    const auto* const percentile = given<double>(values_, "percentile");
    made.percentile = percentile == nullptr ? EncodingRule{}.percentile : *percentile;
    return made;
  }

  const OptionValues& values_;
};

}  // namespace

std::span<const OptionSpec> static_affine_option_table() {
  using enum OptionSpec::Kind;
  static const std::vector<OptionSpec> table{
      {.key = "activation_bits",
       .kind = integer,
       .summary = "Bits of activations",
       .numbers = {8, 16},
       .fallback = "8"},
      {.key = "weight_bits",
       .kind = integer,
       .summary = "Bits of weights",
       .numbers = {8, 4},
       .fallback = "8"},
      {.key = "weights",
       .kind = word,
       .summary = "What shares a scale in a weight: an output channel, or all of it",
       .words = {{"channel"}, {"tensor"}},
       .fallback = "channel"},
      {.key = "asymmetric_weights",
       .kind = flag,
       .summary = "Weights have a zero point, too; goes with `weights` tensor"},
      {.key = "bias_bits",
       .kind = integer,
       .summary = "Bits of biases: 32, in the scale of the sums that they are added to, or 8, in a "
                  "scale of their own",
       .numbers = {32, 8},
       .fallback = "32"},
      {.key = "encoding",
       .kind = word,
       .summary = "How ranges are chosen, of weights and activations",
       .words = encoding_words(encodings.size()),
       .fallback = "minmax"},
      {.key = "weight_encoding",
       .kind = word,
       .summary = "The same for weights alone",
       .words = encoding_words(encodings.size())},
      {.key = "activation_encoding",
       .kind = word,
       .summary = "The same for activations alone",
       .words = encoding_words(encodings.size() - 1)},
      {.key = "use_enhanced",
       .kind = word,
       .summary = "The encoding 'enhanced' for 'weights', for 'activations', or, alone, for 'both'",
       .words = {{"weights"}, {"activations"}, {"both"}},
       .alone = "both"},
      {.key = "percentile",
       .kind = real,
       .summary = "How much of the values an encoding 'percentile' covers, from either end",
       .least = 50,
       .most = 100,
       .placeholder = "P",
       .fallback = "99.99"},
      {.key = "profile",
       .kind = word,
       .summary = "Whose rules for encodings: ranges of any width, or of 0.01 and 0.0001 at least, "
                  "and how ties are rounded",
       .words = {{"onnx"}, {"snpe"}, {"qairt"}},
       .fallback = "onnx"},
      {.key = "recurrent_weights",
       .kind = word,
       .summary = "Weights of recurrent layers, which compute in float",
       .words = {{"float"}, {"codes"}},
       .fallback = "float"},
      {.key = "kernels",
       .kind = word,
       .summary =
           "Runtime for whose integer kernels to quantize: of 'tflite', codes of 16 bits have no "
           "zero "
           "point, and results of Sigmoid and Softmax are fixed; of 'openvino', Multiply, Sigmoid, "
           "Softmax and LeakyRelu stay float, and factors of products of two computed matrices "
           "have no zero points; 'convert' to .tflite and .xml chooses it",
       .words = {{"any"}, {"onnxruntime"}, {"tflite"}, {"openvino"}},
       .fallback = "any"},
      {.key = "target_cpu",
       .kind = word,
       .summary = "Processors that the file is for: 'any', or only x86 with VNNI, which adds "
                  "products of codes in 32 bits; so does Arm",
       .words = {{"any"}, {"vnni"}},
       .fallback = "any"},
      {.key = "saturation",
       .kind = word,
       .summary = "Sums of two products that leave 16 bits, in ONNX Runtime and OpenVINO on x86 "
                  "without VNNI: 'avoid' keeps 8 bits, and weights that could do so have larger "
                  "scales; of '7bit' all weights have a bit less; 'allow', which `target_cpu` vnni "
                  "and the profiles of SNPE mean, leaves them (default: avoid)",
       .words = {{"avoid"}, {"allow"}, {"7bit"}}},
      {.key = "unsigned_weights",
       .kind = flag,
       .summary = "Unsigned codes for weights, with the zero point in the middle: ONNX Runtime "
                  "adds their products in 32 bits everywhere, and takes longer for it"},
      {.key = "unsigned_activations", .kind = flag, .summary = "Unsigned codes for activations"},
      {.key = "quantized_inputs", .kind = flag, .summary = "The model's inputs are codes, too"},
      {.key = "quantized_outputs", .kind = flag, .summary = "The model's outputs are codes, too"}};
  return table;
}

Expected<StaticAffineOptions> static_affine_options(const OptionValues& values) {
  QUADRANT_CHECK(check_options(static_affine_option_table(), values, "static_affine"));
  return AffineOptionReader(values).read();
}

}  // namespace quadrant::inline v0
