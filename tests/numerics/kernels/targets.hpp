// Every kind of processor that kernels are compiled for, as far as this one can be it.
#pragma once

#include <doctest/doctest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdint>
#include <string>

namespace quadrant::test {

/// Calls `body()` once for each of them, the plain one, without vectors, included. Not while other
/// threads use kernels.
template <class Body>
void for_each_target(Body body) {
  constexpr std::int64_t plain = HWY_STATIC_TARGET;
  const std::int64_t all = (hwy::SupportedTargets() & HWY_ATTAINABLE_TARGETS) | plain;
  int tried = 0;
  for (std::int64_t left = all; left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    const std::string name = hwy::TargetName(target);
    CAPTURE(name);
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body();
    ++tried;
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  CHECK(tried >= 1);
}

}  // namespace quadrant::test
