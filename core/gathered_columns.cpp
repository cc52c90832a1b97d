// Columns of sparse data whose panels would take too much memory: rows are spread over a scratch, and the columns'
// nonzeros gather from it.
#include <algorithm>
#include <cstdlib>
#include <new>

#include "columns.hpp"

namespace mm {

namespace {

template <class T>
class GatheredColumns final : public Columns<T> {
 public:
  GatheredColumns(std::shared_ptr<const Examples<T>> examples, index count)
      : examples_(std::move(examples)), order_(std::size_t(count)), norms_(std::size_t(padded(count)), T(0)) {}

  void pack(const index* order, index first, index count, int) override {
    for (index j = 0; j < count; ++j) {
      order_[std::size_t(first + j)] = order[j];
      norms_[std::size_t(first + j)] = examples_->norms[std::size_t(order[j])];
    }
  }

  RowBlock<T> rows(const index* ids, index count) const override {
    return chosen_rows(examples_->compact, examples_->norms, ids, count);
  }

  RowBlock<T> other_rows(const MatrixView& x, index begin, index count) const override {
    RowBlock<T> block = sparse_block<T>(x, begin, count);
    block.norms.resize(std::size_t(count));
    kernel_table<T>().row_norms(examples_->squared(), block.operand(count), x.columns, block.norms.data());
    return block;
  }

  void compute(const RowBlock<T>& x, index count, index first, index last, T* out, index stride) const override {
    auto const& table = kernel_table<T>();
    RowBlock<T> const& columns = examples_->compact;
    GatherOperand<T> const z{columns.indptr.data(), columns.indices.data(), columns.values.data(), norms_.data(),
                             order_.data(),         examples_->x.columns,   first,                 last};
    // Zeros from calloc: pages that no coordinate of these rows lies in are never touched.
    auto const zeros = std::size_t((count == 1 ? 1 : table.gather_block) * std::max<index>(1, examples_->x.columns));
    std::unique_ptr<T, decltype(&std::free)> const scratch(static_cast<T*>(std::calloc(zeros, sizeof(T))), &std::free);
    if (!scratch) throw std::bad_alloc();
    table.gather_rows(examples_->kernel, x.operand(count), z, scratch.get(), out, stride);
  }

  std::unique_ptr<Columns<T>> sibling(index count) const override {
    return std::make_unique<GatheredColumns>(examples_, count);
  }
  index columns_a_piece() const override { return 64 * column_grain; }  // a row is spread once a piece
  const T* norms() const override { return norms_.data(); }
  const char* name() const override { return "gathered"; }

 private:
  std::shared_ptr<const Examples<T>> examples_;
  std::vector<index> order_;
  std::vector<T> norms_;
};

}  // namespace

template <class T>
std::unique_ptr<Columns<T>> gathered_columns(std::shared_ptr<const Examples<T>> examples, index count) {
  return std::make_unique<GatheredColumns<T>>(std::move(examples), count);
}
template std::unique_ptr<Columns<float>> gathered_columns(std::shared_ptr<const Examples<float>>, index);
template std::unique_ptr<Columns<double>> gathered_columns(std::shared_ptr<const Examples<double>>, index);

}  // namespace mm
