// The schemes that the command offers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quadrant/engine/registry.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::cli {

/// The options of all schemes; each reads its own.
struct SchemeOptions {
  int bits = 8;
  std::string symmetry = "symmetric";  ///< or `signed-scale`, `asymmetric`
  std::string
      granularity;  ///< `tensor`, `channel`, `block`; empty: `channel`, or `block` with a size
  std::optional<std::int64_t> block_size;
  std::string clip;                ///< `absmax`, `minmax`, `mse`; empty: the scheme's default
  std::string scales = "float32";  ///< or `float16`
  std::string form = "front";      ///< or `behind`, `fewest`
};

struct SchemeEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view options;  ///< a line for each
  Expected<Registry> (*make)(const SchemeOptions& options);
};

/// By name.
[[nodiscard]] std::span<const SchemeEntry> schemes() noexcept;

/// The scheme of that name, `-` and `_` being the same; an unknown one is a `usage` error with near
/// names.
[[nodiscard]] Expected<const SchemeEntry*> find_scheme(std::string_view name);

}  // namespace quadrant::cli
