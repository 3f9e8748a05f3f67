// The command `quadrant`, as a function: for an executable of one's own. Link `quadrant::command`.
//
//   int main(int argc, char** argv) {
//     return quadrant::run_command(argc, argv, {my::power_of_two()});
//   }
#pragma once

#include <initializer_list>

#include "quadrant/recipe/scheme_table.hpp"

namespace quadrant::inline v0 {

/// Runs `quadrant` with the arguments of `main`, on the standard streams, and returns its exit
/// code. Every subcommand serves these schemes (null: the library's), and nothing else is to be
/// said of them. For programs that do nothing else: it takes over what happens at interrupts and at
/// reads of files that became shorter. Throws nothing.
[[nodiscard]] int run_command(int argc, const char* const* argv,
                              const SchemeTable* schemes = nullptr) noexcept;
/// The same with the library's schemes and these: those that cannot be added (`SchemeTable::add`)
/// are an error, which it prints.
[[nodiscard]] int run_command(int argc, const char* const* argv,
                              std::initializer_list<SchemeEntry> schemes) noexcept;

}  // namespace quadrant::inline v0
