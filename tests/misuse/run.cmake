# Precompiles HEADER where that is the SOURCE. Any other SOURCE must compile, and with MISUSE defined must not; then the
# compiler must give all the reasons that its first lines name: `// error: REASON`.
set(ENV{LC_ALL} C) # messages in English
separate_arguments(compile UNIX_COMMAND "${FLAGS}")
list(REMOVE_DUPLICATES INCLUDES)
list(TRANSFORM INCLUDES PREPEND -I)
list(PREPEND compile "${COMPILER}")
list(APPEND compile ${INCLUDES})

if(SOURCE STREQUAL HEADER)
  execute_process(COMMAND ${compile} -x c++-header "${HEADER}" -o "${HEADER}.gch" COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()
list(APPEND compile -include "${HEADER}" -fsyntax-only "${SOURCE}")

file(STRINGS "${SOURCE}" errors REGEX "^// error: ")
file(STRINGS "${SOURCE}" mistakes REGEX "^#if(n?)def MISUSE$")
if(NOT errors OR NOT mistakes)
  message(FATAL_ERROR "a first line `// error: REASON` and a mistake in `#ifdef MISUSE` are needed")
endif()

execute_process(COMMAND ${compile} RESULT_VARIABLE result ERROR_VARIABLE messages)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "without the mistake it must compile:\n${messages}")
endif()

execute_process(COMMAND ${compile} -DMISUSE RESULT_VARIABLE result ERROR_VARIABLE messages)
if(result EQUAL 0)
  message(FATAL_ERROR "it compiles in spite of the mistake")
endif()
foreach(reason IN LISTS errors)
  string(REPLACE "// error: " "" reason "${reason}")
  string(FIND "${messages}" "${reason}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "the compiler does not say `${reason}`:\n${messages}")
  endif()
endforeach()
