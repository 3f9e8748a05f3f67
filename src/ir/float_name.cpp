#include "ir/float_name.hpp"

#include <string_view>

#include "quadrant/ir/explicit_quantization.hpp"

namespace quadrant::inline v0 {

std::string float_name(const Graph& quantized, const Graph& real, Value codes) {
  const std::string_view name = real_name_of(quantized, codes);
  const std::string_view stem =
      name.ends_with(quantized_ending) ? name.substr(0, name.size() - quantized_ending.size()) : "";
  for (const std::string_view candidate : {name, stem, quantized.value_name(codes)}) {
    if (!candidate.empty() && !real.find_value(candidate).is_absent()) {
      return std::string(candidate);
    }
  }
  return std::string(name);
}

}  // namespace quadrant::inline v0
