#include "cli/weight_only.hpp"

#include <string>

namespace quadrant::cli {
namespace {

class WeightOnlyCommand final : public SchemeCommand {
 public:
  explicit WeightOnlyCommand(const SchemeEntry& entry) : SchemeCommand(entry) {}

  [[nodiscard]] Expected<void> check_format(std::string_view format,
                                            const OptionValues& options) const override {
    const auto* const form = quadrant::given<std::string>(options, "form");
    if (format != "matmulnbits" || form == nullptr || *form != "behind") return {};
    return fail(ErrorCode::usage,
                "quantize: MatMulNBits has its scales in front: --format matmulnbits does not go "
                "with --form behind");
  }
};

}  // namespace

std::unique_ptr<SchemeCommand> make_weight_only(const SchemeEntry& entry) {
  return std::make_unique<WeightOnlyCommand>(entry);
}

}  // namespace quadrant::cli
