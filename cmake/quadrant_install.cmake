# Install and export: find_package(quadrant) gives quadrant::quadrant and one target a room.
include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY QUADRANT_ROOMS)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/quadrant")

install(TARGETS quadrant_library ${rooms}
  EXPORT quadrant
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(QUADRANT_BUILD_COMMAND AND TARGET quadrant)
  install(TARGETS quadrant RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/quadrant"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp")
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
