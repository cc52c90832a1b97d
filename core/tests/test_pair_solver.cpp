// The pair solver: every selection and shrinking rule reaches the same optimum, whatever the size, the cache, the
// sums and the threads; its gradient is that of its beta.
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "pair_solver.hpp"

namespace mm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Points {
  index n, d;
  std::vector<double> x, y;

  Points(index count, index dimension, unsigned seed) : n(count), d(dimension) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (index i = 0; i < n * d; ++i) x.push_back(normal(random));
    for (index i = 0; i < n; ++i) {
      double const at = d > 0 ? x[std::size_t(i * d)] : 0.0;
      y.push_back(i == 0 ? 1.0 : i == 1 ? -1.0 : at + normal(random) > 0 ? 1.0 : -1.0);
    }
  }

  template <class T>
  std::shared_ptr<RowSource<T>> source(int threads) const {
    MatrixView v;
    v.rows = n, v.columns = d, v.values = x.data(), v.row_stride = d, v.column_stride = 1;
    return std::make_shared<Engine<T>>(v, KernelSpec{Pairing::dot, Shape::gaussian, 0.5, 0, 1}, std::vector<double>{},
                                       nullptr, threads);
  }
  double kernel(index i, index j) const {
    double squared = 0;
    for (index c = 0; c < d; ++c) {
      double const difference = x[std::size_t(i * d + c)] - x[std::size_t(j * d + c)];
      squared += difference * difference;
    }
    return std::exp(-0.5 * squared);
  }
};

/// The losses that between them use every term: bounds, infinite bounds, curvature, kinks, one sum, none, several,
/// copies.
enum class Loss : int { hinge, squared, tube, free_tube, no_sum, no_sum_tube, two_sums, copies };
constexpr int losses = 8;

PairProblem problem_of(Loss loss, const Points& points) {
  auto const n = std::size_t(points.n);
  PairProblem p;
  double const C = 2.0;
  bool const tube = loss == Loss::tube || loss == Loss::free_tube || loss == Loss::no_sum_tube;
  p.p.resize(n), p.lo.resize(n), p.hi.resize(n), p.d.assign(n, 0.0), p.e.assign(n, tube ? 0.3 : 0.0),
      p.beta.assign(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    bool const positive = points.y[i] > 0;
    p.p[i] = -points.y[i];
    p.lo[i] = tube ? -C : positive ? 0.0 : -C;
    p.hi[i] = tube ? C : positive ? C : 0.0;
    if (loss == Loss::squared) (positive ? p.hi[i] : p.lo[i]) = positive ? infinity : -infinity, p.d[i] = 0.25;
    if (loss == Loss::free_tube) p.lo[i] = -infinity, p.hi[i] = infinity, p.d[i] = 0.25;
    if (loss == Loss::two_sums) {
      p.p[i] = 0.0;
      p.group.push_back(positive ? 0 : 1);
    }
  }
  if (loss == Loss::no_sum || loss == Loss::no_sum_tube) return p;
  if (loss == Loss::two_sums) {  // both sums 1, from a feasible point
    p.sums = {1.0, n > 1 ? -1.0 : 0.0};
    p.beta[0] = p.sums[0];
    if (n > 1) p.beta[1] = p.sums[1];
    return p;
  }
  if (loss == Loss::copies) {
    p.copies = 2;
    p.sums = {1.0, -1.0};
    p.group.assign(2 * n, 0);
    std::fill(p.group.begin() + index(n), p.group.end(), 1);
    for (auto* v : {&p.p, &p.d, &p.e, &p.beta}) v->insert(v->end(), v->begin(), v->begin() + index(n));
    p.lo.assign(2 * n, 0.0), p.hi.assign(2 * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) p.hi[i] = C, p.lo[n + i] = -C, p.p[i] = p.p[n + i] = -points.y[i];
    p.beta[0] = 1.0, p.beta[2 * n - 1] = -1.0;
    return p;
  }
  p.sums = {0.0};
  p.group.assign(n, 0);
  return p;
}

double objective(const Points& points, const PairProblem& p, const std::vector<double>& beta) {
  auto const n = std::size_t(points.n);
  std::vector<double> coefficient(n, 0.0);
  double q = 0;
  for (std::size_t v = 0; v < beta.size(); ++v) {
    coefficient[v % n] += beta[v];
    q += p.p[v] * beta[v] + 0.5 * p.d[v] * beta[v] * beta[v] + p.e[v] * std::abs(beta[v]);
  }
  for (index i = 0; i < points.n; ++i)
    for (index j = 0; j < points.n; ++j)
      q += 0.5 * coefficient[std::size_t(i)] * coefficient[std::size_t(j)] * points.kernel(i, j);
  return q;
}

struct Rule {
  Selection selection;
  GainRows rows;
  Shrinking shrinking;
  double cache_bytes;
};

