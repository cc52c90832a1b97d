// Columns of sparse data whose panels would take too much memory: rows are spread over a scratch, and the columns'
// nonzeros gather from it.
#include <algorithm>
#include <mutex>

#include "columns.hpp"

namespace mm {

namespace {

/// Scratches of zeros, which come back as zeros.
template <class T>
class Scratches {
 public:
  explicit Scratches(index size) : size_(std::size_t(size)) {}
  std::vector<T> take() {
    std::lock_guard<std::mutex> const lock(guard_);
    if (free_.empty()) return std::vector<T>(size_, T(0));
    std::vector<T> scratch = std::move(free_.back());
    free_.pop_back();
    return scratch;
  }
  void give_back(std::vector<T> scratch) {
    std::lock_guard<std::mutex> const lock(guard_);
    free_.push_back(std::move(scratch));
  }

 private:
  std::size_t size_;
  std::mutex guard_;
  std::vector<std::vector<T>> free_;
};

template <class T>
class GatheredColumns final : public Columns<T> {
 public:
  GatheredColumns(std::shared_ptr<const Examples<T>> examples, std::shared_ptr<Scratches<T>> scratches, index count)
      : examples_(std::move(examples)),
        scratches_(std::move(scratches)),
        order_(std::size_t(count)),
        norms_(std::size_t(padded(count)), T(0)) {}

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
    GatherOperand<T> const z{columns.indptr.data(),
                             columns.indices.data(),
                             columns.values.data(),
                             norms_.data(),
                             order_.data(),
                             examples_->x.columns,
                             first,
                             last};
    std::vector<T> scratch = scratches_->take();
    table.gather_rows(examples_->kernel, x.operand(count), z, scratch.data(), out, stride);
    scratches_->give_back(std::move(scratch));
  }

  std::unique_ptr<Columns<T>> sibling(index count) const override {
    return std::make_unique<GatheredColumns>(examples_, scratches_, count);
  }
  index columns_a_piece() const override { return 64 * column_grain; }  // a row is spread once a piece
  const T* norms() const override { return norms_.data(); }
  double bytes() const override { return double(order_.size()) * sizeof(index); }
  const char* name() const override { return "gathered"; }

 private:
  std::shared_ptr<const Examples<T>> examples_;
  std::shared_ptr<Scratches<T>> scratches_;
  std::vector<index> order_;
  std::vector<T> norms_;
};

}  // namespace

template <class T>
std::unique_ptr<Columns<T>> gathered_columns(std::shared_ptr<const Examples<T>> examples, index count) {
  index const size = kernel_table<T>().gather_block * std::max<index>(1, examples->x.columns);
  return std::make_unique<GatheredColumns<T>>(std::move(examples), std::make_shared<Scratches<T>>(size), count);
}
template std::unique_ptr<Columns<float>> gathered_columns(std::shared_ptr<const Examples<float>>, index);
template std::unique_ptr<Columns<double>> gathered_columns(std::shared_ptr<const Examples<double>>, index);

}  // namespace mm
