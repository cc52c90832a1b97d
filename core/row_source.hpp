// Where rows of the kernel matrix come from. A source knows the current order of the columns and computes any run of
// positions of it; it stores no rows.
#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "matrix.hpp"

namespace mm {

/// Runs of columns start at a multiple of this, and results have room up to the next multiple.
constexpr index column_grain = 32;
inline index padded(index columns) { return (columns + column_grain - 1) / column_grain * column_grain; }

template <class T>
class RowSource {
 public:
  explicit RowSource(index size) : order_(std::size_t(size)) { std::iota(order_.begin(), order_.end(), index(0)); }
  virtual ~RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;

  index size() const { return index(order_.size()); }
  const std::vector<index>& order() const { return order_; }

  /// The first `changed` positions of the order are new.
  virtual void reorder(const std::vector<index>& order, index changed) {
    std::copy(order.begin(), order.begin() + changed, order_.begin());
  }

  /// out[r * stride + j - first] = k(x_ids[r], x_order[j]) for first <= j < last; first is a multiple of column_grain
  /// and out has room up to the next multiple after last.
  virtual void rows(const index* ids, index count, index first, index last, T* out, index stride) = 0;

  /// k(x_i, x_i) by the index of the example.
  virtual void diagonal(double* out) = 0;

 protected:
  std::vector<index> order_;
};

/// A kernel of sums or distances over stored examples.
template <class T>
class Engine final : public RowSource<T> {
 public:
  Engine(const MatrixView& x, const KernelSpec& kernel, std::vector<double> centre, int threads);

  void reorder(const std::vector<index>& order, index changed) override;
  void rows(const index* ids, index count, index first, index last, T* out, index stride) override;
  void diagonal(double* out) override;

  /// Rows begin ... end - 1 of other data against every column.
  void block(const MatrixView& x, index begin, index end, T* out, index stride);

  bool gathers() const { return panels_.empty(); }

 private:
  void pack(index first, index last);
  RowBlock<T> row_block(const MatrixView& x, const index* ids, index begin, index count, bool own) const;
  void compute(const RowOperand<T>& x, index first, index last, T* out, index stride) const;
  void spread(const MatrixView& x, const index* ids, index begin, index count, bool own, index first, index last,
              T* out, index stride) const;

  MatrixView x_;
  KernelSpec kernel_;
  std::vector<double> centre_;
  int threads_;
  double density_ = 1.0;
  std::vector<T> panels_;
  std::vector<T> norms_;         // by position, padded
  std::vector<T> norms_by_row_;  // by the index of the example
  RowBlock<T> compact_;          // CSR in the engine's types: gathering, and sparse rows
};

/// A matrix that the caller holds, or the part of it at `chosen`.
template <class T>
class Precomputed final : public RowSource<T> {
 public:
  Precomputed(const MatrixView& matrix, std::vector<index> chosen);
  void rows(const index* ids, index count, index first, index last, T* out, index stride) override;
  void diagonal(double* out) override;

 private:
  MatrixView matrix_;
  std::vector<index> chosen_;
};

/// Rows that somebody else computes: evaluate(ids, count, out) fills count full rows, columns in the original order.
template <class T>
class Callback final : public RowSource<T> {
 public:
  using Evaluate = std::function<void(const index* ids, index count, T* out)>;
  Callback(std::vector<double> diagonal, Evaluate evaluate)
      : RowSource<T>(index(diagonal.size())), diagonal_(std::move(diagonal)), evaluate_(std::move(evaluate)) {}
  void rows(const index* ids, index count, index first, index last, T* out, index stride) override;
  void diagonal(double* out) override { std::copy(diagonal_.begin(), diagonal_.end(), out); }

 private:
  std::vector<double> diagonal_;
  Evaluate evaluate_;
};

/// Weighted sum, or product, of other sources.
template <class T>
class Combined final : public RowSource<T> {
 public:
  Combined(std::vector<std::shared_ptr<RowSource<T>>> parts, std::vector<double> weights, bool product);
  void reorder(const std::vector<index>& order, index changed) override;
  void rows(const index* ids, index count, index first, index last, T* out, index stride) override;
  void diagonal(double* out) override;

 private:
  std::vector<std::shared_ptr<RowSource<T>>> parts_;
  std::vector<double> weights_;
  bool product_;
};

}  // namespace mm
