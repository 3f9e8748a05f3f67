# quadrant.pc, for builds without CMake: of the one shared library, or of the rooms and all that these link.
set(pc_requires "")
if(TARGET quadrant_shared)
  set(pc_libs "-lquadrant")
else()
  set(pc_libs "")
  set(without_mlir ${libraries}) # which whoever links its passes has to link, too
  list(REMOVE_ITEM without_mlir ${passes})
  foreach(library IN LISTS without_mlir)
    get_target_property(kind ${library} TYPE)
    if(kind STREQUAL "STATIC_LIBRARY")
      string(APPEND pc_libs " -l${library}")
    endif()
  endforeach()
  set(pc_libs "-Wl,--start-group${pc_libs} -Wl,--end-group")
  foreach(library IN LISTS CMAKE_CXX_IMPLICIT_LINK_LIBRARIES) # a C compiler links them, too
    string(APPEND pc_libs " -l${library}")
  endforeach()
  if(QUADRANT_CORE_ONLY)
    set(pc_requires "fmt libhwy")
  else()
    set(pc_requires "fmt libhwy pugixml libzip re2 tbb")
    string(APPEND pc_libs " -l${CMAKE_DL_LIBS}")
  endif()
endif()
file(RELATIVE_PATH to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" to_prefix "${to_prefix}")
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/quadrant.pc" @ONLY CONTENT [==[
prefix=${pcfiledir}/@to_prefix@
includedir=${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
libdir=${prefix}/@CMAKE_INSTALL_LIBDIR@

Name: quadrant
Description: @PROJECT_DESCRIPTION@
Version: @PROJECT_VERSION@
Requires: @pc_requires@
Cflags: -I${includedir}
Libs: -L${libdir} @pc_libs@
]==])
install(FILES "${PROJECT_BINARY_DIR}/quadrant.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
