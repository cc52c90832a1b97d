#include "row_source.hpp"

#include <algorithm>

namespace mm {

namespace {
constexpr index most_values = index(1) << 22;  // of rows that are held at once
}  // namespace

template <class T>
void RowSource<T>::cross(const index* ids, index count, const index* columns, index width, T* out, index stride) {
  std::vector<index> position(order_.size());
  for (std::size_t j = 0; j < order_.size(); ++j) position[std::size_t(order_[j])] = index(j);
  index const wide = padded(size()),
              together = std::clamp<index>(most_values / std::max<index>(1, wide), 1, std::max<index>(1, count));
  std::vector<T> values(static_cast<std::size_t>(together * wide));
  for (index r = 0; r < count; r += together) {
    index const here = std::min(together, count - r);
    rows(ids + r, here, 0, size(), values.data(), wide);
    for (index i = 0; i < here; ++i)
      for (index c = 0; c < width; ++c)
        out[(r + i) * stride + c] = values[std::size_t(i * wide + position[std::size_t(columns[c])])];
  }
}

template <class T>
void RowSource<T>::accumulate(const index* ids, const double* coefficient, T* const* places, index count, index last,
                              double* sums) {
  index const wide = padded(last),
              together = std::clamp<index>(most_values / std::max<index>(1, wide), 1, std::max<index>(1, count));
  std::vector<T> values(static_cast<std::size_t>(together * wide));
  std::vector<const T*> pieces;
  for (index i = 0; i < together; ++i) pieces.push_back(values.data() + i * wide);
  for (index r = 0; r < count; r += together) {
    index const here = std::min(together, count - r);
    rows(ids + r, here, 0, last, values.data(), wide);
    kernel_table<T>().accumulate(pieces.data(), coefficient + r, here, last, sums);
    for (index i = 0; i < here; ++i)
      if (places[r + i]) std::copy_n(pieces[std::size_t(i)], last, places[r + i]);
  }
}

template <class T>
void RowSource<T>::products(const index* ids, const double* coefficient, index count, const index* columns, index width,
                            double* sums) {
  index const wide = padded(width),
              together = std::clamp<index>(most_values / std::max<index>(1, wide), 1, std::max<index>(1, count));
  std::vector<T> values(static_cast<std::size_t>(together * wide));
  std::vector<const T*> pieces;
  for (index i = 0; i < together; ++i) pieces.push_back(values.data() + i * wide);
  for (index r = 0; r < count; r += together) {
    index const here = std::min(together, count - r);
    cross(ids + r, here, columns, width, values.data(), wide);
    kernel_table<T>().accumulate(pieces.data(), coefficient + r, here, width, sums);
  }
}

template class RowSource<float>;
template class RowSource<double>;

template <class T>
Precomputed<T>::Precomputed(const MatrixView& matrix, std::vector<index> chosen)
    : RowSource<T>(index(chosen.size())), matrix_(matrix), chosen_(std::move(chosen)) {}

template <class T>
void Precomputed<T>::rows(const index* ids, index count, index first, index last, T* out, index stride) {
  std::vector<T> row(static_cast<std::size_t>(matrix_.columns));
  for (index r = 0; r < count; ++r) {
    matrix_.dense_row(chosen_[std::size_t(ids[r])], nullptr, row.data());
    for (index j = first; j < last; ++j)
      out[r * stride + j - first] = row[std::size_t(chosen_[std::size_t(this->order_[std::size_t(j)])])];
  }
}

template <class T>
void Precomputed<T>::diagonal(double* out) {
  for (std::size_t i = 0; i < chosen_.size(); ++i) out[i] = double(T(matrix_.entry(chosen_[i], chosen_[i])));
}

template <class T>
void Callback<T>::rows(const index* ids, index count, index first, index last, T* out, index stride) {
  std::vector<T> full(std::size_t(count * this->size()));
  evaluate_(ids, count, full.data());
  for (index r = 0; r < count; ++r)
    for (index j = first; j < last; ++j)
      out[r * stride + j - first] = full[std::size_t(r * this->size() + this->order_[std::size_t(j)])];
}

template <class T>
Combined<T>::Combined(std::vector<std::shared_ptr<RowSource<T>>> parts, std::vector<double> weights, bool product)
    : RowSource<T>(parts.front()->size()), parts_(std::move(parts)), weights_(std::move(weights)), product_(product) {}

template <class T>
void Combined<T>::reorder(const std::vector<index>& order, index changed) {
  RowSource<T>::reorder(order, changed);
  for (auto& part : parts_) part->reorder(order, changed);
}

template <class T>
void Combined<T>::rows(const index* ids, index count, index first, index last, T* out, index stride) {
  index const wide = padded(last - first);
  std::vector<T> part(std::size_t(count * wide));
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    parts_[p]->rows(ids, count, first, last, part.data(), wide);
    T const weight = T(weights_[p]);
    for (index r = 0; r < count; ++r)
      for (index j = 0; j < last - first; ++j) {
        T const value = weight * part[std::size_t(r * wide + j)];
        T& to = out[r * stride + j];
        to = p == 0 ? value : product_ ? to * value : to + value;
      }
  }
}

template <class T>
void Combined<T>::diagonal(double* out) {
  std::vector<double> part(static_cast<std::size_t>(this->size()));
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    parts_[p]->diagonal(part.data());
    for (std::size_t i = 0; i < part.size(); ++i) {
      double const value = double(T(weights_[p])) * part[i];
      out[i] = p == 0 ? value : product_ ? out[i] * value : out[i] + value;
    }
  }
}

template class Precomputed<float>;
template class Precomputed<double>;
template class Callback<float>;
template class Callback<double>;
template class Combined<float>;
template class Combined<double>;

}  // namespace mm
