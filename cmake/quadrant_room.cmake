# quadrant_compile_settings(target): what every target of this project is compiled with.
function(quadrant_compile_settings target)
  target_link_libraries(${target} PRIVATE
    $<BUILD_INTERFACE:quadrant_warnings> $<BUILD_INTERFACE:quadrant_hardening>)
  # Quantized codes must not depend on the machine: a multiply and an add are fused only where the
  # source says so.
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  # __FILE__, which the tests' assertions hold, begins at the root of the repository: so the compiler cache
  # serves other clones.
  target_compile_options(${target} PRIVATE "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON) # the static rooms also go into plug-ins
endfunction()

# One room of the library: static library quadrant_<name>, alias quadrant::<name>, made of all
# sources of the current folder.
#
#   quadrant_room(ir
#     [CORE]                           needs neither RTTI nor exceptions; containers are not checked
#     [HOT]                            most of the time is spent here: containers are not checked
#     [INTERNAL]                       not part of quadrant::quadrant, not installed
#     [HEADERS io/onnx.hpp io/onnx/*.hpp]  in include/quadrant/; default: <name>/*.hpp
#     [EXCLUDE main.cpp]               sources that belong to another target
#     [SOURCES ops/relu.cpp]           sources in folders below
#     [DEPENDS support]                rooms below, which its public headers may include
#     [PUBLIC Boost::headers]          libraries that its public headers include
#     [PRIVATE fmt::fmt])              libraries that only its sources include
function(quadrant_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CORE;HOT;INTERNAL" ""
    "HEADERS;EXCLUDE;SOURCES;DEPENDS;PUBLIC;PRIVATE")
  set(target quadrant_${name})

  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  foreach(source IN LISTS arg_EXCLUDE)
    list(REMOVE_ITEM sources "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
  endforeach()

  list(APPEND sources ${arg_SOURCES})

  # A room may consist of headers alone.
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    quadrant_compile_settings(${target})
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:quadrant_no_constructors>)
    if(BUILD_SHARED_LIBS) # cmake/quadrant.map says what the one library shows; within it, calls are direct
      set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET default)
      target_compile_options(${target} PRIVATE -fno-semantic-interposition)
    endif()
    if(NOT arg_HOT AND NOT arg_CORE)
      target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:quadrant_checked_containers>)
    endif()
    # For private headers: "io/onnx/wire.hpp" from src/, "weight_only/axes.hpp" from methods/.
    target_include_directories(${target} PRIVATE
      "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/methods")
    target_link_libraries(${target} PRIVATE ${arg_PRIVATE})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(quadrant::${name} ALIAS ${target})

  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope}
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  list(TRANSFORM arg_DEPENDS PREPEND quadrant::)
  target_link_libraries(${target} ${scope} ${arg_DEPENDS} ${arg_PUBLIC})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})

  # For the tests: which headers are this room's, and which archives are the core.
  if(NOT arg_HEADERS)
    set(arg_HEADERS "${name}/*.hpp")
  endif()
  set_target_properties(${target} PROPERTIES QUADRANT_HEADERS "${arg_HEADERS}")
  if(NOT arg_INTERNAL)
    set_property(GLOBAL APPEND PROPERTY QUADRANT_ROOMS ${target})
    set_property(GLOBAL APPEND PROPERTY QUADRANT_PUBLIC_LIBRARIES ${arg_PUBLIC})
  endif()
  if(arg_CORE AND sources) # a room of headers alone has no archive
    set_property(GLOBAL APPEND PROPERTY QUADRANT_CORE_ARCHIVES ${target})
  endif()
endfunction()
