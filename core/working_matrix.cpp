#include "working_matrix.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

namespace mm {

namespace {
constexpr index block = 32;  // of a transposition
constexpr double growth = 1.1;
constexpr index most_scratch = index(1) << 23;  // values
}  // namespace

/// Rows wide enough for so many members; the last is moved first, so that none is overwritten.
template <class T>
void WorkingMatrix<T>::widen(index size) {
  if (padded(size) <= stride_) return;
  if (padded(size) > most_) throw std::length_error("More members than the working set has room for.");
  index const stride = std::min(most_, padded(std::max(size, index(growth * double(stride_)))));
  T* const K = matrix_.data();
  for (index r = index(members_.size()) - 1; r > 0; --r)
    std::memmove(K + r * stride, K + r * stride_, members_.size() * sizeof(T));
  stride_ = stride;
}

/// The last member takes the place of one that left.
template <class T>
void WorkingMatrix<T>::close(index hole, index last) {
  if (hole == last) return;
  T* const K = matrix_.data();
  for (index r = 0; r <= last; ++r) K[r * stride_ + hole] = K[r * stride_ + last];
  std::copy_n(K + last * stride_, last, K + hole * stride_);
  members_[std::size_t(hole)] = members_[std::size_t(last)];
}

/// The rows and columns of those that join, some rows at a time.
template <class T>
void WorkingMatrix<T>::fill(const std::vector<index>& places, const std::vector<index>& joining) {
  index const size = index(members_.size()), fresh = index(joining.size()), wide = padded(size);
  index const together = std::clamp<index>(most_scratch / wide, 1, fresh);
  if (scratch_.room() < together * wide) scratch_ = Arena<T>(together * wide);
  T *const K = matrix_.data(), *const values = scratch_.data();
  for (index begin = 0; begin < fresh; begin += together) {
    index const end = std::min(begin + together, fresh);
    source_->cross(joining.data() + begin, end - begin, members_.data(), size, values, wide);
    for (index k = begin; k < end; ++k)
      std::copy_n(values + (k - begin) * wide, size, K + places[std::size_t(k)] * stride_);
    for (index r0 = 0; r0 < size; r0 += block)
      for (index k0 = begin; k0 < end; k0 += block)
        for (index r = r0; r < std::min(r0 + block, size); ++r)
          for (index k = k0; k < std::min(k0 + block, end); ++k)
            K[r * stride_ + places[std::size_t(k)]] = values[(k - begin) * wide + r];
  }
  entries_ += double(fresh) * double(size);
}

template <class T>
void WorkingMatrix<T>::exchange(const std::vector<index>& leaving, const std::vector<index>& joining) {
  std::vector<index> places(leaving.begin(), leaving.begin() + index(std::min(leaving.size(), joining.size())));
  for (std::size_t hole = leaving.size(); hole > joining.size(); --hole) {
    close(leaving[hole - 1], index(members_.size()) - 1);
    members_.pop_back();
  }
  widen(index(members_.size() + joining.size() - places.size()));
  for (std::size_t k = 0; k < joining.size(); ++k) {
    if (k == places.size()) {
      places.push_back(index(members_.size()));
      members_.push_back(0);
    }
    members_[std::size_t(places[k])] = joining[k];
  }
  this->order_.resize(members_.size());
  std::iota(this->order_.begin(), this->order_.end(), index(0));
  if (!joining.empty()) fill(places, joining);
}

template <class T>
void WorkingMatrix<T>::rows(const index* ids, index count, index first, index last, T* out, index stride) {
  for (index r = 0; r < count; ++r)
    std::copy_n(matrix_.data() + ids[r] * stride_ + first, last - first, out + r * stride);
}

template class WorkingMatrix<float>;
template class WorkingMatrix<double>;

}  // namespace mm
