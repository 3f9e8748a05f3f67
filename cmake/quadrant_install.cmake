# Install and export: find_package(quadrant) gives quadrant::quadrant and one target a room.
include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY QUADRANT_ROOMS)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/quadrant")

set(shared OFF)
if(TARGET quadrant_shared)
  set(shared ON)
  set(libraries quadrant_shared)
  string(REPLACE "quadrant_" "" shared_rooms "${rooms};command")
  string(REPLACE ";" " " shared_rooms "${shared_rooms}")
else()
  set(libraries quadrant_library ${rooms})
  if(TARGET quadrant_cli)
    list(APPEND libraries quadrant_cli)
  endif()
  get_property(passes GLOBAL PROPERTY QUADRANT_MLIR_LIBRARIES)
  list(APPEND libraries ${passes})
endif()
install(TARGETS ${libraries}
  EXPORT quadrant
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(QUADRANT_BUILD_COMMAND AND TARGET quadrant)
  install(TARGETS quadrant RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT command)
endif()
if(TARGET quadrant_mpi_command)
  install(TARGETS quadrant_mpi_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
get_property(loaded_with_mlir GLOBAL PROPERTY QUADRANT_MLIR_LOADED)
if(loaded_with_mlir)
  install(TARGETS ${loaded_with_mlir} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/quadrant"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(EXPORT quadrant
  NAMESPACE quadrant::
  FILE quadrant-targets.cmake
  DESTINATION "${package_dir}")

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/quadrant-config.cmake.in"
  "${PROJECT_BINARY_DIR}/quadrant-config.cmake"
  INSTALL_DESTINATION "${package_dir}")
# Before 1.0 a new minor version may break its users.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/quadrant-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/quadrant-config.cmake"
  "${PROJECT_BINARY_DIR}/quadrant-config-version.cmake"
  DESTINATION "${package_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/quadrant")

include(quadrant_pkgconfig)
