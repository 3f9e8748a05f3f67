#include "cli/weight_only.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/choices.hpp"
#include "quadrant/methods/weight_only.hpp"

namespace quadrant::cli {
namespace {

// Of --symmetric, --signed-scale and --asymmetric, at most one.
void add_symmetry(CLI::App& command, std::string& symmetry) {
  const auto add = [&](const std::string& name, const std::string& description) {
    return command.add_flag_callback(
        "--" + name, [&symmetry, name] { symmetry = name; }, description);
  };
  CLI::Option* plain =
      add("symmetric", "Codes on both sides of zero, which is code 0 (the default)");
  CLI::Option* either = add("signed-scale",
                            "The same with scales of either sign, so that the largest weight of a "
                            "group gets the longer side");
  CLI::Option* shifted =
      add("asymmetric", "A zero point for each scale: the codes span the weights");
  plain->excludes(either)->excludes(shifted);
  either->excludes(shifted);
}

class WeightOnlyCommand final : public SchemeCommand {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "weight_only"; }
  [[nodiscard]] std::string_view summary() const noexcept override {
    return "weights become integers with shared scales; activations stay float";
  }
  [[nodiscard]] std::string_view gain() const noexcept override { return "bytes"; }

  void declare(CLI::App& options) override {
    options.add_option("--bits", bits_, "Bits of the stored integers: 8 or 4")
        ->type_name("N")
        ->capture_default_str();
    add_symmetry(options, symmetry_);
    add_choice(options, "--granularity", granularity_, {"tensor", "channel", "block"},
               "What shares one scale (default: channel)");
    options
        .add_option("--block-size", block_size_,
                    "Weights in a block, along the axis that is summed; implies --granularity "
                    "block (default: 32)")
        ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 40U).description(""))
        ->type_name("N");
    add_choice(options, "--clip", clip_, {"absmax", "minmax", "mse"},
               "How scales are chosen: from the largest magnitude (the default), from smallest "
               "and largest (the default where asymmetric), or for the smallest squared error");
    add_choice(options, "--scales", scales_, {"float32", "float16"},
               "How scales are stored; codes are chosen for the rounded ones")
        ->capture_default_str();
    add_choice(options, "--form", form_, {"front", "behind", "fewest"},
               "A dequantize in front of the operation, or a multiplication by the scale behind "
               "it where that is exact; or whichever multiplies less")
        ->capture_default_str();
  }

  [[nodiscard]] Expected<void> check() const override {
    if (block_size_ && !granularity_.empty() && granularity_ != "block") {
      return fail(ErrorCode::usage,
                  fmt::format("--block-size is for --granularity block, not {}", granularity_));
    }
    QUADRANT_CHECK(WeightOnly::make(chosen()));
    return {};
  }

  [[nodiscard]] Expected<void> check_format(std::string_view format) const override {
    if (format != "matmulnbits" || form_ != "behind") return {};
    return fail(ErrorCode::usage,
                "quantize: MatMulNBits has its scales in front: --format matmulnbits does not go "
                "with --form behind");
  }

  [[nodiscard]] Expected<Registry> methods() const override {
    return weight_only_registry(chosen());
  }
  [[nodiscard]] Expected<Registry> make(SchemeSubject& /*subject*/) const override {
    return methods();
  }

 private:
  [[nodiscard]] WeightOnlyOptions chosen() const {
    using Form = WeightOnlyOptions::Form;
    WeightOnlyOptions made;
    made.bits = bits_;
    if (symmetry_ == "signed-scale") made.symmetry = Symmetry::signed_scale;
    if (symmetry_ == "asymmetric") made.symmetry = Symmetry::asymmetric;
    if (granularity_ == "tensor") made.granularity = Granularity::Kind::tensor;
    if (granularity_ == "block" || block_size_) made.granularity = Granularity::Kind::block;
    made.block_size = block_size_.value_or(made.block_size);
    if (clip_ == "absmax") made.clip = Clip::absmax;
    if (clip_ == "minmax") made.clip = Clip::minmax;
    if (clip_ == "mse") made.clip = Clip::mse;
    if (scales_ == "float16") made.scale_type = ElementType::float16;
    if (form_ == "behind") made.form = Form::behind;
    if (form_ == "fewest") made.form = Form::fewest;
    return made;
  }

  int bits_ = 8;
  std::string symmetry_ = "symmetric";
  std::string granularity_;  // empty: channel, or block with a size
  std::optional<std::int64_t> block_size_;
  std::string clip_;  // empty: the scheme's default
  std::string scales_ = "float32";
  std::string form_ = "front";
};

}  // namespace

std::unique_ptr<SchemeCommand> make_weight_only() { return std::make_unique<WeightOnlyCommand>(); }

}  // namespace quadrant::cli
