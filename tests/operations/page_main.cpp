// operations_page: prints docs/operations.md.
#include <fmt/format.h>

#include "page.hpp"

int main() {
  using namespace quadrant::test;
  const Status status = status_of_operations();
  const Explanation explanation = explain(status.rows, reasons());
  fmt::print("{}", page_of(status, explanation));
  for (const auto& problems : {status.problems, explanation.problems}) {
    for (const std::string& problem : problems) fmt::print(stderr, "{}\n", problem);
  }
  return status.problems.empty() && explanation.problems.empty() ? 0 : 1;
}
