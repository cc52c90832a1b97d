#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "parallel.hpp"
#include "row_source.hpp"

namespace mm {

namespace {
/// Panels are worth their memory up to this many bytes, or this multiple of the sparse data's own size.
constexpr double panel_bytes_always = 256e6, panel_bytes_per_sparse_byte = 6.0;
/// A thread of its own pays from about this many multiplications.
constexpr index work_for_a_thread = 2'000'000;
}  // namespace

template <class T>
Engine<T>::Engine(const MatrixView& x, const KernelSpec& kernel, std::vector<double> centre, int threads)
    : RowSource<T>(x.rows), x_(x), kernel_(kernel), centre_(std::move(centre)), threads_(threads) {
  if (x.columns > index(INT32_MAX)) throw std::invalid_argument("More than 2147483647 features cannot be used.");
  double const bytes = double(padded(x.rows)) * double(x.columns) * sizeof(T);
  bool const sparse = x.sparse && centre_.empty();
  density_ = sparse ? double(x.nonzeros()) / std::max(1.0, double(x.rows) * double(x.columns)) : 1.0;
  bool const gather = sparse && bytes > std::max(panel_bytes_always,
                                                 panel_bytes_per_sparse_byte * double(x.nonzeros()) * (sizeof(T) + 4));
  if (sparse) {
    compact_.indptr.push_back(0);
    compact_.indices.reserve(std::size_t(x.nonzeros()));
    compact_.values.reserve(std::size_t(x.nonzeros()));
    for (index i = 0; i < x.rows; ++i) {
      x.sparse_row(i, compact_.indices, compact_.values);
      compact_.indptr.push_back(index(compact_.indices.size()));
    }
  }
  norms_.assign(std::size_t(padded(x.rows)), T(0));
  norms_by_row_.resize(std::size_t(x.rows));
  bool const squared = kernel_.pairing == Pairing::dot;
  if (gather) {
    kernel_table<T>().row_norms(squared, compact_.operand(x.rows), x.columns, norms_by_row_.data());
    std::copy(norms_by_row_.begin(), norms_by_row_.end(), norms_.begin());
  } else {
    panels_.assign(std::size_t(padded(x.rows) * std::max<index>(1, x.columns)), T(0));
    pack(0, x.rows);
    std::copy_n(norms_.begin(), x.rows, norms_by_row_.begin());
  }
}

/// Packs the columns at positions first ... last - 1, and their norms.
template <class T>
void Engine<T>::pack(index first, index last) {
  auto const& table = kernel_table<T>();
  index const d = x_.columns, width = table.panel_width;
  const double* centre = centre_.empty() ? nullptr : centre_.data();
  first = first / width * width;
  parallel(double(last - first) * double(d) > work_for_a_thread ? threads_ : 1, last - first, width,
           [&](index begin, index end) {
             std::vector<T> rows(static_cast<std::size_t>(width * d));
             for (index j = first + begin; j < first + end; j += width) {
               index const columns = std::min(width, first + end - j);
               for (index r = 0; r < columns; ++r)
                 x_.dense_row(this->order_[std::size_t(j + r)], centre, rows.data() + r * d);
               T* panel = panels_.data() + j * d;
               for (index c = 0; c < d; ++c, panel += width)
                 for (index r = 0; r < columns; ++r) panel[r] = rows[std::size_t(r * d + c)];
             }
             table.panel_norms(kernel_.pairing == Pairing::dot, panels_.data() + (first + begin) * d, d,
                               (end - begin + width - 1) / width, norms_.data() + first + begin);
           });
}

template <class T>
void Engine<T>::reorder(const std::vector<index>& order, index changed) {
  RowSource<T>::reorder(order, changed);
  if (!gathers()) return pack(0, changed);
  for (index j = 0; j < changed; ++j) norms_[std::size_t(j)] = norms_by_row_[std::size_t(order[std::size_t(j)])];
}

/// Rows as an operand: sparse where that is less work for the tiles.
template <class T>
RowBlock<T> Engine<T>::row_block(const MatrixView& x, const index* ids, index begin, index count, bool own) const {
  RowBlock<T> block;
  index const d = x.columns;
  const double* centre = centre_.empty() ? nullptr : centre_.data();
  auto id = [&](index r) { return ids ? ids[r] : begin + r; };
  if (x.sparse && !centre) {
    block.indptr.push_back(0);
    for (index r = 0; r < count; ++r) {
      if (own) {
        auto const from = compact_.indptr[std::size_t(id(r))], to = compact_.indptr[std::size_t(id(r)) + 1];
        block.indices.insert(block.indices.end(), compact_.indices.begin() + from, compact_.indices.begin() + to);
        block.values.insert(block.values.end(), compact_.values.begin() + from, compact_.values.begin() + to);
      } else {
        x.sparse_row(id(r), block.indices, block.values);
      }
      block.indptr.push_back(index(block.indices.size()));
    }
  } else {
    block.values.resize(std::size_t(count * d));
    for (index r = 0; r < count; ++r) x.dense_row(id(r), centre, block.values.data() + r * d);
    index const nonzeros =
        index(block.values.size()) - index(std::count(block.values.begin(), block.values.end(), T(0)));
    // The other pairings' sums would start from the columns' norms and round differently from a row of a tile.
    // A single row loads every coordinate of a panel once either way; a tile of rows shares the loads.
    bool const same_bits = kernel_.pairing == Pairing::dot || kernel_.pairing == Pairing::minimum;
    if (same_bits && double(nonzeros) < (count < 3 ? 0.7 : 0.2) * double(count * d)) {
      std::vector<T> dense;
      dense.swap(block.values);
      block.indptr.push_back(0);
      for (index r = 0; r < count; ++r) {
        for (index c = 0; c < d; ++c)
          if (T const v = dense[std::size_t(r * d + c)]; v != T(0)) {
            block.indices.push_back(std::int32_t(c));
            block.values.push_back(v);
          }
        block.indptr.push_back(index(block.indices.size()));
      }
    }
  }
  block.norms.resize(std::size_t(count));
  if (own)
    for (index r = 0; r < count; ++r) block.norms[std::size_t(r)] = norms_by_row_[std::size_t(id(r))];
  else
    kernel_table<T>().row_norms(kernel_.pairing == Pairing::dot, block.operand(count), d, block.norms.data());
  return block;
}

template <class T>
void Engine<T>::compute(const RowOperand<T>& x, index first, index last, T* out, index stride) const {
  auto const& table = kernel_table<T>();
  if (!gathers()) {
    index const width = table.panel_width;
    PanelOperand<T> const z{panels_.data(), norms_.data(), x_.columns, first / width, (last + width - 1) / width};
    return table.panel_rows(kernel_, x, z, out, stride);
  }
  GatherOperand<T> const z{compact_.indptr.data(),
                           compact_.indices.data(),
                           compact_.values.data(),
                           norms_.data(),
                           this->order_.data(),
                           x_.columns,
                           first,
                           last};
  // Zeros from calloc: pages that no coordinate of these rows lies in are never touched.
  auto const zeros = std::size_t((x.count == 1 ? 1 : table.gather_block) * std::max<index>(1, x_.columns));
  std::unique_ptr<T, decltype(&std::free)> const scratch(static_cast<T*>(std::calloc(zeros, sizeof(T))), &std::free);
  if (!scratch) throw std::bad_alloc();
  table.gather_rows(kernel_, x, z, scratch.get(), out, stride);
}

/// Rows in pieces that stay in the cache, over the threads: by rows, or by columns where there are few rows.
template <class T>
void Engine<T>::spread(const MatrixView& x, const index* ids, index begin, index count, bool own, index first,
                       index last, T* out, index stride) const {
  constexpr index rows_a_piece = 48;
  double const work = double(count) * double(last - first) * std::max(1.0, density_ * double(x.columns));
  int const threads = work > 2.0 * work_for_a_thread ? threads_ : 1;
  if (count < 2 * threads) {
    RowBlock<T> const block = row_block(x, ids, begin, count, own);
    return parallel(threads, last - first, column_grain, [&](index from, index to) {
      compute(block.operand(count), first + from, first + to, out + from, stride);
    });
  }
  parallel(threads, count, 1, [&](index from, index to) {
    for (index r = from; r < to; r += rows_a_piece) {
      index const rows = std::min(rows_a_piece, to - r);
      RowBlock<T> const block = row_block(x, ids ? ids + r : nullptr, begin + r, rows, own);
      compute(block.operand(rows), first, last, out + r * stride, stride);
    }
  });
}

template <class T>
void Engine<T>::rows(const index* ids, index count, index first, index last, T* out, index stride) {
  spread(x_, ids, 0, count, true, first, last, out, stride);
}

template <class T>
void Engine<T>::block(const MatrixView& x, index begin, index end, T* out, index stride) {
  spread(x, nullptr, begin, end - begin, false, 0, this->size(), out, stride);
}

template <class T>
void Engine<T>::diagonal(double* out) {
  std::vector<T> values(norms_by_row_.size());
  kernel_table<T>().diagonal(kernel_, norms_by_row_.data(), index(values.size()), values.data());
  std::copy(values.begin(), values.end(), out);
}

template class Engine<float>;
template class Engine<double>;

}  // namespace mm
