// Rows of the kernel matrix and the pair solver, against their definitions: every selection and shrinking rule, dense
// and sparse rows, small caches, several threads, and solvers side by side over shared rows.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "pair_solver.hpp"
#include "shared_rows.hpp"

using namespace mm;

namespace {

using mm::index;  // and not the C library's function

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", what.c_str());
  ++failures;
}

/// Examples as dense and as CSR arrays of the same values, two thirds of them zero.
struct Examples {
  index n, d;
  std::vector<double> dense, values, y;
  std::vector<std::int32_t> indices, indptr{0};

  Examples(index rows, index columns) : n(rows), d(columns), dense(std::size_t(rows * columns)) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    for (index i = 0; i < n; ++i) {
      for (index c = 0; c < d; ++c) {
        if (random() % 3) continue;
        double const x = normal(random);
        dense[std::size_t(i * d + c)] = x;
        values.push_back(x);
        indices.push_back(std::int32_t(c));
      }
      indptr.push_back(std::int32_t(indices.size()));
      y.push_back(dense[std::size_t(i * d)] + 0.5 * normal(random) > 0 ? 1.0 : -1.0);
    }
  }

  MatrixView view(bool sparse) const {
    MatrixView v;
    v.rows = n;
    v.columns = d;
    v.sparse = sparse;
    v.values = sparse ? values.data() : dense.data();
    v.row_stride = d;
    v.column_stride = 1;
    v.indices = indices.data();
    v.indptr = indptr.data();
    return v;
  }

  double gaussian(index i, index j, double gamma) const {
    double s = 0;
    for (index c = 0; c < d; ++c) {
      double const difference = dense[std::size_t(i * d + c)] - dense[std::size_t(j * d + c)];
      s += difference * difference;
    }
    return std::exp(-gamma * s);
  }
};

constexpr double gamma_used = 0.05, C = 2.0, tolerance = 1e-3;
const KernelSpec gaussian{Pairing::dot, Shape::gaussian, gamma_used, 0.0, 1};

template <class T>
std::shared_ptr<RowSource<T>> engine(const Examples& x, bool sparse, int threads) {
  return std::make_shared<Engine<T>>(x.view(sparse), gaussian, std::vector<double>{}, threads);
}

template <class T>
void check_rows(const Examples& x, bool sparse, int threads) {
  index const stride = padded(x.n);
  std::vector<index> ids;
  for (index i = 0; i < x.n; ++i) ids.push_back((7 * i) % x.n);
  std::vector<T> out(std::size_t(x.n * stride));
  engine<T>(x, sparse, threads)->rows(ids.data(), x.n, 0, x.n, out.data(), stride);
  double worst = 0;
  for (index r = 0; r < x.n; ++r)
    for (index j = 0; j < x.n; ++j)
      worst = std::max(
          worst, std::abs(double(out[std::size_t(r * stride + j)]) - x.gaussian(ids[std::size_t(r)], j, gamma_used)));
  expect(worst < 64 * double(std::numeric_limits<T>::epsilon()), "rows, off by " + std::to_string(worst));
}

enum class Loss { hinge, hinge_without_intercept, epsilon_insensitive };

PairProblem problem_of(const Examples& x, Loss loss) {
  std::vector<double> const zero(x.y.size(), 0.0);
  PairProblem problem{1, zero, zero, zero, zero, zero, zero, {}, 0};
  for (std::size_t i = 0; i < x.y.size(); ++i) {
    bool const both = loss == Loss::epsilon_insensitive;
    problem.p[i] = -x.y[i];
    problem.lo[i] = both || x.y[i] < 0 ? -C : 0.0;
    problem.hi[i] = both || x.y[i] > 0 ? C : 0.0;
    problem.e[i] = both ? 0.1 : 0.0;
  }
  if (loss == Loss::hinge_without_intercept) return problem;
  problem.group.assign(x.y.size(), 0);
  problem.groups = 1;
  return problem;
}

