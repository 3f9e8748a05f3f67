# BUILD_SHARED_LIBS: all rooms, and the command, as one library, libquadrant.so. There is one of it in a process, so
# that plug-ins and the command mean the same schemes; the rooms stay static, and are not installed.
get_property(rooms GLOBAL PROPERTY QUADRANT_ROOMS)
if(TARGET quadrant_cli)
  list(APPEND rooms quadrant_cli)
endif()

add_library(quadrant_shared SHARED)
foreach(room IN LISTS rooms)
  get_target_property(kind ${room} TYPE)
  if(kind STREQUAL "STATIC_LIBRARY")
    target_sources(quadrant_shared PRIVATE $<TARGET_OBJECTS:${room}>)
    target_link_libraries(quadrant_shared PRIVATE ${room}) # for the libraries that it needs
  endif()
endforeach()

set(map "${PROJECT_BINARY_DIR}/quadrant.map")
configure_file("${PROJECT_SOURCE_DIR}/cmake/quadrant.map" "${map}" @ONLY)
target_link_options(quadrant_shared PRIVATE
  "-Wl,--version-script=${map}" -Wl,-Bsymbolic-functions -Wl,-z,defs -Wl,--as-needed)
target_link_libraries(quadrant_shared PRIVATE $<BUILD_INTERFACE:quadrant_hardening>)
set_target_properties(quadrant_shared PROPERTIES
  EXPORT_NAME quadrant
  LINKER_LANGUAGE CXX
  LINK_DEPENDS "${map}"
  OUTPUT_NAME quadrant
  VERSION ${PROJECT_VERSION}
  # Before 1.0 a new minor version may break its users.
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

target_compile_features(quadrant_shared INTERFACE cxx_std_20)
target_include_directories(quadrant_shared INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
get_property(public_libraries GLOBAL PROPERTY QUADRANT_PUBLIC_LIBRARIES)
list(REMOVE_DUPLICATES public_libraries)
target_link_libraries(quadrant_shared INTERFACE ${public_libraries})
