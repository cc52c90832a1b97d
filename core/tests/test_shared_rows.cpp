// Rows that several solvers read at the same time: the values of the source, whoever asks, within the budget.
#include <cmath>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "check.hpp"
#include "pair_solver.hpp"
#include "shared_rows.hpp"

namespace mm {
namespace {

constexpr index n = 210, d = 5;

struct Points {
  std::vector<double> x;
  std::vector<std::vector<index>> classes{3};  // unordered, of different sizes

  Points() {
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    for (index i = 0; i < n * d; ++i) x.push_back(normal(random));
    for (index i = 0; i < n; ++i) classes[std::size_t(i % 7 < 4 ? 0 : i % 7 < 6 ? 1 : 2)].push_back(i);
  }
  std::shared_ptr<RowSource<double>> source(int threads) const {
    MatrixView v;
    v.rows = n, v.columns = d, v.values = x.data(), v.row_stride = d, v.column_stride = 1;
    return std::make_shared<Engine<double>>(v, KernelSpec{Pairing::dot, Shape::gaussian, 0.3, 0, 1},
                                            std::vector<double>{}, nullptr, threads);
  }
  /// The columns of two classes, and 1 or -1 for each.
  std::vector<index> pair(int a, int b, std::vector<double>& sides) const {
    std::vector<index> ids = classes[std::size_t(a)];
    ids.insert(ids.end(), classes[std::size_t(b)].begin(), classes[std::size_t(b)].end());
    sides.assign(ids.size(), -1.0);
    std::fill_n(sides.begin(), classes[std::size_t(a)].size(), 1.0);
    return ids;
  }
};

/// One row at a time and many, in any order of the columns, from every part: the source's own values.
void values(double budget) {
  Points const points;
  std::vector<double> sides, whole(std::size_t(n * padded(n)));
  std::vector<index> every;
  for (index i = 0; i < n; ++i) every.push_back(i);
  points.source(1)->rows(every.data(), n, 0, n, whole.data(), padded(n));
  auto const shared = std::make_shared<SharedRows<double>>(points.source(2), points.classes, budget);
  for (auto [a, b] : {std::pair{0, 1}, {0, 2}, {1, 2}}) {
    std::vector<index> const ids = points.pair(a, b, sides);
    SharedPart<double> part(shared, ids);
    auto const m = index(ids.size());
    std::vector<index> order(ids.size());
    for (index j = 0; j < m; ++j) order[std::size_t(j)] = (5 * j + 3) % m;
    if (m % 5 != 0) part.reorder(order, m);
    std::vector<double> out(std::size_t(m * padded(m)));
    for (index together : {index(1), index(7), m})
      for (index first = 0; first < m; first += together) {
        index const count = std::min(together, m - first);
        part.rows(every.data() + first, count, 0, m, out.data(), padded(m));
        for (index r = 0; r < count; ++r)
          for (index j = 0; j < m; ++j) {
            index const row = ids[std::size_t(first + r)], column = ids[std::size_t(part.order()[std::size_t(j)])];
            EXPECT(out[std::size_t(r * padded(m) + j)] == whole[std::size_t(row * padded(n) + column)]);
          }
      }
  }
  EXPECT(shared->hits() > 0);
}

/// Solvers in threads of their own, over one store whose rows are computed by two threads more.
void solvers_side_by_side(double budget) {
  Points const points;
  auto const shared = std::make_shared<SharedRows<double>>(points.source(2), points.classes, budget);
  std::vector<std::vector<double>> found(3), alone(3);
  auto solve = [&](int k, std::shared_ptr<SharedRows<double>> rows) {
    std::vector<double> sides;
    std::vector<index> const ids = points.pair(k == 2 ? 1 : 0, k == 0 ? 1 : 2, sides);
    PairProblem p;
    p.sums = {0.0}, p.group.assign(ids.size(), 0);
    p.d.assign(ids.size(), 0.0), p.e = p.d, p.beta = p.d;
    for (double side : sides) {
      p.p.push_back(-side), p.lo.push_back(side > 0 ? 0.0 : -3.0), p.hi.push_back(side > 0 ? 3.0 : 0.0);
    }
    PairSolver<double> solver(std::make_shared<SharedPart<double>>(std::move(rows), ids), p, {}, 4e4);
    auto whole = [&] {
      solver.unshrink();
      while (!solver.rebuild(1e-3)) {
      }
    };
    whole();
    for (int turn = 0; turn < 100'000; ++turn) {
      Pause const pause = solver.run(1 << 20, 1e-3, 1e-6, 20);
      if (pause == Pause::shrink_due) solver.shrink(Shrinking::bounds, 100);
      if (pause != Pause::converged) continue;
      if (solver.active() == solver.size()) break;
      whole();
    }
    EXPECT(solver.violation() <= 1e-6 && solver.active() == solver.size());
    return solver.beta();
  };
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k) threads.emplace_back([&, k] { found[std::size_t(k)] = solve(k, shared); });
  for (auto& t : threads) t.join();
  for (int k = 0; k < 3; ++k) {
    alone[std::size_t(k)] = solve(k, std::make_shared<SharedRows<double>>(points.source(1), points.classes, 1e9));
    EXPECT(found[std::size_t(k)].size() == alone[std::size_t(k)].size());
    for (std::size_t i = 0; i < found[std::size_t(k)].size(); ++i)
      EXPECT(std::abs(found[std::size_t(k)][i] - alone[std::size_t(k)][i]) < 1e-3);
  }
}

int run() {
  for (double budget : {1e9, 3e4}) {
    values(budget);
    solvers_side_by_side(budget);
  }
  return mm::check::status();
}

}  // namespace
}  // namespace mm

int main() { return mm::run(); }
