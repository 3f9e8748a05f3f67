// error: no_kernel_has_this_name
// error: no_kernel_takes_what_is_excepted
// error: an_exception_needs_a_reason
#include "targets/kernels/litert_rules.hpp"

using namespace quadrant;
using target_kernels::KernelRule;
using target_kernels::litert::of_kernels;

constexpr auto rescaling = target_kernels::ParameterFamily::rescaling;
constexpr KernelRule narrow =
    of_kernels(rescaling, "exp", "EXP", {.except = {{ElementType::int16}, "of 16 bits it is off"}});
static_assert(narrow.storages.contains(ElementType::int8));
static_assert(!narrow.storages.contains(ElementType::int16));

#ifdef MISUSE
constexpr KernelRule misspelled = of_kernels(rescaling, "exp", "EXPO");
constexpr KernelRule unheard_of =
    of_kernels(rescaling, "exp", "EXP", {.except = {{ElementType::uint8}, "of 8 bits it is off"}});
constexpr KernelRule silent =
    of_kernels(rescaling, "exp", "EXP", {.except = {{ElementType::int16}}});
#endif
