// Schemes of one's own in a shared library, for `quadrant --plugin libmy_scheme.so` and programs
// that load such libraries. docs/custom_schemes.md leads there.
//
//   QUADRANT_PLUGIN([](quadrant::SchemeTable& schemes) { return schemes.add(my::power_of_two()); })
#pragma once

#include <cstdint>
#include <string>

#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/version.hpp"

#define QUADRANT_DETAIL_TEXT_OF(value) #value
#define QUADRANT_DETAIL_TEXT(value) QUADRANT_DETAIL_TEXT_OF(value)

#if defined(__clang__)
#define QUADRANT_DETAIL_COMPILER "clang " QUADRANT_DETAIL_TEXT(__clang_major__)
#else
#define QUADRANT_DETAIL_COMPILER "gcc " QUADRANT_DETAIL_TEXT(__GNUC__)
#endif
#if defined(_LIBCPP_VERSION)
#define QUADRANT_DETAIL_STANDARD_LIBRARY "libc++ " QUADRANT_DETAIL_TEXT(_LIBCPP_ABI_VERSION)
#else
#define QUADRANT_DETAIL_STANDARD_LIBRARY \
  "libstdc++ with cxx11 " QUADRANT_DETAIL_TEXT(_GLIBCXX_USE_CXX11_ABI)
#endif
/// What two libraries must have in common to hand each other C++ objects: the compiler, its ABI,
/// the standard library's.
#define QUADRANT_ABI_TAG   \
  QUADRANT_DETAIL_COMPILER \
  " abi " QUADRANT_DETAIL_TEXT(__GXX_ABI_VERSION) ", " QUADRANT_DETAIL_STANDARD_LIBRARY

namespace quadrant::inline v0 {

/// The copy of the library in which it is called: another address in another copy.
[[nodiscard]] const void* library_copy() noexcept;

/// What a plug-in exports, under the C name `quadrant_plugin`. It is read from the top: what does
/// not match is not looked into any further.
struct Plugin {
  static constexpr std::uint32_t current_layout = 1;

  std::uint32_t layout = current_layout;  ///< of this struct
  const char* version = QUADRANT_VERSION_STRING;
  const char* abi = QUADRANT_ABI_TAG;
  const void* (*library)() noexcept = library_copy;
  Expected<void> (*add)(SchemeTable& schemes) = nullptr;
};

/// Loads a plug-in, and adds its schemes to the table: all of them, or none. It stays loaded until
/// the process ends, since entries refer to it. Runs code of the file, which must be trusted: its
/// initializers before there is an error to tell.
///
/// `usage` where there is no such file, or where this library is linked statically: a plug-in would
/// bring a second one. `invalid_model` for a file that is no shared library, lacks a symbol, is no
/// plug-in, was built for another version or by another compiler, or has a quadrant of its own
/// inside. Else what its function says. Not to be called by two threads with one table.
[[nodiscard]] Expected<void> load_plugin(const std::string& path, SchemeTable& schemes);

}  // namespace quadrant::inline v0

/// Makes this shared library a plug-in, at namespace level, once. What is in the brackets converts
/// to `Expected<void> (*)(SchemeTable&)`.
#define QUADRANT_PLUGIN(...)                                                              \
  extern "C" {                                                                            \
  extern const ::quadrant::Plugin quadrant_plugin __attribute__((visibility("default"))); \
  const ::quadrant::Plugin quadrant_plugin{.add = __VA_ARGS__};                           \
  }
