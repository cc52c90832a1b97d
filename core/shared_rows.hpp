// Rows that several solvers read at the same time. The columns are divided into blocks (the classes); the piece of a
// row in a block is computed when it is first asked for and kept while it fits the budget, least recently used out
// first.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "row_source.hpp"

namespace mm {

template <class T>
class SharedRows {
 public:
  using Piece = std::shared_ptr<const std::vector<T>>;

  /// blocks[b] lists the columns of block b; together they hold every column once.
  SharedRows(std::shared_ptr<RowSource<T>> source, const std::vector<std::vector<index>>& blocks, double budget_bytes);

  /// Piece of a row, entry by entry as the block lists its columns, after `skipped(block)` others. Safe from any
  /// thread.
  Piece piece(index id, index block);
  /// The same for many rows at once: pieces that are not stored are computed together, and stored where there is room
  /// without others having to go. Piece r begins at out[r].
  void pieces(const index* ids, index count, index block, std::vector<Piece>& stored, std::vector<T>& computed,
              std::vector<const T*>& out);

  index skipped(index block) const { return start_[std::size_t(block)] % column_grain; }
  index block_of(index column) const { return block_of_[std::size_t(column)]; }
  index place_of(index column) const { return place_of_[std::size_t(column)]; }
  index blocks() const { return index(start_.size()) - 1; }
  RowSource<T>& source() { return *source_; }
  index pieces_computed() const {
    std::lock_guard<std::mutex> lock(guard_);
    return computed_;
  }
  index hits() const {
    std::lock_guard<std::mutex> lock(guard_);
    return hits_;
  }

 private:
  struct Stored {
    std::uint64_t key;
    Piece piece;
  };
  static constexpr double overhead = 200;  // bytes of a stored piece beside its values

  std::uint64_t key_of(index id, index block) const {
    return std::uint64_t(id) * std::uint64_t(blocks()) + std::uint64_t(block);
  }
  static double bytes_of(std::size_t size) { return double(size) * sizeof(T) + overhead; }
  // Under the guard:
  Piece find(std::uint64_t key);
  void store(std::uint64_t key, Piece values);
  index width(index block) const {
    return start_[std::size_t(block) + 1] - start_[std::size_t(block)] + skipped(block);
  }

  std::shared_ptr<RowSource<T>> source_;
  std::vector<index> start_, block_of_, place_of_;
  double budget_, bytes_ = 0;
  mutable std::mutex guard_;
  std::list<Stored> by_use_;  // most recent first
  std::unordered_map<std::uint64_t, typename std::list<Stored>::iterator> at_;
  index computed_ = 0, hits_ = 0;
};

/// The part of shared rows that one solver works on.
template <class T>
class SharedPart final : public RowSource<T> {
 public:
  SharedPart(std::shared_ptr<SharedRows<T>> shared, std::vector<index> chosen);
  void reorder(const std::vector<index>& order, index changed) override;
  void rows(const index* ids, index count, index first, index last, T* out, index stride) override;
  void diagonal(double* out) override;

 private:
  struct Place {
    std::int32_t block;
    index offset;  // in the piece
  };
  void find_places(index positions);

  std::shared_ptr<SharedRows<T>> shared_;
  std::vector<index> chosen_;
  std::vector<Place> places_;  // by position
};

}  // namespace mm
