// The kernel matrix of a working set: a square that lies in memory whole while its members come and go.
#pragma once

#include <memory>
#include <vector>

#include "arena.hpp"
#include "row_source.hpp"

namespace mm {

template <class T>
class WorkingMatrix final : public RowSource<T> {
 public:
  /// Room for at most so many members is set aside; memory is touched as they come.
  WorkingMatrix(std::shared_ptr<RowSource<T>> source, index most)
      : RowSource<T>(0),
        source_(std::move(source)),
        diagonal_(std::size_t(source_->size())),
        matrix_(padded(most) * padded(most)),
        most_(padded(most)) {
    source_->diagonal(diagonal_.data());
  }

  /// The members at the positions `leaving`, which rise, give their places to the examples `joining`; if these are
  /// fewer, the last members move up. Only the rows of those that join are computed.
  void exchange(const std::vector<index>& leaving, const std::vector<index>& joining);

  const std::vector<index>& members() const { return members_; }
  index examples() const { return source_->size(); }
  double entries_computed() const { return entries_; }
  double bytes() const override { return double(stride_) * double(stride_) * sizeof(T); }

  void rows(const index* ids, index count, index first, index last, T* out, index stride) override;
  const T* resident(index& stride) const override {
    stride = stride_;
    return matrix_.data();
  }
  void diagonal(double* out) override {
    for (std::size_t i = 0; i < members_.size(); ++i) out[i] = diagonal_[std::size_t(members_[i])];
  }

 private:
  void widen(index size);
  void close(index hole, index last);
  void fill(const std::vector<index>& places, const std::vector<index>& joining);

  std::shared_ptr<RowSource<T>> source_;
  std::vector<double> diagonal_;
  std::vector<index> members_;
  Arena<T> matrix_, scratch_;
  index most_, stride_ = 0;
  double entries_ = 0;
};

}  // namespace mm
