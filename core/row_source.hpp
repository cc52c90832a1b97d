// Where rows of the kernel matrix come from. A source knows the current order of the columns and computes any run of
// positions of it; it stores no rows.
#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "columns.hpp"

namespace mm {

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

  /// out[r * stride + c] = k(x_ids[r], x_columns[c]) by the indices of the examples, with room as for rows().
  virtual void cross(const index* ids, index count, const index* columns, index width, T* out, index stride);

  /// sums[j] += sum_r coefficient[r] k(x_ids[r], x_order[j]) for 0 <= j < last. A row with a place is left there too.
  virtual void accumulate(const index* ids, const double* coefficient, T* const* places, index count, index last,
                          double* sums);

  /// sums[c] += sum_r coefficient[r] k(x_ids[r], x_columns[c]) by the indices of the examples.
  virtual void products(const index* ids, const double* coefficient, index count, const index* columns, index width,
                        double* sums);

  /// All rows where they lie, row i at i * stride, if they do in the original order; else null.
  virtual const T* resident(index& stride) const {
    stride = 0;
    return nullptr;
  }

  /// Memory that the examples take here, beside the caller's.
  virtual double bytes() const { return 0; }

  /// k(x_i, x_i) by the index of the example.
  virtual void diagonal(double* out) = 0;

 protected:
  std::vector<index> order_;
};

/// A kernel of sums or distances over stored examples.
template <class T>
class Engine final : public RowSource<T> {
 public:
  /// With codes, the kernel values are made of these, and not of the data.
  Engine(const MatrixView& x, const KernelSpec& kernel, std::vector<double> centre, std::shared_ptr<const Codes> codes,
         int threads);
  ~Engine() override;

  void reorder(const std::vector<index>& order, index changed) override;
  void rows(const index* ids, index count, index first, index last, T* out, index stride) override;
  void cross(const index* ids, index count, const index* columns, index width, T* out, index stride) override;
  void accumulate(const index* ids, const double* coefficient, T* const* places, index count, index last,
                  double* sums) override;
  void products(const index* ids, const double* coefficient, index count, const index* columns, index width,
                double* sums) override;
  double bytes() const override;
  void diagonal(double* out) override;

  /// Rows begin ... end - 1 of other data against every column; not with codes.
  void block(const MatrixView& x, index begin, index end, T* out, index stride);

  /// How the columns are stored: "panels", "gathered" or "integers".
  const char* storage() const;
  /// Of which the data are multiples, where they are stored as integers, else 0.
  double unit() const { return examples_->codes ? examples_->codes->unit : 0.0; }

 private:
  void pack(index first, index last);
  int threads_for(double entries) const;
  void add_up(const Columns<T>& columns, const index* ids, const double* coefficient, T* const* places, index count,
              index last, double* sums) const;
  template <class MakeRows>
  void spread(const Columns<T>& columns, MakeRows&& make, index count, index first, index last, T* out,
              index stride) const;

  std::shared_ptr<const Examples<T>> examples_;
  std::unique_ptr<Columns<T>> columns_;
  int threads_;
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
