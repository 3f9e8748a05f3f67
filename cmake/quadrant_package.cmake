# What goes along with the command, and packages by CPack: a .deb of the command, an archive of all that is installed.
# scripts/release makes them so that others get the same bytes.

# Man pages and shell completion, made by the command itself.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(TARGET quadrant AND Python3_Interpreter_FOUND AND NOT CMAKE_CROSSCOMPILING)
  set(share "${PROJECT_BINARY_DIR}/share")
  add_custom_command(OUTPUT "${share}/made"
    COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/scripts/command_pages.py" $<TARGET_FILE:quadrant> "${share}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${share}/made"
    DEPENDS quadrant "${PROJECT_SOURCE_DIR}/scripts/command_pages.py"
    COMMENT "Man pages and shell completion")
  add_custom_target(quadrant_pages ALL DEPENDS "${share}/made")
  set(zsh_folder zsh/site-functions)
  if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(zsh_folder zsh/vendor-completions) # where Debian's looks
  endif()
  install(DIRECTORY "${share}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}" COMPONENT command OPTIONAL)
  install(DIRECTORY "${share}/zsh/site-functions/" DESTINATION "${CMAKE_INSTALL_DATADIR}/${zsh_folder}"
    COMPONENT command OPTIONAL)
  foreach(folder IN ITEMS bash-completion fish)
    install(DIRECTORY "${share}/${folder}" DESTINATION "${CMAKE_INSTALL_DATADIR}" COMPONENT command OPTIONAL)
  endforeach()
endif()

set(CPACK_PACKAGE_NAME quadrant)
set(CPACK_SYSTEM_NAME "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_PACKAGE_VENDOR "The Quadrant project")
set(CPACK_PACKAGE_CONTACT "The Quadrant project <quadrant@invalid.invalid>") # has no mail address
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/cmake/quadrant_package_of.cmake")

# Debian's: the command alone, by what its libraries' packages are called.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME quadrant)
set(CPACK_DEBIAN_COMMAND_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "The command quadrant reads ONNX, TFLite and OpenVINO models, decides which
operations and weights become integers or other small number formats, writes
the models, and says why.")
set(debian "${PROJECT_BINARY_DIR}/debian") # what scripts/release puts there
install(DIRECTORY "${debian}/doc/" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/quadrant" COMPONENT command OPTIONAL)
install(FILES "${debian}/overrides" DESTINATION "${CMAKE_INSTALL_DATADIR}/lintian/overrides" RENAME quadrant
  COMPONENT command OPTIONAL)

include(CPack)
