// Options as one types them, where the library names their keys.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace quadrant::cli {

/// Messages and summaries of the library name keys of options in backquotes: `block_size` becomes
/// --block-size, if `is_option` says that there is that one, and stays else.
[[nodiscard]] std::string typed_keys(std::string_view text,
                                     const std::function<bool(const std::string&)>& is_option);

}  // namespace quadrant::cli
