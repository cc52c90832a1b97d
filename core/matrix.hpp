// Training data as the caller holds it: dense with any strides or CSR with any indices, any number type, never copied
// as a whole here; rows come out as the engine's type.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "vector_table.hpp"

namespace mm {

enum class Number : int { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64 };

struct MatrixView {
  index rows = 0, columns = 0;
  Number number = Number::f64;
  const void* values = nullptr;
  index row_stride = 0, column_stride = 0;  // in elements; dense only
  bool sparse = false;
  Number index_number = Number::i32;  // of indices and indptr
  const void* indices = nullptr;
  const void* indptr = nullptr;

  /// Throws std::invalid_argument unless the indices and indptr of a sparse matrix of that many stored values are
  /// sound.
  void check_sparse(index stored) const;
  /// Squared norms, or 1-norms, of the rows less the centre where there is one.
  void norms(bool squared, const double* centre, double* out) const;

  index nonzeros() const { return sparse ? start(rows) : rows * columns; }
  index start(index row) const {
    return index_number == Number::i32 ? static_cast<const std::int32_t*>(indptr)[row]
                                       : static_cast<const std::int64_t*>(indptr)[row];
  }

  /// Row as `columns` values, less the centre where there is one.
  template <class T>
  void dense_row(index row, const double* centre, T* out) const;

  double entry(index row, index column) const;  // dense only

  /// Appends the row's nonzeros.
  template <class T>
  void sparse_row(index row, std::vector<std::int32_t>& at, std::vector<T>& value) const;
};

/// Rows of small integers, as CodeRows reads them.
struct CodeBlock {
  std::vector<std::int32_t> values, indices, squares, shifts;
  std::vector<index> indptr;
};

/// Rows start ... as a dense or sparse operand, in memory of its own.
template <class T>
struct RowBlock {
  std::vector<T> values;
  std::vector<index> indptr;
  std::vector<std::int32_t> indices;
  std::vector<T> norms;
  CodeBlock codes;                     // instead of all that, where the columns are codes
  std::unique_ptr<RowBlock> frequent;  // the most frequent features apart, where the columns have them in panels

  RowOperand<T> operand(index count) const {
    return {count, values.data(), indptr.empty() ? nullptr : indptr.data(), indices.data(),
            norms.empty() ? nullptr : norms.data()};
  }
};

/// Rows begin ... begin + count - 1 in sparse form, without norms.
template <class T>
RowBlock<T> sparse_block(const MatrixView& x, index begin, index count);

/// Rows of a sparse block with norms of their own.
template <class T>
RowBlock<T> chosen_rows(const RowBlock<T>& from, const std::vector<T>& norms, const index* ids, index count);

}  // namespace mm
