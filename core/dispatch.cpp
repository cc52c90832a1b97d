// Picks the vector code: the widest that the processor runs, or what the environment variable MAXMARGIN_ISA names.
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "vector_table.hpp"

namespace mm {

#if defined(MM_X86)
extern const VectorTable table_v2, table_v3, table_v4, table_v4_vnni;

namespace {
bool runs_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}
bool runs_v4() {
  return runs_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
}
bool runs_v4_vnni() { return runs_v4() && __builtin_cpu_supports("avx512vnni"); }

const VectorTable& widest() {
  return runs_v4_vnni() ? table_v4_vnni : runs_v4() ? table_v4 : runs_v3() ? table_v3 : table_v2;
}

const VectorTable& chosen() {
  __builtin_cpu_init();
  const char* pinned = std::getenv("MAXMARGIN_ISA");
  std::string const name = pinned ? pinned : "";
  if (name.empty()) return widest();
  struct {
    const char* name;
    const VectorTable& table;
    bool runs;
  } const choices[] = {{"x86-64-v2", table_v2, true},
                       {"x86-64-v3", table_v3, runs_v3()},
                       {"x86-64-v4", table_v4, runs_v4()},
                       {"x86-64-v4_vnni", table_v4_vnni, runs_v4_vnni()}};
  for (auto const& choice : choices) {
    std::string const full = choice.name;
    if (name != full && name != full.substr(7)) continue;
    if (!choice.runs)
      throw std::runtime_error("MAXMARGIN_ISA=" + name + " names instructions that this processor lacks.");
    return choice.table;
  }
  throw std::runtime_error("MAXMARGIN_ISA=" + name + " is not one of x86-64-v2, x86-64-v3, x86-64-v4, x86-64-v4_vnni.");
}
}  // namespace
#else
extern const VectorTable table_native;

namespace {
const VectorTable& chosen() {
  const char* pinned = std::getenv("MAXMARGIN_ISA");
  if (pinned && *pinned && std::string(pinned) != "native")
    throw std::runtime_error("MAXMARGIN_ISA=" + std::string(pinned) + " is not known here; only native is built.");
  return table_native;
}
}  // namespace
#endif

const VectorTable& vector_table() {
  static const VectorTable& table = chosen();
  return table;
}

template <>
const KernelTable<float>& kernel_table<float>() {
  return vector_table().kernel32;
}
template <>
const KernelTable<double>& kernel_table<double>() {
  return vector_table().kernel64;
}
template <>
const PairTable<float>& pair_table<float>() {
  return vector_table().pair32;
}
template <>
const PairTable<double>& pair_table<double>() {
  return vector_table().pair64;
}

}  // namespace mm
