// Whole rows of the kernel matrix under a budget of bytes, for products of many rows with coefficients at once.
#pragma once

#include <memory>
#include <vector>

#include "arena.hpp"
#include "row_source.hpp"

namespace mm {

template <class T>
class RowStore {
 public:
  RowStore(std::shared_ptr<RowSource<T>> source, double budget_bytes, int threads);

  /// sums += K[:, ids] coefficient. Stored rows are read, the others computed. A computed row is stored where it is
  /// `worth` it or was computed before, in the place of the row that is least worth: not kept, then longest unused.
  /// Does as much as some seconds allow, at least one piece, and returns how many of the ids are done.
  index accumulate(const index* ids, const double* coefficient, const std::uint8_t* worth, index count, double seconds,
                   double* sums);

  /// Rows that are to stay before all others.
  void keep(const index* ids, index count);

  bool holds(index id) const { return slot_of_[std::size_t(id)] >= 0; }
  index size() const { return n_; }
  RowSource<T>& source() { return *source_; }
  index rows_computed() const { return computed_; }
  index hits() const { return hits_; }
  double bytes() const { return double(stored_) * double(stride_) * sizeof(T); }

 private:
  T* row_at(index slot) { return arena_.data() + slot * stride_; }
  index place_for(index id, bool worth);
  void find_victims();
  void add_stored(const index* ids, const double* coefficient, index count, double* sums) const;

  std::shared_ptr<RowSource<T>> source_;
  index n_, stride_, slots_;
  int threads_;
  Arena<T> arena_;
  std::vector<index> slot_of_;             // by example; -1: not stored
  std::vector<index> owner_;               // by slot
  std::vector<std::int64_t> used_;         // by slot: the call of the last use
  std::vector<std::uint8_t> kept_, seen_;  // by example
  std::vector<index> victims_;             // slots that may be given away, the next at the end
  std::int64_t calls_ = 0;
  index stored_ = 0, computed_ = 0, hits_ = 0;
  index together_ = 48;  // rows computed in one block
};

}  // namespace mm
