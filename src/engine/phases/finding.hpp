// What one node's `examine` found, to be told to other ranks, too.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quadrant/engine/declare/method.hpp"
#include "quadrant/ir/constant.hpp"
#include "support/byte_stream.hpp"

namespace quadrant::inline v0 {

struct Finding final : DataContext {
  using DataContext::DataContext;

  void keep(Constant computed) override { kept.push_back(std::move(computed)); }
  void refuse(std::string why) override { refusal = std::move(why); }

  /// Contents are read; their error is handed on. Not the finding's own error.
  [[nodiscard]] Expected<void> write(ByteWriter& out) const;
  /// Of what a rank of this program wrote; `in` has failed where it is not that.
  [[nodiscard]] static Finding read(ByteReader& in);

  std::vector<Constant> kept;
  std::optional<std::string> refusal;
  std::optional<Error> error;
};

}  // namespace quadrant::inline v0
