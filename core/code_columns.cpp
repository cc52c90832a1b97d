// Columns as panels of small integers.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "columns.hpp"
#include "parallel.hpp"

namespace mm {

namespace {

/// Rows of which fewer groups than this are not zero are computed group by group.
constexpr double sparse_share = 0.5;

class CodePacking {
 public:
  explicit CodePacking(const Codes& codes)
      : codes_(codes),
        in_bytes_(vector_table().code_group == 4),
        shift_(in_bytes_ && codes.largest > 127 ? 128 : 0),
        groups_(codes.width / vector_table().code_group) {}

  index groups() const { return groups_; }
  /// What the panels' shift takes from each inner product of a row.
  std::int32_t shift_of(index id) const { return shift_ * codes_.sums[std::size_t(id)]; }

  /// The groups of a row: as a row's, unsigned bytes; as a column's, signed ones.
  void groups_of(index id, bool as_column, std::int32_t* out) const {
    const std::uint8_t* q = codes_.row(id);
    if (!in_bytes_) {
      for (index g = 0; g < groups_; ++g) out[g] = std::int32_t(q[2 * g]) | (std::int32_t(q[2 * g + 1]) << 16);
      return;
    }
    std::memcpy(out, q, std::size_t(codes_.width));
    // Less 128 as signed bytes is the highest bit turned.
    if (as_column && shift_ != 0)
      for (index g = 0; g < groups_; ++g) out[g] ^= std::int32_t(0x80808080u);
  }

 private:
  const Codes& codes_;
  bool in_bytes_;
  std::int32_t shift_;
  index groups_;
};

template <class T>
class CodeColumns final : public Columns<T> {
 public:
  CodeColumns(std::shared_ptr<const Examples<T>> examples, index count)
      : examples_(std::move(examples)),
        packing_(*examples_->codes),
        panels_(std::size_t(padded(count) * packing_.groups()), 0),
        squares_(std::size_t(padded(count)), 0) {}

  void pack(const index* order, index first, index count, int threads) override {
    index const groups = packing_.groups(), width = vector_table().code_panel;
    parallel(threads, count, width, [&](index begin, index end) {
      std::vector<std::int32_t> column(static_cast<std::size_t>(groups));
      for (index j = begin; j < end; ++j) {
        packing_.groups_of(order[j], true, column.data());
        std::int32_t* const panel = panels_.data() + (first + j) / width * width * groups + (first + j) % width;
        for (index g = 0; g < groups; ++g) panel[g * width] = column[std::size_t(g)];
        squares_[std::size_t(first + j)] = examples_->codes->squares[std::size_t(order[j])];
      }
    });
  }

  RowBlock<T> rows(const index* ids, index count) const override {
    RowBlock<T> block;
    index const groups = packing_.groups();
    CodeBlock& x = block.codes;
    x.values.resize(std::size_t(count * groups));
    for (index r = 0; r < count; ++r) {
      packing_.groups_of(ids[r], false, x.values.data() + r * groups);
      x.squares.push_back(examples_->codes->squares[std::size_t(ids[r])]);
      x.shifts.push_back(packing_.shift_of(ids[r]));
    }
    index const nonzeros = count * groups - index(std::count(x.values.begin(), x.values.end(), 0));
    if (double(nonzeros) < sparse_share * double(count * groups)) make_sparse(x, count, nonzeros);
    return block;
  }

  RowBlock<T> other_rows(const MatrixView&, index, index) const override {
    throw std::logic_error("Codes are of one set of examples.");
  }

  void compute(const RowBlock<T>& x, index count, index first, index last, T* out, index stride) const override {
    index const width = vector_table().code_panel;
    CodeBlock const& c = x.codes;
    CodeRows const rows{count,
                        packing_.groups(),
                        c.values.data(),
                        c.indptr.empty() ? nullptr : c.indptr.data(),
                        c.indices.data(),
                        c.squares.data(),
                        c.shifts.data()};
    double const unit = examples_->codes->unit;
    CodePanels const z{panels_.data(), squares_.data(), unit * unit, first / width, (last + width - 1) / width};
    kernel_table<T>().code_rows(examples_->kernel, rows, z, out, stride);
  }

  std::unique_ptr<Columns<T>> sibling(index count) const override {
    return std::make_unique<CodeColumns>(examples_, count);
  }
  double bytes() const override { return double(panels_.size()) * 4; }
  const char* name() const override { return "integers"; }

 private:
  void make_sparse(CodeBlock& x, index count, index nonzeros) const {
    index const groups = packing_.groups();
    std::vector<std::int32_t> dense;
    dense.swap(x.values);
    x.values.reserve(std::size_t(nonzeros));
    x.indices.reserve(std::size_t(nonzeros));
    x.indptr.push_back(0);
    for (index r = 0; r < count; ++r) {
      for (index g = 0; g < groups; ++g)
        if (std::int32_t const v = dense[std::size_t(r * groups + g)]; v != 0) {
          x.values.push_back(v);
          x.indices.push_back(std::int32_t(g));
        }
      x.indptr.push_back(index(x.values.size()));
    }
  }

  std::shared_ptr<const Examples<T>> examples_;
  CodePacking packing_;
  std::vector<std::int32_t> panels_, squares_;
};

}  // namespace

template <class T>
std::unique_ptr<Columns<T>> code_columns(std::shared_ptr<const Examples<T>> examples, index count) {
  return std::make_unique<CodeColumns<T>>(std::move(examples), count);
}
template std::unique_ptr<Columns<float>> code_columns(std::shared_ptr<const Examples<float>>, index);
template std::unique_ptr<Columns<double>> code_columns(std::shared_ptr<const Examples<double>>, index);

}  // namespace mm
