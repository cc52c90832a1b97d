// Rows of the kernel matrix under a budget of bytes, least recently used out first. A row holds a run of positions from
// the start of the source's current order; where more of it is asked for, only the missing part is computed.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "arena.hpp"
#include "row_source.hpp"

namespace mm {

struct CacheCounters {
  index rows_computed = 0, hits = 0, misses = 0;
  double entries_computed = 0;
};

template <class T>
class RowCache {
 public:
  static constexpr index least_slots = 4;  // the pair at hand and the pair before it

  RowCache(std::shared_ptr<RowSource<T>> source, double budget_bytes)
      : source_(std::move(source)), n_(source_->size()), slot_of_(std::size_t(n_), -1) {
    resident_ = source_->resident(resident_stride_);
    if (resident_) return;
    double const row_bytes = double(padded(n_)) * sizeof(T);
    double const slots = std::max(double(least_slots), budget_bytes / std::max(1.0, row_bytes));
    capacity_ = index(std::min(slots, double(n_) + least_slots)) * padded(n_);
    arena_ = Arena<T>(capacity_);
    lay_out(padded(n_));
  }

  /// Positions 0 ... length - 1 of the row of example `id`; valid while no other `least_slots - 1` rows are asked for.
  const T* row(index id, index length) {
    if (resident_) {
      ++counters.hits;
      return resident_ + id * resident_stride_;
    }
    index slot = slot_of_[std::size_t(id)];
    if (slot < 0) {
      ++counters.misses;
      ++counters.rows_computed;
      slot = take_slot();
      owner_[std::size_t(slot)] = id;
      slot_of_[std::size_t(id)] = slot;
      length_[std::size_t(slot)] = 0;
    } else {
      ++counters.hits;
    }
    used_[std::size_t(slot)] = ++clock_;
    T* const values = arena_.data() + slot * stride_;
    index& have = length_[std::size_t(slot)];
    if (have < length) {
      index const first = have / column_grain * column_grain;
      source_->rows(&id, 1, first, length, values + first, stride_);
      counters.entries_computed += double(length - first);
      have = length;
    }
    return values;
  }

  /// The row if it is here in that length, else null; counts as no use.
  const T* peek(index id, index length) const {
    if (resident_) return resident_ + id * resident_stride_;
    index const slot = slot_of_[std::size_t(id)];
    return slot < 0 || length_[std::size_t(slot)] < length ? nullptr : arena_.data() + slot * stride_;
  }

  /// Positions 0 ... active - 1 are rearranged (from[new] = old); rows keep `kept` of them in narrower slots.
  void shrink(const std::vector<index>& order, const std::vector<index>& from, index active, index kept) {
    std::vector<T> old(static_cast<std::size_t>(active));
    for (index slot = 0; slot < slots_; ++slot) {
      if (owner_[std::size_t(slot)] < 0) continue;
      T* const values = arena_.data() + slot * stride_;
      // from rises over the kept positions, so what a short row has of them is a run from the start again.
      index& length = length_[std::size_t(slot)];
      index const have = index(std::lower_bound(from.begin(), from.begin() + kept, length) - from.begin());
      std::copy(values, values + std::min(length, active), old.begin());
      for (index j = 0; j < have; ++j) values[j] = old[std::size_t(from[std::size_t(j)])];
      length = have;
    }
    source_->reorder(order, active);
    change_stride(padded(kept));
  }

  /// Every position is active again: rows stay, short.
  void widen() { change_stride(padded(n_)); }

  /// Whether the rows lie in the source itself, in its original order: nothing is stored here, nothing can shrink.
  bool resident() const { return resident_ != nullptr; }

  RowSource<T>& source() { return *source_; }
  double bytes() const { return double(stored_) * double(stride_) * sizeof(T); }
  CacheCounters counters;

 private:
  void lay_out(index stride) {
    stride_ = std::max(stride, column_grain);
    slots_ = std::min(capacity_ / stride_, n_ + least_slots);
    owner_.assign(std::size_t(slots_), -1);
    length_.assign(std::size_t(slots_), 0);
    used_.assign(std::size_t(slots_), 0);
    stored_ = 0;
  }

  /// Moves the rows into slots of another width; of too many, the most recently used stay.
  void change_stride(index stride) {
    struct Kept {
      index slot, owner, length;
      std::int64_t used;
    };
    std::vector<Kept> rows;
    for (index s = 0; s < slots_; ++s)
      if (owner_[std::size_t(s)] >= 0)
        rows.push_back({s, owner_[std::size_t(s)], length_[std::size_t(s)], used_[std::size_t(s)]});
    index const old_stride = stride_;
    lay_out(stride);
    std::sort(rows.begin(), rows.end(), [](const Kept& a, const Kept& b) { return a.used > b.used; });
    for (index r = slots_; r < index(rows.size()); ++r) slot_of_[std::size_t(rows[std::size_t(r)].owner)] = -1;
    rows.resize(std::size_t(std::min(slots_, index(rows.size()))));
    std::sort(rows.begin(), rows.end(), [](const Kept& a, const Kept& b) { return a.slot < b.slot; });
    // Slot r <= the old slot. Narrower slots move forwards; wider ones are closed up first, then moved from the back.
    auto move = [&](index to, index from_offset, index length) {
      std::memmove(arena_.data() + to, arena_.data() + from_offset, std::size_t(length) * sizeof(T));
    };
    index const count = index(rows.size()), narrow = std::min(stride_, old_stride);
    for (index r = 0; r < count; ++r)
      move(r * narrow, rows[std::size_t(r)].slot * old_stride, rows[std::size_t(r)].length);
    if (stride_ > old_stride)
      for (index r = count - 1; r >= 0; --r) move(r * stride_, r * narrow, rows[std::size_t(r)].length);
    for (index r = 0; r < count; ++r) {
      auto const& row = rows[std::size_t(r)];
      owner_[std::size_t(r)] = row.owner;
      length_[std::size_t(r)] = row.length;
      used_[std::size_t(r)] = row.used;
      slot_of_[std::size_t(row.owner)] = r;
    }
    stored_ = count;
    unused_ = count;
  }

  index take_slot() {
    if (unused_ < slots_) {
      ++stored_;
      return unused_++;
    }
    // Least recently used: found by a scan, which is short beside the row that is computed for it.
    index const slot = index(std::min_element(used_.begin(), used_.end()) - used_.begin());
    slot_of_[std::size_t(owner_[std::size_t(slot)])] = -1;
    return slot;
  }

  std::shared_ptr<RowSource<T>> source_;
  index n_;
  const T* resident_ = nullptr;
  index resident_stride_ = 0;
  std::vector<index> slot_of_;
  Arena<T> arena_;
  index capacity_ = 0, stride_ = 0, slots_ = 0, stored_ = 0, unused_ = 0;
  std::vector<index> owner_, length_;
  std::vector<std::int64_t> used_;
  std::int64_t clock_ = 0;
};

}  // namespace mm
