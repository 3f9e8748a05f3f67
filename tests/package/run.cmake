# Configures, builds and tests PROJECT, with the library installed or as a subdirectory. With the flags
# of the build that it is a test of, so that ccache has the library already.
file(REMOVE_RECURSE "${WORK}")

if(WAY STREQUAL "find_package")
  execute_process(COMMAND_ERROR_IS_FATAL ANY
    COMMAND "${CMAKE_COMMAND}" --install "${QUADRANT_BINARY}" --prefix "${WORK}/prefix")
  set(place "-DCMAKE_PREFIX_PATH=${WORK}/prefix")
else()
  set(place "-DQUADRANT_SOURCE=${QUADRANT_SOURCE}")
endif()

execute_process(COMMAND_ERROR_IS_FATAL ANY
  COMMAND "${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${PROJECT}" -B "${WORK}/build"
    "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
    "-DCMAKE_CXX_FLAGS=${FLAGS}"
    "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}"
    "-DQUADRANT_WERROR=${WERROR}"
    "-DCMAKE_UNITY_BUILD=${UNITY}"
    "-DCMAKE_UNITY_BUILD_BATCH_SIZE=${UNITY_BATCH_SIZE}"
    ${place} ${OPTIONS})
execute_process(COMMAND_ERROR_IS_FATAL ANY
  COMMAND "${CMAKE_COMMAND}" --build "${WORK}/build")
execute_process(COMMAND_ERROR_IS_FATAL ANY
  COMMAND "${CMAKE_CTEST_COMMAND}" --test-dir "${WORK}/build" --verbose --no-tests=error)
if(AFTER)
  execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND ${AFTER})
endif()
