#include "cli/typed_keys.hpp"

#include "quadrant/recipe/scheme_table.hpp"

namespace quadrant::cli {

std::string typed_keys(std::string_view text,
                       const std::function<bool(const std::string&)>& is_option) {
  constexpr char quote = '`';
  std::string typed;
  for (std::size_t begin = text.find(quote); begin != std::string_view::npos;
       begin = text.find(quote)) {
    const std::size_t end = text.find(quote, begin + 1);
    if (end == std::string_view::npos) break;
    const std::string option = "--" + option_of(text.substr(begin + 1, end - begin - 1));
    typed += text.substr(0, begin);
    // What is none may end where another begins.
    typed += is_option(option) ? option : std::string(text.substr(begin, end - begin));
    text.remove_prefix(is_option(option) ? end + 1 : end);
  }
  return typed.append(text);
}

}  // namespace quadrant::cli
