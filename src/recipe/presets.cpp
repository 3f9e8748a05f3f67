#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "quadrant/ir/number_format.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "support/near_names.hpp"

namespace quadrant::inline v0 {

std::span<const Preset> presets() {
  static constexpr std::array all{Preset{"int4-block32", R"({
  "format": "quadrant.recipe",
  "version": 1,
  "description": "weights of 4 bits in blocks of 32, with zero points: a sixth of the size",
  "schemes": {
    "int4-block32": {
      "scheme": "weight_only",
      "options": {
        "bits": 4,
        "block_size": 32,
        "clip": "mse",
        "symmetry": "asymmetric"
      }
    }
  }
}
)"},
                                  Preset{"int8", R"({
  "format": "quadrant.recipe",
  "version": 1,
  "description": "weights of 8 bits with a scale for each channel: a quarter of the size",
  "schemes": {
    "int8": {
      "scheme": "weight_only"
    }
  }
}
)"},
                                  Preset{"int8-static", R"({
  "format": "quadrant.recipe",
  "version": 1,
  "description": "weights and activations of 8 bits, from sample data",
  "schemes": {
    "int8-static": {
      "scheme": "static_affine"
    }
  }
}
)"},
                                  Preset{"mixed-4.5bit", R"({
  "format": "quadrant.recipe",
  "version": 1,
  "description": "8 bits, 4 bits or floats for each weight, whatever does most for 4.5 bits a weight",
  "schemes": {
    "int4": {
      "scheme": "weight_only",
      "options": {
        "bits": 4,
        "clip": "mse",
        "symmetry": "signed-scale"
      }
    },
    "int4-block128": {
      "scheme": "weight_only",
      "options": {
        "bits": 4,
        "block_size": 128,
        "clip": "mse",
        "scales": "float16",
        "symmetry": "signed-scale"
      }
    },
    "int4-block16": {
      "scheme": "weight_only",
      "options": {
        "bits": 4,
        "block_size": 16,
        "clip": "mse",
        "scales": "float16",
        "symmetry": "signed-scale"
      }
    },
    "int4-block32": {
      "scheme": "weight_only",
      "options": {
        "bits": 4,
        "block_size": 32,
        "clip": "mse",
        "scales": "float16",
        "symmetry": "signed-scale"
      }
    },
    "int4-block64": {
      "scheme": "weight_only",
      "options": {
        "bits": 4,
        "block_size": 64,
        "clip": "mse",
        "scales": "float16",
        "symmetry": "signed-scale"
      }
    },
    "int8": {
      "scheme": "weight_only",
      "options": {
        "clip": "mse"
      }
    },
    "uint4-block128": {
      "scheme": "weight_only",
      "options": {
        "bits": 4,
        "block_size": 128,
        "clip": "mse",
        "scales": "float16",
        "symmetry": "asymmetric"
      }
    },
    "uint4-block16": {
      "scheme": "weight_only",
      "options": {
        "bits": 4,
        "block_size": 16,
        "clip": "mse",
        "scales": "float16",
        "symmetry": "asymmetric"
      }
    },
    "uint4-block32": {
      "scheme": "weight_only",
      "options": {
        "bits": 4,
        "block_size": 32,
        "clip": "mse",
        "scales": "float16",
        "symmetry": "asymmetric"
      }
    },
    "uint4-block64": {
      "scheme": "weight_only",
      "options": {
        "bits": 4,
        "block_size": 64,
        "clip": "mse",
        "scales": "float16",
        "symmetry": "asymmetric"
      }
    }
  },
  "target_bits": 4.5
}
)"}};
  return all;
}

Expected<const Preset*> find_preset(std::string_view name) {
  const auto found = std::ranges::find(presets(), name, &Preset::name);
  if (found != presets().end()) return &*found;
  std::vector<std::string_view> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  const std::string near = did_you_mean(name, names);
  if (near.empty() && parse_number_format(name)) {
    return fail(ErrorCode::usage,
                fmt::format("there is no preset '{0}', which is a number format: an option of the "
                            "scheme, as in NAME=weight-only,type={0}",
                            name));
  }
  return fail(ErrorCode::usage,
              fmt::format("there is no preset '{}'{}", name,
                          near.empty() ? did_you_mean_or_all(name, names) : near));
}

}  // namespace quadrant::inline v0
