// The row cache against a source that writes down what it is asked for.
#include <utility>
#include <vector>

#include "check.hpp"
#include "row_cache.hpp"

namespace mm {
namespace {

/// k(x_i, x_j) = 1000 i + j, and a list of the rows and columns computed.
struct Written final : RowSource<double> {
  using RowSource<double>::RowSource;
  struct Run {
    index id, first, last;
    bool operator==(const Run&) const = default;
  };
  std::vector<Run> runs;
  void rows(const index* ids, index count, index first, index last, double* out, index stride) override {
    for (index r = 0; r < count; ++r) {
      runs.push_back({ids[r], first, last});
      for (index j = first; j < last; ++j)
        out[r * stride + j - first] = 1000.0 * double(ids[r]) + double(this->order_[std::size_t(j)]);
    }
  }
  void diagonal(double*) override {}
  std::vector<Run> taken() { return std::exchange(runs, {}); }
};

constexpr index n = 64;
constexpr double row_bytes = double(n) * sizeof(double);

void oldest_goes_first() {
  auto const source = std::make_shared<Written>(n);
  RowCache<double> cache(source, 4 * row_bytes);
  for (index id : {0, 1, 2, 3}) cache.row(id, n);
  cache.row(0, n);
  source->taken();
  cache.row(4, n);  // in the place of 1
  EXPECT((source->taken() == std::vector<Written::Run>{{4, 0, n}}));
  for (index id : {0, 2, 3, 4}) cache.row(id, n);
  EXPECT(source->taken().empty());
  EXPECT(cache.peek(1, n) == nullptr);
  cache.row(1, n);  // in the place of 0, whose last use is now the oldest
  EXPECT((source->taken() == std::vector<Written::Run>{{1, 0, n}}));
  EXPECT(cache.peek(0, n) == nullptr);
  EXPECT(cache.counters.hits == 5 && cache.counters.misses == 6 && cache.counters.rows_computed == 6);
  EXPECT(cache.bytes() <= 4 * row_bytes);
}

/// After shrinking rows keep the kept columns, in slots of which more fit; after that they are made longer, not anew.
void columns_of_active_variables() {
  auto const source = std::make_shared<Written>(n);
  RowCache<double> cache(source, 4 * row_bytes);
  for (index id : {0, 1, 2, 3}) cache.row(id, n);
  source->taken();
  std::vector<index> order, from;
  for (index j = 0; j < n; j += 2) from.push_back(j);
  for (index j = 1; j < n; j += 2) from.push_back(j);
  order = from;
  cache.shrink(order, from, n, n / 2);
  for (index id : {0, 1, 2, 3, 5, 6, 7, 8}) {
    const double* values = cache.row(id, n / 2);
    for (index j = 0; j < n / 2; ++j) EXPECT(values[j] == 1000.0 * double(id) + double(2 * j));
  }
  std::vector<Written::Run> const fresh{{5, 0, n / 2}, {6, 0, n / 2}, {7, 0, n / 2}, {8, 0, n / 2}};
  EXPECT(source->taken() == fresh);
  cache.widen();  // four slots again: the rows used last stay
  const double* values = cache.row(8, n);
  for (index j = 0; j < n; ++j) EXPECT(values[j] == 8000.0 + double(order[std::size_t(j)]));
  EXPECT((source->taken() == std::vector<Written::Run>{{8, n / 2, n}}));
  EXPECT(cache.peek(0, n / 2) == nullptr);
  EXPECT(cache.bytes() <= 4 * row_bytes);
}

int run() {
  oldest_goes_first();
  columns_of_active_variables();
  return mm::check::status();
}

}  // namespace
}  // namespace mm

int main() { return mm::run(); }
