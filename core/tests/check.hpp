// What the tests of the core share: EXPECT(condition) or EXPECT(condition, shown) names what does not hold.
#pragma once

#include <cstdio>
#include <string>

namespace mm::check {

inline int failures = 0;

inline void fail(const char* condition, int line, const std::string& shown = "") {
  std::fprintf(stderr, "line %d: %s [%s]\n", line, condition, shown.c_str());
  ++failures;
}

/// The exit status of a test, and how many checks failed.
inline int status() {
  if (failures > 0) std::fprintf(stderr, "%d checks failed\n", failures);
  return failures > 0;
}

}  // namespace mm::check

#define EXPECT(condition, ...)                                                          \
  do {                                                                                  \
    if (!(condition)) mm::check::fail(#condition, __LINE__ __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)
