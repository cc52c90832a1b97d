#include "arena.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mm {

namespace {

constexpr std::size_t small_page = 4096, huge_page = std::size_t(1) << 21;
/// A kept block serves for a request of at least this share of it.
constexpr double fitting_share = 0.5;

struct Block {
  void* memory;
  std::size_t bytes;
};

struct Kept {
  std::mutex guard;
  std::vector<Block> blocks;
};

Kept& kept() {
  static Kept* const all = new Kept;  // never destroyed: arenas may outlive every other object
  return *all;
}

void* fresh(std::size_t bytes) {
  std::size_t const page = bytes >= huge_page ? huge_page : small_page;
  void* block = std::aligned_alloc(page, bytes);
  if (!block && release_blocks() > 0) block = std::aligned_alloc(page, bytes);
  if (!block) throw std::bad_alloc();
#if defined(__linux__)
  if (bytes >= huge_page) madvise(block, bytes, MADV_HUGEPAGE);  // advice: where it fails, pages stay small
#endif
  return block;
}

}  // namespace

std::pair<void*, std::size_t> take_block(std::size_t bytes) {
  std::size_t const page = bytes >= huge_page ? huge_page : small_page;
  bytes = std::max(page, (bytes + page - 1) / page * page);
  if (bytes >= huge_page) {
    std::lock_guard<std::mutex> const lock(kept().guard);
    auto& blocks = kept().blocks;
    auto best = blocks.end();
    for (auto b = blocks.begin(); b != blocks.end(); ++b)
      if (b->bytes >= bytes && double(bytes) >= fitting_share * double(b->bytes) &&
          (best == blocks.end() || b->bytes < best->bytes))
        best = b;
    if (best != blocks.end()) {
      Block const found = *best;
      blocks.erase(best);
      return {found.memory, found.bytes};
    }
  }
  return {fresh(bytes), bytes};
}

void give_back(void* block, std::size_t bytes) noexcept {
  if (bytes >= huge_page) {
    try {
      std::lock_guard<std::mutex> const lock(kept().guard);
      auto& blocks = kept().blocks;
      blocks.push_back({block, bytes});
      // Together at most twice the largest: the smallest go.
      std::sort(blocks.begin(), blocks.end(), [](Block const& a, Block const& b) { return a.bytes > b.bytes; });
      std::size_t total = 0, keep = 0;
      while (keep < blocks.size() && total + blocks[keep].bytes <= 2 * blocks[0].bytes) total += blocks[keep++].bytes;
      for (std::size_t i = keep; i < blocks.size(); ++i) std::free(blocks[i].memory);
      blocks.resize(keep);
      return;
    } catch (...) {
      // No memory for the list: the block goes to the system.
    }
  }
  std::free(block);
}

std::size_t release_blocks() noexcept {
  std::lock_guard<std::mutex> const lock(kept().guard);
  std::size_t bytes = 0;
  for (Block const& block : kept().blocks) std::free(block.memory), bytes += block.bytes;
  kept().blocks.clear();
  return bytes;
}

}  // namespace mm
