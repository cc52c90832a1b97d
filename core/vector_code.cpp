// Compiled once for each instruction set, with MM_ISA its name: the only file that holds vector code.
#include "accumulate_code.hpp"
#include "integer_code.hpp"
#include "kernel_code.hpp"
#include "pair_code.hpp"
#include "vector_table.hpp"

namespace {

template <class T>
constexpr mm::KernelTable<T> kernel_functions() {
  return {panel_width<T>, panel_rows<T>, gather_rows<T>, lanes<T>,     panel_norms<T>,
          row_norms<T>,   diagonal<T>,   finish_rows<T>, code_rows<T>, accumulate<T>};
}

}  // namespace

#define MM_JOIN_(a, b) a##b
#define MM_JOIN(a, b) MM_JOIN_(a, b)
#define MM_QUOTE_(a) #a
#define MM_QUOTE(a) MM_QUOTE_(a)

namespace mm {

extern const VectorTable MM_JOIN(table_, MM_ISA);
constinit const VectorTable MM_JOIN(table_, MM_ISA) = {
    MM_QUOTE(MM_ISA),
    kernel_functions<float>(),
    kernel_functions<double>(),
    pair_functions<float>(),
    pair_functions<double>(),
    code_group,
    code_panel,
};

}  // namespace mm