/// Runs as the library does: in short slices, shrinking when due, all variables back for the end.
template <class T>
std::vector<double> solved(const Points& points, const PairProblem& problem, Rule rule, double tol, int threads,
                           const std::string& shown) {
  PairSolver<T> solver(points.source<T>(threads), problem, {rule.selection, rule.rows, 1e-8}, rule.cache_bytes);
  auto whole = [&] {
    solver.unshrink();
    while (!solver.rebuild(1e-4)) {
    }
  };
  whole();
  bool const shrinks = rule.shrinking != Shrinking::none;
  for (int turn = 0; turn < 200'000; ++turn) {
    Pause const pause = solver.run(1 << 20, 0.01, solver.active() < solver.size() ? 10 * tol : tol, shrinks ? 20 : 0);
    if (pause == Pause::shrink_due) solver.shrink(rule.shrinking, 30);
    if (pause != Pause::converged && pause != Pause::stalled) continue;
    if (solver.active() == solver.size()) {
      EXPECT(pause == Pause::converged || rule.selection == Selection::mg, shown);
      break;
    }
    whole();
  }
  if (solver.active() < solver.size()) whole();
  EXPECT(rule.selection == Selection::mg || solver.violation() <= tol, shown);
  EXPECT(solver.cache().bytes() <= std::max(rule.cache_bytes, 4.0 * double(padded(points.n)) * sizeof(T)) + 1e5, shown);
  std::vector<double> const beta = solver.beta(), gradient = solver.gradient();
  auto const n = std::size_t(points.n);
  for (std::size_t v = 0; v < beta.size(); ++v) {
    EXPECT(beta[v] >= problem.lo[v] && beta[v] <= problem.hi[v], shown);
    double g = problem.p[v] + problem.d[v] * beta[v];
    for (std::size_t u = 0; u < beta.size(); ++u) g += beta[u] * points.kernel(index(u % n), index(v % n));
    EXPECT(std::abs(g - gradient[v]) <= (sizeof(T) == 4 ? 1e-4 : 1e-9), shown);
  }
  return beta;
}

template <class T>
void all_rules(index n, index d) {
  Points const points(n, d, unsigned(7 * n + d));
  double const tol = sizeof(T) == 4 ? 1e-3 : 1e-7, agreement = sizeof(T) == 4 ? 1e-2 : 1e-5;
  for (int loss = 0; loss < losses; ++loss) {
    if (n == 1 && Loss(loss) == Loss::two_sums) continue;
    PairProblem const problem = problem_of(Loss(loss), points);
    double best = infinity;
    for (Selection selection : {Selection::second_order, Selection::mvp, Selection::hmg, Selection::mg})
      for (GainRows rows : {GainRows::two, GainRows::one, GainRows::all})
        for (Shrinking shrinking : {Shrinking::none, Shrinking::bounds, Shrinking::history})
          for (double cache : {0.0, 1e6}) {
            if (rows != GainRows::two && selection != Selection::hmg && selection != Selection::mg) continue;
            std::string const shown = "n " + std::to_string(n) + " d " + std::to_string(d) + " loss " +
                                      std::to_string(loss) + " selection " + std::to_string(int(selection)) + " rows " +
                                      std::to_string(int(rows)) + " shrinking " + std::to_string(int(shrinking)) +
                                      " cache " + std::to_string(cache);
            auto const beta = solved<T>(points, problem, {selection, rows, shrinking, cache}, tol, 1, shown);
            double const q = objective(points, problem, beta);
            if (best == infinity) best = q;
            bool const as_good = q <= best + agreement * (1 + std::abs(best));
            EXPECT(as_good || selection == Selection::mg, shown);
            EXPECT(q >= best - agreement * (1 + std::abs(best)), shown);
          }
  }
}

/// Two solvers in two threads that share nothing but the data, each with threads of its own.
void side_by_side() {
  Points const points(120, 6, 5);
  PairProblem const problem = problem_of(Loss::hinge, points);
  Rule const rule{Selection::second_order, GainRows::two, Shrinking::bounds, 1e5};
  std::vector<double> first, second;
  std::thread other([&] { second = solved<double>(points, problem, rule, 1e-8, 2, "other thread"); });
  first = solved<double>(points, problem, rule, 1e-8, 2, "this thread");
  other.join();
  EXPECT(first == second, "the same numbers from both");
}

/// Many features: single rows are spread over the threads.
void many_features() {
  Points const points(200, 25'000, 9);
  PairProblem const problem = problem_of(Loss::hinge, points);
  PairSolver<float> one(points.source<float>(1), problem, {}, 1e6), three(points.source<float>(3), problem, {}, 1e6);
  for (auto* solver : {&one, &three}) {
    solver->unshrink();
    while (!solver->rebuild(1.0)) {
    }
    solver->run(60, 10.0, 1e-3, 0);
  }
  EXPECT(one.beta() == three.beta(), "threads");
}

int run() {
  for (auto [n, d] : std::vector<std::pair<index, index>>{{1, 1}, {2, 0}, {2, 1}, {3, 2}, {33, 2}, {70, 4}}) {
    all_rules<double>(n, d);
    all_rules<float>(n, d);
  }
  side_by_side();
  many_features();
  return mm::check::status();
}

}  // namespace
}  // namespace mm

int main() { return mm::run(); }
