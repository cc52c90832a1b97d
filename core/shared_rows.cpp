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
auto SharedRows<T>::piece(index id, index block) -> Piece {
  std::uint64_t const key = std::uint64_t(id) * std::uint64_t(blocks()) + std::uint64_t(block);
  {
    std::lock_guard<std::mutex> lock(guard_);
    if (auto const found = at_.find(key); found != at_.end()) {
      by_use_.splice(by_use_.begin(), by_use_, found->second);
      ++hits_;
      return found->second->piece;
    }
    ++computed_;
  }
  // Computed outside of the lock: two solvers may compute the same piece, and one of the two stays.
  index const first = start_[std::size_t(block)] - skipped(block), last = start_[std::size_t(block) + 1];
  auto values = std::make_shared<std::vector<T>>(std::size_t(padded(last - first)));
  source_->rows(&id, 1, first, last, values->data(), index(values->size()));
  std::lock_guard<std::mutex> lock(guard_);
  if (at_.find(key) == at_.end()) {
    by_use_.push_front({key, values});
    at_[key] = by_use_.begin();
    bytes_ += double(values->size()) * sizeof(T);
    while (bytes_ > budget_ && by_use_.size() > 1) {
      bytes_ -= double(by_use_.back().piece->size()) * sizeof(T);
      at_.erase(by_use_.back().key);
      by_use_.pop_back();
    }
  }
  return values;
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
  std::vector<typename SharedRows<T>::Piece> pieces(static_cast<std::size_t>(shared_->blocks()));
  std::vector<const T*> values(pieces.size());
  for (index r = 0; r < count; ++r) {
    for (auto& piece : pieces) piece.reset();
    for (index j = first; j < last; ++j) {
      Place const place = places_[std::size_t(j)];
      auto const block = std::size_t(place.block);
      if (!pieces[block]) {
        pieces[block] = shared_->piece(chosen_[std::size_t(ids[r])], place.block);
        values[block] = pieces[block]->data();
      }
      out[r * stride + j - first] = values[block][place.offset];
    }
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
