// Columns of sparse data whose panels would take too much memory, for kernels of sums that only features add to which
// both examples have. Features are renumbered, the most frequent first: these lie in panels. Of every other feature
// there is a list of the columns that have it, and a row adds its products to the sums of those.
#include <algorithm>

#include "columns.hpp"
#include "parallel.hpp"

namespace mm {

namespace {

constexpr double frequent_share = 0.06;  // of the examples: from there on a panel is less work than a list
constexpr double panel_bytes = 64e6;

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
    double const often = frequent_share * double(examples->x.rows);
    index const room = index(panel_bytes / (double(padded(examples->x.rows)) * sizeof(T)));
    while (frequent < std::min(used, room) && double(count[std::size_t(by_count[std::size_t(frequent)])]) > often)
      ++frequent;
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

template <class T>
class InvertedColumns final : public Columns<T> {
 public:
  InvertedColumns(std::shared_ptr<const Renumbered<T>> data, index count)
      : data_(std::move(data)),
        order_(std::size_t(count), -1),
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
    make_lists();
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
    KernelSpec const sums{data_->examples->kernel.pairing, Shape::identity, 1, 0, 1};
    if (data_->frequent > 0) {
      PanelOperand<T> const z{panels_.data(), nullptr, data_->frequent, first / width, (last + width - 1) / width};
      table.panel_rows(sums, x.frequent->operand(count), z, out, stride);
    } else {
      for (index r = 0; r < count; ++r) std::fill_n(out + r * stride, padded(last - first), T(0));
    }
    if (sums.pairing == Pairing::dot)
      add_lists(x, count, first, last, out, stride, [](T a, T b) { return a * b; });
    else
      add_lists(x, count, first, last, out, stride, [](T a, T b) { return std::min(a, b); });
    table.finish_rows(data_->examples->kernel, count, x.norms.data(), norms_.data() + first, last - first, out, stride);
  }

  std::unique_ptr<Columns<T>> sibling(index count) const override {
    return std::make_unique<InvertedColumns>(data_, count);
  }
  index columns_a_piece() const override { return 64 * column_grain; }  // the lists are entered once a piece
  const T* norms() const override { return norms_.data(); }
  double bytes() const override { return double(panels_.size()) * sizeof(T) + double(value_.size()) * (sizeof(T) + 4); }
  const char* name() const override { return "inverted"; }

 private:
  /// For every feature that is not frequent the columns that have it, rising, and their values.
  void make_lists() {
    RowBlock<T> const& from = data_->compact;
    start_.assign(std::size_t(data_->used - data_->frequent) + 1, 0);
    auto each = [&](auto&& body) {
      for (std::size_t j = 0; j < order_.size(); ++j)
        if (order_[j] >= 0)
          for (index e = from.indptr[std::size_t(order_[j])]; e < from.indptr[std::size_t(order_[j]) + 1]; ++e)
            body(index(j), std::size_t(from.indices[std::size_t(e)]), from.values[std::size_t(e)]);
    };
    each([&](index, std::size_t feature, T) { ++start_[feature + 1]; });
    for (std::size_t c = 1; c < start_.size(); ++c) start_[c] += start_[c - 1];
    column_.resize(std::size_t(start_.back()));
    value_.resize(column_.size());
    std::vector<index> next(start_.begin(), start_.end() - 1);
    each([&](index j, std::size_t feature, T value) {
      auto const place = std::size_t(next[feature]++);
      column_[place] = std::int32_t(j), value_[place] = value;
    });
  }

  template <class Product>
  void add_lists(const RowBlock<T>& x, index count, index first, index last, T* out, index stride,
                 Product&& product) const {
    const std::int32_t* const columns = column_.data();
    for (index r = 0; r < count; ++r) {
      T* const sums = out + r * stride - first;
      for (index e = x.indptr[std::size_t(r)]; e < x.indptr[std::size_t(r) + 1]; ++e) {
        auto const feature = std::size_t(x.indices[std::size_t(e)]);
        T const value = x.values[std::size_t(e)];
        index at = std::lower_bound(columns + start_[feature], columns + start_[feature + 1], first) - columns;
        for (; at < start_[feature + 1] && columns[at] < last; ++at)
          sums[columns[at]] += product(value, value_[std::size_t(at)]);
      }
    }
  }

  std::shared_ptr<const Renumbered<T>> data_;
  std::vector<index> order_;  // -1: no column yet
  std::vector<T> norms_, panels_;
  std::vector<index> start_;  // of the list of each feature
  std::vector<std::int32_t> column_;
  std::vector<T> value_;
};

}  // namespace

template <class T>
std::unique_ptr<Columns<T>> inverted_columns(std::shared_ptr<const Examples<T>> examples, index count) {
  return std::make_unique<InvertedColumns<T>>(std::make_shared<Renumbered<T>>(std::move(examples)), count);
}
template std::unique_ptr<Columns<float>> inverted_columns(std::shared_ptr<const Examples<float>>, index);
template std::unique_ptr<Columns<double>> inverted_columns(std::shared_ptr<const Examples<double>>, index);

}  // namespace mm
