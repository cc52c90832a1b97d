// Columns as panels of floating-point numbers.
#include <algorithm>

#include "columns.hpp"
#include "parallel.hpp"

namespace mm {

namespace {

template <class T>
class PanelColumns final : public Columns<T> {
 public:
  PanelColumns(std::shared_ptr<const Examples<T>> examples, index count)
      : examples_(std::move(examples)),
        panels_(std::size_t(padded(count) * std::max<index>(1, examples_->x.columns)), T(0)),
        norms_(std::size_t(padded(count)), T(0)) {}

  void pack(const index* order, index first, index count, int threads) override {
    auto const& table = kernel_table<T>();
    index const d = examples_->x.columns, width = table.panel_width;
    parallel(threads, count, width, [&](index begin, index end) {
      std::vector<T> rows(static_cast<std::size_t>(width * d));
      for (index j = begin; j < end; j += width) {
        index const columns = std::min(width, end - j);
        for (index r = 0; r < columns; ++r) examples_->x.dense_row(order[j + r], centre(), rows.data() + r * d);
        T* panel = panels_.data() + (first + j) * d;
        for (index c = 0; c < d; ++c, panel += width)
          for (index r = 0; r < columns; ++r) panel[r] = rows[std::size_t(r * d + c)];
      }
      table.panel_norms(examples_->squared(), panels_.data() + (first + begin) * d, d,
                        (end - begin + width - 1) / width, norms_.data() + first + begin);
    });
  }

  RowBlock<T> rows(const index* ids, index count) const override {
    if (examples_->sparse()) return chosen_rows(examples_->compact, examples_->norms, ids, count);
    RowBlock<T> block = dense(examples_->x, ids, 0, count);
    for (index r = 0; r < count; ++r) block.norms.push_back(examples_->norms[std::size_t(ids[r])]);
    return block;
  }

  RowBlock<T> other_rows(const MatrixView& x, index begin, index count) const override {
    bool const sparse = x.sparse && !centre();
    RowBlock<T> block = sparse ? sparse_block<T>(x, begin, count) : dense(x, nullptr, begin, count);
    block.norms.resize(std::size_t(count));
    kernel_table<T>().row_norms(examples_->squared(), block.operand(count), x.columns, block.norms.data());
    return block;
  }

  void compute(const RowBlock<T>& x, index count, index first, index last, T* out, index stride) const override {
    auto const& table = kernel_table<T>();
    index const width = table.panel_width;
    PanelOperand<T> const z{panels_.data(), norms_.data(), examples_->x.columns, first / width,
                            (last + width - 1) / width};
    table.panel_rows(examples_->kernel, x.operand(count), z, out, stride);
  }

  std::unique_ptr<Columns<T>> sibling(index count) const override {
    return std::make_unique<PanelColumns>(examples_, count);
  }
  const T* norms() const override { return norms_.data(); }
  double bytes() const override { return double(panels_.size()) * sizeof(T); }
  const char* name() const override { return "panels"; }

 private:
  const double* centre() const { return examples_->centre.empty() ? nullptr : examples_->centre.data(); }

  /// Dense rows, without their zeros where that is less work for the tiles.
  RowBlock<T> dense(const MatrixView& x, const index* ids, index begin, index count) const {
    RowBlock<T> block;
    index const d = x.columns;
    block.values.resize(std::size_t(count * d));
    for (index r = 0; r < count; ++r) x.dense_row(ids ? ids[r] : begin + r, centre(), block.values.data() + r * d);
    index const nonzeros =
        index(block.values.size()) - index(std::count(block.values.begin(), block.values.end(), T(0)));
    // The other pairings' sums would start from the columns' norms and round differently from a row of a tile.
    // A single row loads every coordinate of a panel once either way; a tile of rows shares the loads.
    Pairing const pairing = examples_->kernel.pairing;
    bool const same_bits = pairing == Pairing::dot || pairing == Pairing::minimum;
    if (!same_bits || double(nonzeros) >= (count < 3 ? 0.7 : 0.2) * double(count * d)) return block;
    std::vector<T> values;
    values.swap(block.values);
    block.indptr.push_back(0);
    for (index r = 0; r < count; ++r) {
      for (index c = 0; c < d; ++c)
        if (T const v = values[std::size_t(r * d + c)]; v != T(0)) {
          block.indices.push_back(std::int32_t(c));
          block.values.push_back(v);
        }
      block.indptr.push_back(index(block.indices.size()));
    }
    return block;
  }

  std::shared_ptr<const Examples<T>> examples_;
  std::vector<T> panels_, norms_;
};

}  // namespace

template <class T>
std::unique_ptr<Columns<T>> panel_columns(std::shared_ptr<const Examples<T>> examples, index count) {
  return std::make_unique<PanelColumns<T>>(std::move(examples), count);
}
template std::unique_ptr<Columns<float>> panel_columns(std::shared_ptr<const Examples<float>>, index);
template std::unique_ptr<Columns<double>> panel_columns(std::shared_ptr<const Examples<double>>, index);

}  // namespace mm
