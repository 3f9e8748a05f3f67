// The command `quadrant`, as a function: for an executable of one's own. Link `quadrant::command`.
//
//   int main(int argc, char** argv) {
//     quadrant::SchemeTable schemes;  // the library's
//     if (auto added = schemes.add(my::power_of_two()); !added) {
//       std::cerr << quadrant::to_string(added.error()) << '\n';
//       return 1;
//     }
//     return quadrant::run_command(argc, argv, &schemes);
//   }
#pragma once

#include "quadrant/recipe/scheme_table.hpp"

namespace quadrant::inline v0 {

/// Runs `quadrant` with the arguments of `main`, on the standard streams, and returns its exit
/// code. Every subcommand serves these schemes (null: the library's), and nothing else is to be
/// said of them. For programs that do nothing else: it takes over what happens at interrupts and at
/// reads of files that became shorter. Throws nothing.
[[nodiscard]] int run_command(int argc, const char* const* argv,
                              const SchemeTable* schemes = nullptr) noexcept;

}  // namespace quadrant::inline v0
