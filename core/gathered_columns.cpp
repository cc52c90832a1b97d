// Columns of sparse data whose panels would take too much memory. Features are renumbered, the most frequent first: as
// many of these as memory allows lie in panels, on which most of the work is done; of the rest, rows are spread over a
// scratch, and the columns' nonzeros gather from it.
#include <algorithm>
#include <mutex>

#include "columns.hpp"
#include "parallel.hpp"

namespace mm {

namespace {

constexpr double panel_bytes = 128e6;  // for the frequent features

/// The examples with renumbered features; shared by all columns of them.
template <class T>
struct Renumbered {
  std::shared_ptr<const Examples<T>> examples;
  std::vector<std::int32_t> number;  // of a feature, or -1 where no example has it
  RowBlock<T> compact;               // the frequent features apart
  index used = 0, frequent = 0;      // features; those in panels

  explicit Renumbered(std::shared_ptr<const Examples<T>> from) : examples(std::move(from)) {
    RowBlock<T> const& data = examples->compact;
    std::vector<index> count(static_cast<std::size_t>(examples->x.columns), 0);
    for (std::int32_t c : data.indices) ++count[std::size_t(c)];
    std::vector<std::int32_t> by_count;
    for (std::size_t c = 0; c < count.size(); ++c)
      if (count[c] > 0) by_count.push_back(std::int32_t(c));
    std::sort(by_count.begin(), by_count.end(), [&](std::int32_t a, std::int32_t b) {
      return count[std::size_t(a)] != count[std::size_t(b)] ? count[std::size_t(a)] > count[std::size_t(b)] : a < b;
    });
    used = index(by_count.size());
    number.assign(count.size(), -1);
    for (std::size_t k = 0; k < by_count.size(); ++k) number[std::size_t(by_count[k])] = std::int32_t(k);
    // The sums of the other pairings start from the norms, of all features at once.
    Pairing const pairing = examples->kernel.pairing;
    if (pairing == Pairing::dot || pairing == Pairing::minimum)
      frequent = std::min(used, index(panel_bytes / (double(padded(examples->x.rows)) * sizeof(T))));
    compact = renumbered(data);
  }

  /// The block without the features that no example has, the frequent ones apart.
  RowBlock<T> renumbered(const RowBlock<T>& block) const {
    RowBlock<T> out;
    out.norms = block.norms;
    out.frequent = std::make_unique<RowBlock<T>>();
    out.indptr.push_back(0);
    out.frequent->indptr.push_back(0);
    for (std::size_t r = 0; r + 1 < block.indptr.size(); ++r) {
      for (auto e = std::size_t(block.indptr[r]); e < std::size_t(block.indptr[r + 1]); ++e) {
        std::int32_t const c = number[std::size_t(block.indices[e])];
        if (c < 0) continue;
        RowBlock<T>& to = c < frequent ? *out.frequent : out;
        to.indices.push_back(c < frequent ? c : c - std::int32_t(frequent));
        to.values.push_back(block.values[e]);
      }
      out.indptr.push_back(index(out.indices.size()));
      out.frequent->indptr.push_back(index(out.frequent->indices.size()));
    }
    return out;
  }
};

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
  GatheredColumns(std::shared_ptr<const Renumbered<T>> data, std::shared_ptr<Scratches<T>> scratches, index count)
      : data_(std::move(data)),
        scratches_(std::move(scratches)),
        order_(std::size_t(count)),
        norms_(std::size_t(padded(count)), T(0)),
        panels_(std::size_t(padded(count) * data_->frequent), T(0)) {}

  void pack(const index* order, index first, index count, int threads) override {
    index const width = kernel_table<T>().panel_width, d = data_->frequent;
    RowBlock<T> const& from = *data_->compact.frequent;
    parallel(threads, count, width, [&](index begin, index end) {
      for (index j = first + begin; j < first + end; ++j) {
        index const id = order[j - first];
        order_[std::size_t(j)] = id;
        norms_[std::size_t(j)] = data_->examples->norms[std::size_t(id)];
        T* const panel = panels_.data() + j / width * width * d + j % width;
        for (index c = 0; c < d; ++c) panel[c * width] = T(0);
        for (index e = from.indptr[std::size_t(id)]; e < from.indptr[std::size_t(id) + 1]; ++e)
          panel[index(from.indices[std::size_t(e)]) * width] = from.values[std::size_t(e)];
      }
    });
  }

  RowBlock<T> rows(const index* ids, index count) const override {
    RowBlock<T> block = chosen_rows(data_->compact, data_->examples->norms, ids, count);
    block.frequent =
        std::make_unique<RowBlock<T>>(chosen_rows(*data_->compact.frequent, data_->examples->norms, ids, count));
    return block;
  }

  RowBlock<T> other_rows(const MatrixView& x, index begin, index count) const override {
    RowBlock<T> block = sparse_block<T>(x, begin, count);
    block.norms.resize(std::size_t(count));
    kernel_table<T>().row_norms(data_->examples->squared(), block.operand(count), x.columns, block.norms.data());
    return data_->renumbered(block);
  }

  void compute(const RowBlock<T>& x, index count, index first, index last, T* out, index stride) const override {
    auto const& table = kernel_table<T>();
    index const width = table.panel_width;
    bool const begun = data_->frequent > 0;
    if (begun) {
      KernelSpec const sums{data_->examples->kernel.pairing, Shape::identity, 1, 0, 1};
      PanelOperand<T> const z{panels_.data(), nullptr, data_->frequent, first / width, (last + width - 1) / width};
      table.panel_rows(sums, x.frequent->operand(count), z, out, stride);
    }
    RowBlock<T> const& columns = data_->compact;
    GatherOperand<T> const z{columns.indptr.data(),
                             columns.indices.data(),
                             columns.values.data(),
                             norms_.data(),
                             order_.data(),
                             data_->used - data_->frequent,
                             first,
                             last,
                             begun};
    std::vector<T> scratch = scratches_->take();
    table.gather_rows(data_->examples->kernel, x.operand(count), z, scratch.data(), out, stride);
    scratches_->give_back(std::move(scratch));
  }

  std::unique_ptr<Columns<T>> sibling(index count) const override {
    return std::make_unique<GatheredColumns>(data_, scratches_, count);
  }
  index columns_a_piece() const override { return (data_->frequent > 0 ? 4 : 64) * column_grain; }
  const T* norms() const override { return norms_.data(); }
  const char* name() const override { return "gathered"; }

 private:
  std::shared_ptr<const Renumbered<T>> data_;
  std::shared_ptr<Scratches<T>> scratches_;
  std::vector<index> order_;
  std::vector<T> norms_, panels_;
};

}  // namespace

template <class T>
std::unique_ptr<Columns<T>> gathered_columns(std::shared_ptr<const Examples<T>> examples, index count) {
  auto data = std::make_shared<Renumbered<T>>(std::move(examples));
  auto scratches =
      std::make_shared<Scratches<T>>(kernel_table<T>().gather_block * std::max<index>(1, data->used - data->frequent));
  return std::make_unique<GatheredColumns<T>>(std::move(data), std::move(scratches), count);
}
template std::unique_ptr<Columns<float>> gathered_columns(std::shared_ptr<const Examples<float>>, index);
template std::unique_ptr<Columns<double>> gathered_columns(std::shared_ptr<const Examples<double>>, index);

}  // namespace mm
