// What a checked container calls when it is used wrongly. GCC 12's library has a function for it
// that GCC 11's has not, and wheels run with the library of the machine that they are installed on:
// the linker puts this one in its place.
#include <cstdio>
#include <cstdlib>

// NOLINTNEXTLINE(bugprone-reserved-identifier): the linker's --wrap makes the name
extern "C" [[noreturn]] void __wrap__ZSt21__glibcxx_assert_failPKciS0_S0_(const char* file,
                                                                          int line,
                                                                          const char* function,
                                                                          const char* condition) {
  (void)std::fprintf(stderr, "%s:%d: %s: assertion '%s' failed\n", file, line, function, condition);
  std::abort();
}
