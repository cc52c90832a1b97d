#include "shared_rows.hpp"

#include <stdexcept>

namespace mm {

template <class T>
SharedRows<T>::SharedRows(std::shared_ptr<RowSource<T>> source, const std::vector<std::vector<index>>& blocks,
                          double budget_bytes)
    : source_(std::move(source)), start_{0}, budget_(budget_bytes) {
  auto const n = std::size_t(source_->size());
  block_of_.assign(n, -1);
  place_of_.resize(n);
  std::vector<index> order;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (index column : blocks[b]) {
      if (column < 0 || column >= index(n) || block_of_[std::size_t(column)] >= 0)
        throw std::invalid_argument("The blocks of shared rows must hold every column once.");
      block_of_[std::size_t(column)] = index(b);
      place_of_[std::size_t(column)] = index(order.size()) - start_.back();
      order.push_back(column);
    }
    start_.push_back(index(order.size()));
  }
  if (order.size() != n) throw std::invalid_argument("The blocks of shared rows must hold every column once.");
  source_->reorder(order, index(n));
}

template <class T>
auto SharedRows<T>::find(std::uint64_t key) -> Piece {
  auto const found = at_.find(key);
  if (found == at_.end()) {
    ++computed_;
    return nullptr;
  }
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  ++hits_;
  return found->second->piece;
}

template <class T>
auto SharedRows<T>::piece(index id, index block) -> Piece {
  std::uint64_t const key = key_of(id, block);
  {
    std::lock_guard<std::mutex> lock(guard_);
    if (Piece stored = find(key)) return stored;
  }
  // Computed outside of the lock: two solvers may compute the same piece, and one of the two stays.
  index const wide = width(block), last = start_[std::size_t(block) + 1];
  auto values = std::make_shared<std::vector<T>>(std::size_t(padded(wide)));
  source_->rows(&id, 1, last - wide, last, values->data(), index(values->size()));
  std::lock_guard<std::mutex> lock(guard_);
  store(key, values);
  while (bytes_ > budget_ && by_use_.size() > 1) {
    bytes_ -= bytes_of(by_use_.back().piece->size());
    at_.erase(by_use_.back().key);
    by_use_.pop_back();
  }
  return values;
}

template <class T>
void SharedRows<T>::store(std::uint64_t key, Piece values) {
  if (at_.find(key) != at_.end()) return;
  bytes_ += bytes_of(values->size());
  by_use_.push_front({key, std::move(values)});
  at_[key] = by_use_.begin();
}

template <class T>
void SharedRows<T>::pieces(const index* ids, index count, index block, std::vector<Piece>& stored,
                           std::vector<T>& computed, std::vector<const T*>& out) {
  std::vector<index> missing;
  stored.assign(std::size_t(count), nullptr);
  {
    std::lock_guard<std::mutex> lock(guard_);
    for (index r = 0; r < count; ++r)
      if (!(stored[std::size_t(r)] = find(key_of(ids[r], block)))) missing.push_back(ids[r]);
  }
  index const wide = width(block), stride = padded(wide), last = start_[std::size_t(block) + 1];
  computed.resize(missing.size() * std::size_t(stride));
  if (!missing.empty())
    source_->rows(missing.data(), index(missing.size()), last - wide, last, computed.data(), stride);
  out.resize(std::size_t(count));
  const T* next = computed.data();
  std::lock_guard<std::mutex> lock(guard_);
  for (std::size_t r = 0; r < out.size(); ++r) {
    out[r] = stored[r] ? stored[r]->data() : next;
    if (stored[r]) continue;
    if (bytes_ + bytes_of(std::size_t(stride)) <= budget_)
      store(key_of(ids[r], block), std::make_shared<std::vector<T>>(next, next + stride));
    next += stride;
  }
}

template <class T>
SharedPart<T>::SharedPart(std::shared_ptr<SharedRows<T>> shared, std::vector<index> chosen)
    : RowSource<T>(index(chosen.size())), shared_(std::move(shared)), chosen_(std::move(chosen)) {
  for (index i : chosen_)
    if (i < 0 || i >= shared_->source().size()) throw std::invalid_argument("A row outside of the shared rows.");
  places_.resize(chosen_.size());
  find_places(index(chosen_.size()));
}

template <class T>
void SharedPart<T>::find_places(index positions) {
  for (index j = 0; j < positions; ++j) {
    index const column = chosen_[std::size_t(this->order_[std::size_t(j)])], block = shared_->block_of(column);
    places_[std::size_t(j)] = {std::int32_t(block), shared_->skipped(block) + shared_->place_of(column)};
  }
}

template <class T>
void SharedPart<T>::reorder(const std::vector<index>& order, index changed) {
  RowSource<T>::reorder(order, changed);
  find_places(changed);
}

template <class T>
void SharedPart<T>::rows(const index* ids, index count, index first, index last, T* out, index stride) {
  std::vector<char> wanted(static_cast<std::size_t>(shared_->blocks()), 0);
  for (index j = first; j < last; ++j) wanted[std::size_t(places_[std::size_t(j)].block)] = 1;
  std::vector<index> rows(static_cast<std::size_t>(count));
  for (index r = 0; r < count; ++r) rows[std::size_t(r)] = chosen_[std::size_t(ids[r])];
  std::vector<typename SharedRows<T>::Piece> stored;
  std::vector<T> computed;
  std::vector<const T*> values(1);
  for (index block = 0; block < shared_->blocks(); ++block) {
    if (!wanted[std::size_t(block)]) continue;
    if (count == 1) {
      stored = {shared_->piece(rows[0], block)};
      values[0] = stored[0]->data();
    } else {
      shared_->pieces(rows.data(), count, block, stored, computed, values);
    }
    for (index r = 0; r < count; ++r)
      for (index j = first; j < last; ++j)
        if (places_[std::size_t(j)].block == block)
          out[r * stride + j - first] = values[std::size_t(r)][places_[std::size_t(j)].offset];
  }
}

template <class T>
void SharedPart<T>::diagonal(double* out) {
  std::vector<double> whole(static_cast<std::size_t>(shared_->source().size()));
  shared_->source().diagonal(whole.data());
  for (std::size_t i = 0; i < chosen_.size(); ++i) out[i] = whole[std::size_t(chosen_[i])];
}

template class SharedRows<float>;
template class SharedRows<double>;
template class SharedPart<float>;
template class SharedPart<double>;

}  // namespace mm
