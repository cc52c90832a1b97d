#include <algorithm>
#include <stdexcept>

#include "columns.hpp"
#include "parallel.hpp"
#include "row_source.hpp"

namespace mm {

namespace {
/// Panels are worth their memory up to this many bytes, or this multiple of the sparse data's own size.
constexpr double panel_bytes_always = 128e6, panel_bytes_per_sparse_byte = 6.0;
/// A thread of its own pays from about this many multiplications.
constexpr double work_for_a_thread = 2e6;
/// Rows that are computed together, and stay in the cache while columns pass by.
constexpr index rows_a_piece = 48;

template <class T>
bool is_wide(const Examples<T>& e) {
  double const bytes = double(padded(e.x.rows)) * double(e.x.columns) * sizeof(T);
  double const own = double(e.x.nonzeros()) * (sizeof(T) + 4);
  return e.sparse() && bytes > std::max(panel_bytes_always, panel_bytes_per_sparse_byte * own);
}

template <class T>
std::unique_ptr<Columns<T>> stored(std::shared_ptr<const Examples<T>> examples, index count) {
  if (examples->codes) return code_columns<T>(std::move(examples), count);
  if (!is_wide(*examples)) return panel_columns<T>(std::move(examples), count);
  // Sums of the other pairings start from the norms: every feature of either example changes them.
  Pairing const pairing = examples->kernel.pairing;
  bool const of_common = pairing == Pairing::dot || pairing == Pairing::minimum;
  return of_common ? inverted_columns<T>(std::move(examples), count) : gathered_columns<T>(std::move(examples), count);
}
}  // namespace

template <class T>
double Examples<T>::work() const {
  double const share = sparse() ? double(x.nonzeros()) / std::max(1.0, double(x.rows) * double(x.columns)) : 1.0;
  return std::max(1.0, share * double(x.columns));
}
template double Examples<float>::work() const;
template double Examples<double>::work() const;

template <class T>
Engine<T>::Engine(const MatrixView& x, const KernelSpec& kernel, std::vector<double> centre,
                  std::shared_ptr<const Codes> codes, int threads)
    : RowSource<T>(x.rows), threads_(threads) {
  if (x.columns > index(INT32_MAX)) throw std::invalid_argument("More than 2147483647 features cannot be used.");
  auto examples = std::make_shared<Examples<T>>();
  examples->x = x, examples->kernel = kernel, examples->centre = std::move(centre), examples->codes = std::move(codes);
  if (examples->sparse() && !examples->codes) {
    examples->compact = sparse_block<T>(x, 0, x.rows);
    examples->norms.resize(std::size_t(x.rows));
    kernel_table<T>().row_norms(examples->squared(), examples->compact.operand(x.rows), x.columns,
                                examples->norms.data());
  }
  examples_ = examples;
  columns_ = stored<T>(examples, x.rows);
  pack(0, x.rows);
  if (examples->norms.empty() && columns_->norms())
    examples->norms.assign(columns_->norms(), columns_->norms() + x.rows);
}

template <class T>
Engine<T>::~Engine() = default;

template <class T>
const char* Engine<T>::storage() const {
  return columns_->name();
}

template <class T>
double Engine<T>::bytes() const {
  RowBlock<T> const& own = examples_->compact;
  double const codes = examples_->codes ? double(examples_->codes->values.size()) : 0;
  return columns_->bytes() + double(own.values.size()) * (sizeof(T) + 4) + codes;
}

template <class T>
int Engine<T>::threads_for(double entries) const {
  return entries * examples_->work() > 2 * work_for_a_thread ? threads_ : 1;
}

/// The columns at positions first ... last - 1 are those of the order.
template <class T>
void Engine<T>::pack(index first, index last) {
  first = first / column_grain * column_grain;
  columns_->pack(this->order_.data() + first, first, last - first, threads_for(double(last - first)));
}

template <class T>
void Engine<T>::reorder(const std::vector<index>& order, index changed) {
  RowSource<T>::reorder(order, changed);
  pack(0, changed);
}

/// Rows in pieces that stay in the cache, over the threads: by rows, or by columns where there are few rows.
template <class T>
template <class MakeRows>
void Engine<T>::spread(const Columns<T>& columns, MakeRows&& make, index count, index first, index last, T* out,
                       index stride) const {
  int const threads = threads_for(double(count) * double(last - first));
  if (count < 2 * threads) {
    RowBlock<T> const block = make(0, count);
    return parallel(threads, last - first, column_grain, [&](index from, index to) {
      columns.compute(block, count, first + from, first + to, out + from, stride);
    });
  }
  parallel(threads, count, 1, [&](index from, index to) {
    for (index r = from; r < to; r += rows_a_piece) {
      index const rows = std::min(rows_a_piece, to - r);
      columns.compute(make(r, rows), rows, first, last, out + r * stride, stride);
    }
  });
}

template <class T>
void Engine<T>::rows(const index* ids, index count, index first, index last, T* out, index stride) {
  auto make = [&](index r, index rows) { return columns_->rows(ids + r, rows); };
  spread(*columns_, make, count, first, last, out, stride);
}

template <class T>
void Engine<T>::block(const MatrixView& x, index begin, index end, T* out, index stride) {
  auto make = [&](index r, index rows) { return columns_->other_rows(x, begin + r, rows); };
  spread(*columns_, make, end - begin, 0, this->size(), out, stride);
}

template <class T>
void Engine<T>::cross(const index* ids, index count, const index* columns, index width, T* out, index stride) {
  auto const chosen = columns_->sibling(width);
  chosen->pack(columns, 0, width, threads_for(double(width)));
  auto make = [&](index r, index rows) { return chosen->rows(ids + r, rows); };
  spread(*chosen, make, count, 0, width, out, stride);
}

/// Each thread takes a run of the columns, and computes and adds up the rows of a few columns at a time: these, the
/// rows and the kernel values stay in its cache.
template <class T>
void Engine<T>::add_up(const Columns<T>& columns, const index* ids, const double* coefficient, T* const* places,
                       index count, index last, double* sums) const {
  std::vector<RowBlock<T>> blocks;
  for (index r = 0; r < count; r += rows_a_piece)
    blocks.push_back(columns.rows(ids + r, std::min(rows_a_piece, count - r)));
  index const wide = columns.columns_a_piece();
  parallel(threads_for(double(count) * double(last)), last, wide, [&](index from, index to) {
    std::vector<T> values(std::size_t(rows_a_piece * wide));
    std::vector<const T*> rows;
    for (index r = 0; r < rows_a_piece; ++r) rows.push_back(values.data() + r * wide);
    for (index j = from; j < to; j += wide) {
      index const some = std::min(wide, to - j);
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        index const r = index(b) * rows_a_piece, here = std::min(rows_a_piece, count - r);
        columns.compute(blocks[b], here, j, j + some, values.data(), wide);
        kernel_table<T>().accumulate(rows.data(), coefficient + r, here, some, sums + j);
        for (index i = 0; i < here; ++i)
          if (places && places[r + i]) std::copy_n(rows[std::size_t(i)], some, places[r + i] + j);
      }
    }
  });
}

template <class T>
void Engine<T>::accumulate(const index* ids, const double* coefficient, T* const* places, index count, index last,
                           double* sums) {
  add_up(*columns_, ids, coefficient, places, count, last, sums);
}

template <class T>
void Engine<T>::products(const index* ids, const double* coefficient, index count, const index* columns, index width,
                         double* sums) {
  auto const chosen = columns_->sibling(width);
  chosen->pack(columns, 0, width, threads_for(double(width)));
  add_up(*chosen, ids, coefficient, nullptr, count, width, sums);
}

template <class T>
void Engine<T>::diagonal(double* out) {
  std::vector<T> norms = examples_->norms;
  if (Codes const* codes = examples_->codes.get())
    for (std::int32_t square : codes->squares) norms.push_back(T(codes->unit * codes->unit * square));
  std::vector<T> values(norms.size());
  kernel_table<T>().diagonal(examples_->kernel, norms.data(), index(values.size()), values.data());
  std::copy(values.begin(), values.end(), out);
}

template class Engine<float>;
template class Engine<double>;

}  // namespace mm
