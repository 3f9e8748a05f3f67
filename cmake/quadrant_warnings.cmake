# The warnings of this project's own code: linked privately, so that no embedder inherits them.
add_library(quadrant_warnings INTERFACE)

target_compile_options(quadrant_warnings INTERFACE
  -Wall -Wextra -Wpedantic
  -Wcast-align
  -Wcast-qual
  -Wconversion
  -Wextra-semi
  -Wformat=2
  -Wimplicit-fallthrough
  -Wnon-virtual-dtor
  -Wold-style-cast
  -Woverloaded-virtual
  -Wshadow
  -Wsign-conversion
  -Wundef
  # `{.file = path}` leaves the other members at their defaults on purpose.
  -Wno-missing-field-initializers
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond;-Wlogical-op;-Wsuggest-override>
  $<$<CXX_COMPILER_ID:Clang>:-Wsuggest-override;-Wunreachable-code;-Wno-missing-designated-field-initializers>
  # std::stable_sort of libstdc++ 12 calls a function that it deprecates itself.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
  # GCC 12 warns of its own std::string where it optimises (bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # Names at file scope do not hide those of other sources in the same batch.
  $<$<BOOL:${CMAKE_UNITY_BUILD}>:-Wno-shadow>
  $<$<BOOL:${QUADRANT_WERROR}>:-Werror>)

# Code that runs before main() vanishes or runs twice, depending on how a library is linked: ours has none, and Clang
# says so. Tests and programs may.
add_library(quadrant_no_constructors INTERFACE)
target_compile_options(quadrant_no_constructors INTERFACE
  $<$<CXX_COMPILER_ID:Clang>:-Wglobal-constructors>)
