// An embedder without exceptions: it brings boost::throw_exception, as Boost asks for.
#include <boost/throw_exception.hpp>
#include <cstdlib>
#include <exception>

#include "quadrant/version.hpp"

namespace boost {

void throw_exception(const std::exception& /*error*/) { std::abort(); }
void throw_exception(const std::exception& /*error*/, const boost::source_location& /*place*/) {
  std::abort();
}

}  // namespace boost

int main() {
  return quadrant::version() == quadrant::Version{QUADRANT_VERSION_MAJOR, QUADRANT_VERSION_MINOR,
                                                  QUADRANT_VERSION_PATCH}
             ? EXIT_SUCCESS
             : EXIT_FAILURE;
}
