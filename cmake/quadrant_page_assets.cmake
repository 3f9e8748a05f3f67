# quadrant_page_assets(OUT): writes OUT, a source with page.css, chart.css and page.js of the current
# folder as text, and the hashes by which a page's content policy names them.

# `sha256-` and the base64 of a text's SHA-256.
function(quadrant_policy_hash text result)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(SHA256 digits "${text}")
  set(hash "sha256-")
  # 32 bytes are ten groups of three and one of two, which gets four zero bits and one `=`.
  foreach(group RANGE 10)
    math(EXPR place "${group} * 6")
    string(SUBSTRING "${digits}00" ${place} 6 bytes)
    foreach(shift IN ITEMS 18 12 6 0)
      math(EXPR index "(0x${bytes} >> ${shift}) & 63")
      string(SUBSTRING "${alphabet}" ${index} 1 character)
      string(APPEND hash "${character}")
    endforeach()
  endforeach()
  string(REGEX REPLACE ".$" "=" hash "${hash}")
  set(${result} "${hash}" PARENT_SCOPE)
endfunction()

function(quadrant_page_assets out)
  foreach(asset IN ITEMS page.css chart.css page.js)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
      "${CMAKE_CURRENT_SOURCE_DIR}/${asset}")
    file(READ "${CMAKE_CURRENT_SOURCE_DIR}/${asset}" text)
    string(MAKE_C_IDENTIFIER "${asset}" name)
    set(${name} "${text}")
  endforeach()
  string(APPEND page_css "${chart_css}") # charts stand in pages, too
  quadrant_policy_hash("${page_css}" page_css_hash)
  quadrant_policy_hash("${page_js}" page_js_hash)
  file(CONFIGURE OUTPUT "${out}" @ONLY CONTENT [==[
// Made by cmake/quadrant_page_assets.cmake.
#include "report/page_assets.hpp"

namespace quadrant::inline v0 {

PageAsset page_style() noexcept {
  return {R"==asset==(@page_css@)==asset==", "@page_css_hash@"};
}

PageAsset page_script() noexcept {
  return {R"==asset==(@page_js@)==asset==", "@page_js_hash@"};
}

std::string_view chart_style() noexcept {
  return R"==asset==(@chart_css@)==asset==";
}

}  // namespace quadrant::inline v0
]==])
endfunction()
