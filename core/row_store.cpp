#include "row_store.hpp"

#include <algorithm>
#include <chrono>

#include "parallel.hpp"

namespace mm {

namespace {
constexpr index least_together = 48, most_together = 1536;  // rows computed between two looks at the clock
constexpr index columns_a_piece = 2048;                     // of stored rows that are added up together
constexpr std::int64_t calls_until_stale = 2;
constexpr double entries_for_a_thread = 2e5;
}  // namespace

template <class T>
RowStore<T>::RowStore(std::shared_ptr<RowSource<T>> source, double budget_bytes, int threads)
    : source_(std::move(source)),
      n_(source_->size()),
      stride_(padded(n_)),
      slots_(index(std::clamp(budget_bytes / (double(stride_) * sizeof(T)), 0.0, double(n_)))),
      threads_(threads),
      arena_(std::max<index>(1, slots_ * stride_)),
      slot_of_(std::size_t(n_), -1),
      owner_(std::size_t(slots_), -1),
      used_(std::size_t(slots_), 0),
      kept_(std::size_t(n_), 0),
      seen_(std::size_t(n_), 0) {}

template <class T>
void RowStore<T>::keep(const index* ids, index count) {
  std::fill(kept_.begin(), kept_.end(), std::uint8_t(0));
  for (index i = 0; i < count; ++i) kept_[std::size_t(ids[i])] = 1;
}

/// Slots by how little their rows are worth: not kept and longest unused last.
template <class T>
void RowStore<T>::find_victims() {
  victims_.clear();
  for (index s = 0; s < stored_; ++s)
    if (!kept_[std::size_t(owner_[std::size_t(s)])] && used_[std::size_t(s)] < calls_) victims_.push_back(s);
  std::sort(victims_.begin(), victims_.end(),
            [&](index a, index b) { return used_[std::size_t(a)] > used_[std::size_t(b)]; });
}

/// A slot for a row that is computed now, or -1.
template <class T>
index RowStore<T>::place_for(index id, bool worth) {
  bool const second = seen_[std::size_t(id)] != 0;
  seen_[std::size_t(id)] = 1;
  if (!worth && !second) return -1;
  // A row that nobody has used for some calls gives its place away before fresh memory is touched.
  bool const stale = !victims_.empty() && used_[std::size_t(victims_.back())] + calls_until_stale < calls_;
  index slot = -1;
  if (stored_ < slots_ && !stale) {
    slot = stored_++;
  } else {
    if (victims_.empty()) return -1;
    slot = victims_.back();
    victims_.pop_back();
    slot_of_[std::size_t(owner_[std::size_t(slot)])] = -1;
  }
  owner_[std::size_t(slot)] = id;
  slot_of_[std::size_t(id)] = slot;
  used_[std::size_t(slot)] = calls_;
  return slot;
}

template <class T>
void RowStore<T>::add_stored(const index* ids, const double* coefficient, index count, double* sums) const {
  std::vector<const T*> rows;
  for (index i = 0; i < count; ++i) rows.push_back(arena_.data() + slot_of_[std::size_t(ids[i])] * stride_);
  int const threads = double(count) * double(n_) > 2 * entries_for_a_thread ? threads_ : 1;
  parallel(threads, n_, columns_a_piece, [&](index begin, index end) {
    std::vector<const T*> pieces(rows.size());
    for (index j = begin; j < end; j += columns_a_piece) {
      for (std::size_t r = 0; r < rows.size(); ++r) pieces[r] = rows[r] + j;
      kernel_table<T>().accumulate(pieces.data(), coefficient, count, std::min(columns_a_piece, end - j), sums + j);
    }
  });
}

template <class T>
index RowStore<T>::accumulate(const index* ids, const double* coefficient, const std::uint8_t* worth, index count,
                              double seconds, double* sums) {
  using Clock = std::chrono::steady_clock;
  auto const end = Clock::now() + std::chrono::duration<double>(seconds);
  ++calls_;
  for (index i = 0; i < count; ++i)
    if (index const slot = slot_of_[std::size_t(ids[i])]; slot >= 0) used_[std::size_t(slot)] = calls_;
  find_victims();
  // The next few: the stored ones are read, the others computed in one block.
  index done = 0;
  while (done < count) {
    auto const began = Clock::now();
    std::vector<index> here, missing;
    std::vector<double> of_here, of_missing;
    std::vector<T*> places;
    index const begin = done;
    for (; done < count && index(missing.size()) < together_ && index(here.size()) < 16 * together_; ++done) {
      index const id = ids[done], slot = slot_of_[std::size_t(id)];
      if (slot >= 0) {
        here.push_back(id), of_here.push_back(coefficient[done]);
      } else {
        missing.push_back(id), of_missing.push_back(coefficient[done]);
      }
    }
    for (std::size_t i = 0; i < missing.size(); ++i) {
      index const slot = place_for(missing[i], worth[begin + index(i)] != 0);
      places.push_back(slot < 0 ? nullptr : row_at(slot));
    }
    if (!here.empty()) add_stored(here.data(), of_here.data(), index(here.size()), sums);
    if (!missing.empty())
      source_->accumulate(missing.data(), of_missing.data(), places.data(), index(missing.size()), n_, sums);
    hits_ += index(here.size());
    computed_ += index(missing.size());
    auto const now = Clock::now();
    if (now >= end) break;
    // Blocks are faster the larger they are, but the caller waits for the end of one.
    bool const quick = now - began < std::chrono::duration<double>(seconds / 4);
    together_ = std::clamp<index>(quick ? 2 * together_ : together_ / 2, least_together, most_together);
  }
  return done;
}

template class RowStore<float>;
template class RowStore<double>;

}  // namespace mm
