# Everything the build looks for. cmake/quadrant-config.cmake.in repeats what users of the installed
# library need.
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW) # Boost's own package file
endif()

find_package(Boost 1.74 REQUIRED) # headers only: BGL's own target would link some 30 libraries
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(range-v3 REQUIRED)
find_package(tl-expected REQUIRED)

if(NOT QUADRANT_CORE_ONLY)
  find_package(Eigen3 3.4 REQUIRED NO_MODULE)
  find_package(nlohmann_json REQUIRED)
  find_package(pugixml REQUIRED)
  find_path(QUADRANT_PROTOZERO protozero/pbf_reader.hpp REQUIRED) # headers alone, no package file
  mark_as_advanced(QUADRANT_PROTOZERO)
  add_library(quadrant_protozero INTERFACE IMPORTED)
  target_include_directories(quadrant_protozero INTERFACE "${QUADRANT_PROTOZERO}")
  find_path(QUADRANT_XXHASH xxhash.h REQUIRED) # headers alone, as above
  mark_as_advanced(QUADRANT_XXHASH)
  find_program(QUADRANT_FLATC flatc REQUIRED)
  find_path(QUADRANT_FLATBUFFERS flatbuffers/flatbuffers.h REQUIRED) # headers alone, as above
  mark_as_advanced(QUADRANT_FLATC QUADRANT_FLATBUFFERS)
  add_library(quadrant_flatbuffers INTERFACE IMPORTED)
  target_include_directories(quadrant_flatbuffers INTERFACE "${QUADRANT_FLATBUFFERS}")
  find_package(PkgConfig REQUIRED) # for those whose package file is missing, or wants more
  pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
  pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
  find_package(TBB REQUIRED)
  if(QUADRANT_MPI)
    set(how QUIET)
    if(NOT QUADRANT_MPI STREQUAL "AUTO")
      set(how REQUIRED)
    endif()
    set(MPI_CXX_SKIP_MPICXX ON) # the C interface is all that is used
    find_package(MPI ${how} COMPONENTS CXX)
    # A run-time library without headers is found, too.
    find_path(QUADRANT_MPI_HEADER mpi.h PATHS ${MPI_CXX_INCLUDE_DIRS} ${MPI_CXX_HEADER_DIR} NO_DEFAULT_PATH)
    mark_as_advanced(QUADRANT_MPI_HEADER)
    if(NOT QUADRANT_MPI_HEADER AND NOT QUADRANT_MPI STREQUAL "AUTO")
      message(FATAL_ERROR "QUADRANT_MPI is ${QUADRANT_MPI}, and mpi.h is nowhere: libopenmpi-dev has it")
    endif()
  endif()
endif()

if(QUADRANT_BUILD_COMMAND OR QUADRANT_BUILD_TESTS)
  find_package(Threads REQUIRED) # the library itself starts none
endif()

if(QUADRANT_BUILD_COMMAND)
  find_package(CLI11 REQUIRED)
endif()
