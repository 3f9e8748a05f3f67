#include "random_attributes.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fuzz {
namespace {

using namespace quadrant;

// Of operations that files hold.
constexpr std::array attribute_names{
    "perm",
    "axis",
    "axes",
    "transA",
    "transB",
    "alpha",
    "beta",
    "group",
    "strides",
    "dilations",
    "kernel_shape",
    "auto_pad",
    "pads",
    "allowzero",
    "keepdims",
    "split",
    "starts",
    "ends",
    "to",
    "num_outputs",
    "equation",
    "direction",
    "hidden_size",
    "layout",
    "output_shape",
    "output_padding",
    "onnx.absent_results",
    "onnx.captures",
    "onnx.region_position",
    "onnx.yields",
};

constexpr std::array texts{
    "ij,jk->ik", "ij,kj->ik",  "bij,jk", "a,b->ab",
    "...i,ij",   "SAME_UPPER", "VALID",  "bidirectional",
};

// Of operations that are computed, by the type that they have.
constexpr std::array integer_names{
    "axis",
    "transA",
    "transB",
    "group",
    "keepdims",
    "to",
    "allowzero",
    "num_outputs",
    "hidden_size",
    "layout",
    "blocksize",
    "block_size",
    "bits",
    "K",
    "N",
    "k",
    "p",
    "ceil_mode",
    "count_include_pad",
    "storage_order",
    "align_corners",
    "exclusive",
    "reverse",
    "largest",
    "sorted",
    "select_last_index",
    "noop_with_empty_axes",
    "batch_dims",
    "batch_axis",
    "time_axis",
    "upper",
    "fmod",
    "dtype",
    "output_dtype",
    "stash_type",
    "num_groups",
    "num_heads",
    "q_num_heads",
    "kv_num_heads",
    "is_causal",
    "interleaved",
    "rotary_embedding_dim",
    "qk_matmul_output_mode",
    "levels",
    "num_bits",
    "narrow_range",
    "is_signed",
    "output_height",
    "output_width",
    "sampling_ratio",
    "center_point_box",
    "linear_before_reset",
    "input_forget",
    "antialias",
    "exclude_outside",
    "training_mode",
    "size",
    "ignore_index",
    "start",
    "end",
    "detect_positive",
    "detect_negative",
    "gather_axis",
    "quantize_axis",
    "left_window_size",
    "right_window_size",
    "channels_last",
};
constexpr std::array list_names{
    "axes",   "perm", "pads",         "strides",        "dilations", "kernel_shape", "split",
    "starts", "ends", "output_shape", "output_padding", "shape",     "steps",
};
constexpr std::array real_names{
    "alpha",         "beta",     "epsilon", "gamma",         "lambd",
    "bias",          "momentum", "scale",   "softcap",       "clip",
    "max",           "min",      "value",   "spatial_scale", "extrapolation_value",
    "cubic_coeff_a",
};
constexpr std::array real_list_names{
    "scales", "layer_stats",      "axis_stats",      "min",
    "max",    "activation_alpha", "activation_beta", "activation_params",
};
constexpr std::array word_names{
    "mode",
    "auto_pad",
    "direction",
    "equation",
    "reduction",
    "approximate",
    "padding_mode",
    "nearest_mode",
    "coordinate_transformation_mode",
    "keep_aspect_ratio_policy",
    "activation",
    "auto_broadcast",
    "stats_key",
    "coupled_key",
};
constexpr std::array words{
    "ij,jk->ik",
    "ij,kj->ik",
    "bij,jk",
    "a,b->ab",
    "...i,ij",
    "SAME_UPPER",
    "SAME_LOWER",
    "VALID",
    "NOTSET",
    "bidirectional",
    "reverse",
    "linear",
    "cubic",
    "nearest",
    "bilinear",
    "bicubic",
    "constant",
    "reflect",
    "edge",
    "wrap",
    "zeros",
    "border",
    "reflection",
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
    "round_prefer_floor",
    "round_prefer_ceil",
    "floor",
    "ceil",
    "stretch",
    "not_larger",
    "not_smaller",
    "none",
    "mean",
    "sum",
    "add",
    "mul",
    "max",
    "min",
    "avg",
    "tanh",
    "DCR",
    "CRD",
    "RIGHT",
    "LEFT",
    "numpy",
    "pdpd",
    "circular",
    "output_half_pixel",
    "Relu",
    "LeakyRelu",
    "HardSigmoid",
    "Clip",
};

Attribute stored_attribute(RandomValues& random) {
  switch (random.number(0, 4)) {
    case 0:
      return random.one_in(8) ? random.any_integer() : random.number(-2, 4);
    case 1: {
      std::vector<std::int64_t> list(static_cast<std::size_t>(random.number(0, 4)));
      for (std::int64_t& element : list)
        element = random.one_in(16) ? random.extent() : random.number(-1, 3);
      return list;
    }
    case 2:
      return random.any_real();
    case 3:
      return std::string(random.pick(texts));
    default:
      return random.name();
  }
}

}  // namespace

Attributes::Entry random_attribute(RandomValues& random) {
  if (!random.is_computed()) {
    std::string name(random.pick(attribute_names));
    return {std::move(name), stored_attribute(random)};
  }
  const auto of = [&](const auto& names, Attribute value) {
    std::string name(random.pick(names));
    return Attributes::Entry{std::move(name),
                             random.one_in(32) ? stored_attribute(random) : std::move(value)};
  };
  const auto real = [&] {
    return random.one_in(16) ? random.any_real() : static_cast<double>(random.number(-64, 64)) / 16;
  };
  switch (random.number(0, 4)) {
    case 0:
      return of(integer_names, random.one_in(32) ? random.any_integer() : random.number(-2, 8));
    case 1: {
      std::vector<std::int64_t> list(static_cast<std::size_t>(random.number(0, 6)));
      for (std::int64_t& element : list)
        element = random.one_in(16) ? random.extent() : random.number(-1, 3);
      return of(list_names, std::move(list));
    }
    case 2:
      return of(real_names, real());
    case 3: {
      std::vector<double> list(static_cast<std::size_t>(random.number(0, 4)));
      for (double& element : list) element = real();
      return of(real_list_names, std::move(list));
    }
    default:
      return of(word_names, std::string(random.pick(words)));
  }
}

}  // namespace fuzz
