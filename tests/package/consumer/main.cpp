#include <cstdio>

#include "quadrant/version.hpp"

int main() {
  const quadrant::Version version = quadrant::version();
  std::printf("quadrant %d.%d.%d\n", version.major, version.minor, version.patch);
}
