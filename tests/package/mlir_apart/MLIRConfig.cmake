# MLIR as scripts/setup unpacks it: its own configuration names static libraries, which are left out there.
# MLIR_APART is its folder.
set(MLIR_INCLUDE_DIRS "${MLIR_APART}/include")
set(LLVM_ENABLE_RTTI ON)
foreach(name IN ITEMS MLIR LLVM)
  add_library(${name} SHARED IMPORTED)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION "${MLIR_APART}/lib/lib${name}.so")
endforeach()
