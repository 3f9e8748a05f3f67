# quadrant_hardening: what this project's own code is hardened with, after Debian's and the OpenSSF's
# recommendations for C++. Linked privately, so that no embedder inherits it. docs/platforms.md says what it
# costs.
option(QUADRANT_HARDENING "Harden what is built: stack protector, FORTIFY, full RELRO, CET" ${PROJECT_IS_TOP_LEVEL})

add_library(quadrant_hardening INTERFACE)
# The standard library checks indices: in the rooms that read files and print. The core's loops over nodes and
# numbers would take more instructions, and so would hot ones elsewhere: docs/platforms.md.
add_library(quadrant_checked_containers INTERFACE)

if(QUADRANT_HARDENING)
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES CXX)

  set(optimised "$<CONFIG:Release,RelWithDebInfo,MinSizeRel>")
  target_compile_options(quadrant_hardening INTERFACE
    -fstack-protector-strong
    -fstack-clash-protection
    # The C library's checks need an optimizer; a distribution's own flags may have defined the macro.
    "$<${optimised}:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    target_compile_options(quadrant_hardening INTERFACE -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    target_compile_options(quadrant_hardening INTERFACE -mbranch-protection=standard)
  endif()
  target_link_options(quadrant_hardening INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
  target_compile_definitions(quadrant_checked_containers INTERFACE _GLIBCXX_ASSERTIONS)
endif()
