# Read by CPack for each generator.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_ALL command)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
endif()
