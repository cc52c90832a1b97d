// Compiled once for each instruction set, with MM_ISA its name: the only file that holds vector code.
#include "kernel_code.hpp"
#include "pair_code.hpp"
#include "vector_table.hpp"

#define MM_JOIN_(a, b) a##b
#define MM_JOIN(a, b) MM_JOIN_(a, b)
#define MM_QUOTE_(a) #a
#define MM_QUOTE(a) MM_QUOTE_(a)

namespace mm {

extern const VectorTable MM_JOIN(table_, MM_ISA);
constinit const VectorTable MM_JOIN(table_, MM_ISA) = {
    MM_QUOTE(MM_ISA),        kernel_functions<float>(), kernel_functions<double>(),
    pair_functions<float>(), pair_functions<double>(),
};

}  // namespace mm
