// The columns of a kernel matrix, stored for one way of computing rows of it: float panels, panels of small integers,
// or sparse columns that are gathered or listed by feature. The engine divides the work; a storage computes a block.
#pragma once

#include <memory>
#include <vector>

#include "codes.hpp"
#include "matrix.hpp"

namespace mm {

/// Runs of columns start at a multiple of this, and results have room up to the next multiple.
constexpr index column_grain = 32;
inline index padded(index columns) { return (columns + column_grain - 1) / column_grain * column_grain; }

/// The examples whose kernel values are wanted, and what is known of them once and for all.
template <class T>
struct Examples {
  MatrixView x;
  KernelSpec kernel;
  std::vector<double> centre;
  RowBlock<T> compact;                 // CSR in the engine's types, of sparse data that are not centred
  std::vector<T> norms;                // by example; not of codes
  std::shared_ptr<const Codes> codes;  // null: the data are no small integers

  bool sparse() const { return x.sparse && centre.empty(); }
  bool squared() const { return kernel.pairing == Pairing::dot; }
  /// Multiplications that a kernel value takes.
  double work() const;
};

template <class T>
class Columns {
 public:
  virtual ~Columns() = default;

  /// The examples order[0] ... order[count - 1] become the columns from `first` on, which is a multiple of
  /// column_grain.
  virtual void pack(const index* order, index first, index count, int threads) = 0;

  /// Rows ids[0] ... of the examples, or the rows from `begin` on of other data, ready to be computed.
  virtual RowBlock<T> rows(const index* ids, index count) const = 0;
  virtual RowBlock<T> other_rows(const MatrixView& x, index begin, index count) const = 0;

  /// out[r * stride + j - first] for the columns first ... last - 1; room up to a multiple of column_grain.
  virtual void compute(const RowBlock<T>& x, index count, index first, index last, T* out, index stride) const = 0;

  /// Room for other columns of the same examples, stored in the same way.
  virtual std::unique_ptr<Columns> sibling(index count) const = 0;

  /// Columns that a block of rows should visit together, so that both stay in the cache.
  virtual index columns_a_piece() const { return 4 * column_grain; }
  virtual double bytes() const = 0;
  /// The norm of each column, where these are floating-point numbers.
  virtual const T* norms() const { return nullptr; }
  virtual const char* name() const = 0;
};

template <class T>
std::unique_ptr<Columns<T>> panel_columns(std::shared_ptr<const Examples<T>> examples, index count);
template <class T>
std::unique_ptr<Columns<T>> gathered_columns(std::shared_ptr<const Examples<T>> examples, index count);
template <class T>
std::unique_ptr<Columns<T>> inverted_columns(std::shared_ptr<const Examples<T>> examples, index count);
template <class T>
std::unique_ptr<Columns<T>> code_columns(std::shared_ptr<const Examples<T>> examples, index count);

}  // namespace mm
