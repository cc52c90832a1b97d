// Short-lived threads over a range: nothing survives the call, so fork, spawn and nested use need no care.
#pragma once

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "vector_table.hpp"

namespace mm {

/// body(begin, end) over [0, count) in at most `threads` pieces, each a multiple of `grain` but the last.
template <class Body>
void parallel(int threads, index count, index grain, Body&& body) {
  index const grains = (count + grain - 1) / grain;
  index const pieces = std::max<index>(1, std::min<index>(threads, grains));
  if (pieces == 1) {
    if (count > 0) body(index(0), count);
    return;
  }
  std::exception_ptr failure;
  std::mutex guard;
  auto piece = [&](index p) {
    index const begin = grains * p / pieces * grain, end = std::min(count, grains * (p + 1) / pieces * grain);
    try {
      body(begin, end);
    } catch (...) {
      std::lock_guard<std::mutex> lock(guard);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(std::size_t(pieces - 1));
  index started = 1;
  try {
    for (; started < pieces; ++started) others.emplace_back(piece, started);
  } catch (...) {
    // No more threads, or no memory for one, to be had: the pieces that are left are done here.
  }
  piece(0);
  for (index p = started; p < pieces; ++p) piece(p);
  for (auto& t : others) t.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace mm