/// The largest KKT violation, from the definition and kernel values of its own.
double violation(const Examples& x, const PairProblem& problem, const std::vector<double>& beta) {
  double const infinity = std::numeric_limits<double>::infinity();
  double up = infinity, down = -infinity;
  for (index i = 0; i < x.n; ++i) {
    std::size_t const v = std::size_t(i);
    double gradient = problem.p[v] + problem.d[v] * beta[v];
    for (index j = 0; j < x.n; ++j) gradient += x.gaussian(i, j, gamma_used) * beta[std::size_t(j)];
    if (beta[v] < problem.hi[v]) up = std::min(up, gradient + (beta[v] >= 0 ? problem.e[v] : -problem.e[v]));
    if (beta[v] > problem.lo[v]) down = std::max(down, gradient + (beta[v] > 0 ? problem.e[v] : -problem.e[v]));
  }
  return problem.groups ? down - up : std::max(down, -up);
}

template <class T>
std::vector<double> solve(std::shared_ptr<RowSource<T>> source, const PairProblem& problem, Selection selection,
                          Shrinking shrinking, double cache_bytes) {
  PairOptions options;
  options.selection = selection;
  PairSolver<T> solver(std::move(source), problem, options, cache_bytes);
  double const second = 1.0;
  while (!solver.rebuild(second)) {
  }
  for (;;) {
    Pause const pause = solver.run(1'000'000, second, tolerance, shrinking == Shrinking::none ? 0 : 100);
    if (pause == Pause::shrink_due) {
      solver.shrink(shrinking, 50);
    } else if (solver.active() < solver.size()) {
      solver.unshrink();
      while (!solver.rebuild(second)) {
      }
      if (solver.violation() <= tolerance) return solver.beta();
    } else if (pause != Pause::time) {
      expect(pause == Pause::converged, "pause " + std::to_string(int(pause)));
      return solver.beta();
    }
  }
}

template <class T>
void check_solution(const Examples& x, std::shared_ptr<RowSource<T>> source, Loss loss, Selection selection,
                    Shrinking shrinking, double cache_bytes, const std::string& name) {
  PairProblem const problem = problem_of(x, loss);
  std::vector<double> const beta = solve<T>(std::move(source), problem, selection, shrinking, cache_bytes);
  double sum = 0;
  for (std::size_t i = 0; i < beta.size(); ++i) {
    expect(problem.lo[i] <= beta[i] && beta[i] <= problem.hi[i], name + ": a variable outside of its bounds");
    sum += beta[i];
  }
  if (problem.groups) expect(std::abs(sum) < 1e-9, name + ": the sum is " + std::to_string(sum));
  double const found = violation(x, problem, beta);
  expect(found < 1.1 * tolerance, name + ": violation " + std::to_string(found));
}

template <class T>
void check_every_rule(const Examples& x) {
  double const everything = 1e9, few_rows = 6.0 * double(padded(x.n)) * sizeof(T);
  for (Loss loss : {Loss::hinge, Loss::hinge_without_intercept, Loss::epsilon_insensitive})
    for (Selection selection : {Selection::second_order, Selection::mvp, Selection::hmg})
      for (Shrinking shrinking : {Shrinking::none, Shrinking::bounds, Shrinking::history})
        for (double bytes : {everything, few_rows})
          check_solution<T>(x, engine<T>(x, bytes == few_rows, 1), loss, selection, shrinking, bytes,
                            "loss " + std::to_string(int(loss)) + ", selection " + std::to_string(int(selection)) +
                                ", shrinking " + std::to_string(int(shrinking)) + ", cache " + std::to_string(bytes));
}

/// Two solvers in two threads over the same shared rows, of which the budget holds a few.
void check_side_by_side(const Examples& x) {
  std::vector<index> all;
  for (index i = 0; i < x.n; ++i) all.push_back(i);
  double const few_rows = 10.0 * double(padded(x.n)) * sizeof(float);
  auto shared =
      std::make_shared<SharedRows<float>>(engine<float>(x, false, 1), std::vector<std::vector<index>>{all}, few_rows);
  auto one = [&] {
    auto part = std::make_shared<SharedPart<float>>(shared, all);
    check_solution<float>(x, part, Loss::hinge, Selection::second_order, Shrinking::bounds, few_rows, "side by side");
  };
  std::thread other(one);
  one();
  other.join();
}

}  // namespace

int main() {
  Examples const wide(301, 64), narrow(203, 9);
  for (bool sparse : {false, true})
    for (int threads : {1, 2}) {
      check_rows<float>(wide, sparse, threads);
      check_rows<double>(wide, sparse, threads);
    }
  check_every_rule<float>(narrow);
  check_every_rule<double>(narrow);
  check_side_by_side(narrow);
  std::printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
