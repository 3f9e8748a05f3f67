# Compile through ccache where there is one. Only at top level: an embedder decides for itself.
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(QUADRANT_CCACHE ccache)
  mark_as_advanced(QUADRANT_CCACHE)
  if(QUADRANT_CCACHE)
    # Two build folders with the same flags share what they compile, also those of two clones and of users with
    # another language: what it hashes are paths relative to the sources, and one locale.
    set(CMAKE_CXX_COMPILER_LAUNCHER env -u LC_ALL -u LC_CTYPE -u LC_MESSAGES LANG=C.UTF-8 CCACHE_NOHASHDIR=1
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" "${QUADRANT_CCACHE}")
  endif()
endif()
