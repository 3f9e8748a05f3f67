#include "engine/phases/finding.hpp"

#include <cstdint>
#include <utility>

#include "ir/tensor_bytes.hpp"

namespace quadrant::inline v0 {

Expected<void> Finding::write(ByteWriter& out) const {
  out.number(static_cast<std::uint8_t>(refusal.has_value()));
  out.text(refusal.value_or(std::string()));
  out.number(static_cast<std::uint64_t>(kept.size()));
  for (const Constant& constant : kept) {
    out.number(static_cast<std::uint8_t>(constant ? 1 : 0));
    if (!constant) continue;
    QUADRANT_TRY(const ConstantBytes contents, constant.read());
    quadrant::write(out, {constant.element(), constant.shape(), contents.bytes()});
  }
  return {};
}

Finding Finding::read(ByteReader& in) {
  Finding found;
  const bool is_refused = in.number<std::uint8_t>() != 0;
  std::string why = in.text();
  if (is_refused) found.refusal = std::move(why);
  for (auto count = in.number<std::uint64_t>(); count != 0 && !in.failed(); --count) {
    if (in.number<std::uint8_t>() == 0) {
      found.kept.emplace_back();
      continue;
    }
    TensorBytes read = read_tensor(in);
    if (in.failed()) break;
    found.kept.push_back(Constant::from_bytes(read.element, std::move(read.shape),
                                              {read.bytes.begin(), read.bytes.end()}));
  }
  return found;
}

}  // namespace quadrant::inline v0
