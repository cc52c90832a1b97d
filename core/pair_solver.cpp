#include "pair_solver.hpp"

#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace mm {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double smallest_curvature = 1e-12;  // tau of ALG5
constexpr double beyond_reason = 1e100;       // a coefficient that large is on its way to infinity
constexpr double most_rebuild_entries = 4e6;

/// The total less the sum of the values, without the rounding of a running sum.
class Missing {
 public:
  explicit Missing(double total) : rest_(total) {}
  void take(double value) {
    double const before = rest_;
    rest_ -= value;
    double const taken = before - rest_;
    lost_ += (before - (rest_ + taken)) + (taken - value);
  }
  double rest() const { return rest_ + lost_; }

 private:
  double rest_, lost_ = 0;
};
}  // namespace

template <class T>
PairSolver<T>::PairSolver(std::shared_ptr<RowSource<T>> source, PairProblem problem, PairOptions options,
                          double cache_bytes)
    : n_(source->size()),
      active_(n_),
      groups_(int(problem.sums.size())),
      options_(options),
      rebuild_entries_(index(std::min(most_rebuild_entries, cache_bytes / (16.0 * sizeof(T))))),
      cache_(source, cache_bytes - double(rebuild_entries_) * sizeof(T)),
      order_(source->order()),
      copies_(std::size_t(problem.copies)),
      previous_(std::max<std::size_t>(1, problem.sums.size())) {
  if (problem.copies > 1 && groups_ != int(problem.copies))
    throw std::invalid_argument("Several copies of the variables need one sum each.");
  for (std::size_t i = 0; problem.copies > 1 && i < problem.group.size(); ++i)
    if (problem.group[i] != int(index(i) / n_))
      throw std::invalid_argument("Several copies of the variables need one sum each: copy c is group c.");
  std::vector<Missing> missing(problem.sums.begin(), problem.sums.end());
  for (std::size_t i = 0; i < problem.group.size(); ++i) missing[std::size_t(problem.group[i])].take(problem.beta[i]);
  for (Missing const& sum : missing) owed_.push_back(sum.rest());
  std::vector<double> diagonal(static_cast<std::size_t>(n_));
  source->diagonal(diagonal.data());
  for (std::size_t c = 0; c < copies_.size(); ++c) {
    auto part = [&](const std::vector<double>& whole) {
      return std::vector<double>(whole.begin() + index(c) * n_, whole.begin() + index(c + 1) * n_);
    };
    Copy& v = copies_[c];
    v.p = part(problem.p), v.lo = part(problem.lo), v.hi = part(problem.hi), v.d = part(problem.d);
    v.kink = part(problem.e), v.beta = part(problem.beta);
    v.grad = v.p, v.curvature = v.d, v.since.assign(std::size_t(n_), 0.0);
    v.up.resize(std::size_t(n_)), v.down = v.up, v.room_up = v.up, v.room_down = v.up;
    if (masked()) v.group.assign(problem.group.begin() + index(c) * n_, problem.group.begin() + index(c + 1) * n_);
    for (std::size_t i = 0; i < std::size_t(n_); ++i) {
      v.curvature[i] += diagonal[i];
      kinks_ = kinks_ || v.kink[i] != 0;
      refresh_status({index(c), index(i)});
    }
  }
  active_ = 0;  // nothing is known yet but p: the gradient is that of unshrinking everything
  unshrink();
}

template <class T>
PairArrays PairSolver<T>::arrays(index copy, int group) {
  Copy& v = copies_[std::size_t(copy)];
  return {active_,
          v.grad.data(),
          v.up.data(),
          v.down.data(),
          v.curvature.data(),
          v.room_up.data(),
          v.room_down.data(),
          v.beta.data(),
          kinks_ ? v.kink.data() : nullptr,
          masked() ? v.group.data() : nullptr,
          double(group)};
}

template <class T>
int PairSolver<T>::group_of(Member m) const {
  return copies_.size() > 1 ? int(m.copy) : masked() ? int(copies_[0].group[std::size_t(m.at)]) : 0;
}

template <class T>
FixedMember PairSolver<T>::fixed(Member m) {
  Copy const& v = copies_[std::size_t(m.copy)];
  auto const i = std::size_t(m.at);
  return {m.at,     v.grad[i] + v.up[i], v.grad[i] + v.down[i], v.curvature[i], v.room_up[i], v.room_down[i], v.beta[i],
          v.kink[i]};
}

/// What beta_i says about where it can go.
template <class T>
void PairSolver<T>::refresh_status(Member m) {
  Copy& v = copies_[std::size_t(m.copy)];
  auto const i = std::size_t(m.at);
  double const beta = v.beta[i], e = v.kink[i];
  v.room_up[i] = v.hi[i] - beta;
  v.room_down[i] = beta - v.lo[i];
  v.up[i] = v.room_up[i] > 0 ? (beta >= 0 ? e : -e) : infinity;
  v.down[i] = v.room_down[i] > 0 ? (beta > 0 ? e : -e) : -infinity;
}

/// beta_i += step, or exactly `target` where the step ends at a bound or a kink (target not NaN). Returns the change.
template <class T>
double PairSolver<T>::move(Member m, double step, double target) {
  Copy& v = copies_[std::size_t(m.copy)];
  auto const i = std::size_t(m.at);
  double const to = std::isnan(target) ? std::min(std::max(v.beta[i] + step, v.lo[i]), v.hi[i]) : target;
  double const change = to - v.beta[i];
  v.grad[i] += v.d[i] * change;
  v.beta[i] = to;
  largest_ = std::max(largest_, std::abs(to));
  refresh_status(m);
  return change;
}

template <class T>
void PairSolver<T>::look() {
  apply({0, -1}, 0, {0, -1}, 0);
}

/// G += step_i K_i + step_j K_j, and what the next selection and the stopping rule need to know of it.
template <class T>
void PairSolver<T>::apply(Member i, double step_i, Member j, double step_j) {
  auto const& table = pair_table<T>();
  const T* row_i = i.valid() ? row(i) : nullptr;
  const T* row_j = j.valid() ? row(j) : nullptr;
  extremes_.resize(std::size_t(std::max(1, groups_)));
  violation_ = 0;
  if (groups_ == 0) {
    PairArrays a = arrays(0);
    if (row_i || row_j) table.update(a, step_i, row_i, step_j, row_j);
    extremes_[0] = table.box_single(a, options_.selection != Selection::mvp);
    violation_ = std::max(0.0, extremes_[0].highest_down.value);
    return;
  }
  for (int g = 0; g < groups_; ++g) {
    PairArrays a = arrays(copy_of(g), g);
    bool const first = copies_.size() > 1 || g == 0;  // each copy is updated once
    extremes_[std::size_t(g)] =
        table.update_extremes(a, step_i, first ? row_i : nullptr, step_j, first ? row_j : nullptr);
    Extremes const& x = extremes_[std::size_t(g)];
    if (x.lowest_up.where >= 0 && x.highest_down.where >= 0)
      violation_ = std::max(violation_, x.highest_down.value - x.lowest_up.value);
  }
}

template <class T>
Pause PairSolver<T>::run(index max_steps, double seconds, double tol, index shrink_interval) {
  using Clock = std::chrono::steady_clock;
  auto const end = Clock::now() + std::chrono::duration<double>(seconds);
  for (index taken = 0;; ++taken) {
    if (!(violation_ > tol)) return Pause::converged;
    if (taken >= max_steps) return Pause::steps;
    if (shrink_interval > 0 && steps_ - steps_at_shrink_ >= shrink_interval) return Pause::shrink_due;
    if (taken > 0 && Clock::now() >= end) return Pause::time;
    Step const step = groups_ == 0 ? step_in_box() : step_with_sums();
    if (step == Step::none) return Pause::stalled;
    if (step == Step::unbounded || largest_ > beyond_reason) return Pause::unbounded;
    ++steps_;
  }
}

// ---- pairs under the sums -------------------------------------------------------------------------------------------

/// ALG2: of the group with the largest violation, the pair that violates most.
template <class T>
auto PairSolver<T>::most_violating() const -> Pair {
  int worst = 0;
  double most = -infinity;
  for (int g = 0; g < groups_; ++g) {
    Extremes const& x = extremes_[std::size_t(g)];
    double const here = x.highest_down.value - x.lowest_up.value;
    if (x.lowest_up.where >= 0 && x.highest_down.where >= 0 && here > most) most = here, worst = g;
  }
  Extremes const& x = extremes_[std::size_t(worst)];
  return {{copy_of(worst), x.lowest_up.where}, {copy_of(worst), x.highest_down.where}};
}

template <class T>
bool PairSolver<T>::near_bounds(Member m) const {
  Copy const& v = copies_[std::size_t(m.copy)];
  auto const i = std::size_t(m.at);
  double const width = v.hi[i] - v.lo[i];
  double const near = std::isfinite(width) ? options_.eta * width : 0.0;
  return v.room_up[i] <= near || v.room_down[i] <= near || (v.kink[i] > 0 && std::abs(v.beta[i]) <= near);
}

/// consider(variable, row) for the variables that the next pair may keep: both of the pair before or the newer one; or
/// both and all of the group whose rows are stored in full.
template <class T>
template <class Consider>
void PairSolver<T>::each_kept(const std::array<Member, 2>& previous, int group, Consider&& consider) {
  if (options_.gain_rows == GainRows::all)
    for (index at = 0; at < active_; ++at)
      if (const T* values = cache_.peek(id(at), active_))
        for (index c = 0; c < index(copies_.size()); ++c)
          if (group_of({c, at}) == group) consider(Member{c, at}, values);
  if (options_.gain_rows != GainRows::one) consider(previous[0], row(previous[0]));
  consider(previous[1], row(previous[1]));
}

/// The pair of largest gain (3) that keeps a variable of its group's pair before.
template <class T>
bool PairSolver<T>::best_gain(const std::array<Member, 2>& previous, Pair& pair) {
  double most = 0;
  each_kept(previous, group_of(pair.rising), [&](Member kept, const T* values) {
    PairArrays const a = arrays(kept.copy, group_of(kept));
    FixedMember const i = fixed(kept);
    Extreme const found = pair_table<T>().maximum_gain(a, i, values);
    if (found.where < 0 || !(found.value > most)) return;
    most = found.value;
    Member const other{kept.copy, found.where};
    FixedMember const j = fixed(other);
    pair = j.grad_down - i.grad_up > 0 ? Pair{kept, other} : Pair{other, kept};
  });
  return most > 0;
}

template <class T>
bool PairSolver<T>::choose(Pair& pair) {
  pair = most_violating();
  if (!pair.rising.valid() || !pair.falling.valid()) return false;  // every variable is where it must be
  if (options_.selection == Selection::mvp) return true;
  if (options_.selection == Selection::second_order) {  // ALG3
    PairArrays const a = arrays(pair.rising.copy, group_of(pair.rising));
    Extreme const found = pair_table<T>().second_order(a, fixed(pair.rising), row(pair.rising));
    if (found.where >= 0) pair.falling.at = found.where;
    return found.where >= 0;
  }
  auto const& previous = previous_[std::size_t(group_of(pair.rising))];
  if (!previous[0].valid() || !previous[1].valid()) return true;
  if (options_.selection == Selection::mg) return best_gain(previous, pair);
  if (near_bounds(previous[0]) && near_bounds(previous[1])) return true;  // HMG falls back on MVP
  best_gain(previous, pair);
  return true;
}

/// The step t along (+1, -1) that minimises Q, piecewise quadratic where beta passes through 0, within the bounds.
template <class T>
double PairSolver<T>::line_search(Pair pair, double curvature, double& rise_to, double& fall_to) {
  FixedMember const i = fixed(pair.rising), j = fixed(pair.falling);
  Copy const &vi = copies_[std::size_t(pair.rising.copy)], &vj = copies_[std::size_t(pair.falling.copy)];
  double const slope = j.grad_down - i.grad_up;
  double const s1 = i.kink > 0 && i.beta < 0 ? -i.beta : infinity, s2 = j.kink > 0 && j.beta > 0 ? j.beta : infinity;
  double const jump1 = 2 * i.kink, jump2 = 2 * j.kink;
  double const first = std::min(s1, s2), last = std::max(s1, s2);
  double t = slope / curvature;
  if (t > first) t = std::max(first, (slope - (s1 <= s2 ? jump1 : jump2)) / curvature);
  if (t > last) t = std::max(last, (slope - jump1 - jump2) / curvature);
  double const room = std::min(i.room_up, j.room_down);
  t = std::min(t, room);
  double const nowhere = std::numeric_limits<double>::quiet_NaN();
  rise_to = t == i.room_up ? vi.hi[std::size_t(pair.rising.at)] : t == s1 ? 0.0 : nowhere;
  fall_to = t == j.room_down ? vj.lo[std::size_t(pair.falling.at)] : t == s2 ? 0.0 : nowhere;
  return t;
}

template <class T>
auto PairSolver<T>::step_with_sums() -> Step {
  Pair pair;
  if (!choose(pair)) return Step::none;
  const T* row_i = row(pair.rising);
  row(pair.falling);
  double const k_ij = double(row_i[pair.falling.at]);
  double const curvature = fixed(pair.rising).curvature + fixed(pair.falling).curvature - 2 * k_ij;
  double const room = std::min(fixed(pair.rising).room_up, fixed(pair.falling).room_down);
  double rise_to, fall_to;
  double const t = line_search(pair, std::max(curvature, smallest_curvature), rise_to, fall_to);
  if (!(t > 0)) return Step::none;
  if (curvature <= 0 && room == infinity && std::isnan(rise_to) && std::isnan(fall_to)) return Step::unbounded;
  double& owed = owed_[std::size_t(group_of(pair.rising))];
  double const rise = move(pair.rising, t + owed, rise_to), fall = move(pair.falling, -t, fall_to);
  if (rise == 0 && fall == 0) return Step::none;
  owed -= rise + fall;
  apply(pair.rising, rise, pair.falling, fall);
  // The newer member comes second: the one-row rule keeps that one.
  auto& previous = previous_[std::size_t(group_of(pair.rising))];
  bool const kept_rises = previous[1].valid() && previous[1].at == pair.rising.at;
  previous = kept_rises ? std::array{pair.rising, pair.falling} : std::array{pair.falling, pair.rising};
  return Step::taken;
}

// ---- without sums ---------------------------------------------------------------------------------------------------

/// The smooth piece of Q that a variable can descend on: its slope, and how far the piece reaches.
template <class T>
void PairSolver<T>::box_interval(Member m, double& slope, double& least, double& most) {
  FixedMember const i = fixed(m);
  double const grad = copies_[std::size_t(m.copy)].grad[std::size_t(m.at)];
  if (i.kink == 0 || i.beta != 0) {
    slope = grad + (i.beta > 0 ? i.kink : -i.kink);
    least = i.kink > 0 && i.beta > 0 ? -std::min(i.beta, i.room_down) : -i.room_down;
    most = i.kink > 0 && i.beta < 0 ? std::min(-i.beta, i.room_up) : i.room_up;
  } else {
    bool const falls = i.grad_down > 0, rises = i.grad_up < 0;
    slope = falls ? i.grad_down : rises ? i.grad_up : 0.0;
    least = falls ? -i.room_down : 0.0;
    most = rises ? i.room_up : 0.0;
  }
}

/// The best feasible step of one variable, and what it takes off Q.
template <class T>
double PairSolver<T>::box_gain(Member i, double& step) {
  double slope, least, most;
  box_interval(i, slope, least, most);
  double const curvature = fixed(i).curvature;
  step = std::min(std::max(-slope / std::max(curvature, smallest_curvature), least), most);
  return -step * (slope + 0.5 * curvature * step);
}

template <class T>
auto PairSolver<T>::step_in_box_alone(Member i) -> Step {
  double step;
  box_gain(i, step);
  Copy const& v = copies_[0];
  double const before = v.beta[std::size_t(i.at)];
  if (before + step == before) return Step::none;
  double const nowhere = std::numeric_limits<double>::quiet_NaN();
  bool const to_zero = v.kink[std::size_t(i.at)] > 0 && step == -before;
  double const target = step == v.room_up[std::size_t(i.at)]      ? v.hi[std::size_t(i.at)]
                        : step == -v.room_down[std::size_t(i.at)] ? v.lo[std::size_t(i.at)]
                        : to_zero                                 ? 0.0
                                                                  : nowhere;
  double const room = step > 0 ? v.room_up[std::size_t(i.at)] : v.room_down[std::size_t(i.at)];
  if (fixed(i).curvature <= 0 && room == infinity && std::isnan(target)) return Step::unbounded;
  apply(i, move(i, step, target), {0, -1}, 0);
  previous_[0] = {i, i};
  return Step::taken;
}

/// The exact minimum over the box of a pair, where the pair promises more than one variable alone.
template <class T>
auto PairSolver<T>::step_in_box() -> Step {
  Member const single{0, extremes_[0].lowest_up.where};
  if (!single.valid()) return Step::none;
  if (options_.selection == Selection::mvp) return step_in_box_alone(single);
  double const alone = extremes_[0].lowest_up.value / 2;
  Member i = single;
  Extreme partner{-infinity, -1};
  auto consider = [&](Member kept, const T* values) {
    Extreme const found = pair_table<T>().box_pair(arrays(0), fixed(kept), values);
    if (found.where >= 0 && found.value > partner.value) partner = found, i = kept;
  };
  auto const& [before, newer] = previous_[0];
  if (options_.selection == Selection::second_order)
    consider(single, row(single));
  else if (before.valid() && newer.valid() &&
           (options_.selection == Selection::mg || !(near_bounds(before) && near_bounds(newer))))
    each_kept(previous_[0], 0, consider);
  if (partner.where < 0 || !(partner.value > alone)) return step_in_box_alone(single);
  Member const j{0, partner.where};
  double s_i, l_i, u_i, s_j, l_j, u_j;
  box_interval(i, s_i, l_i, u_i);
  box_interval(j, s_j, l_j, u_j);
  double const a_i = fixed(i).curvature, a_j = fixed(j).curvature, k = double(row(i)[j.at]);
  row(j);
  auto clip = [](double x, double least, double most) { return std::min(std::max(x, least), most); };
  auto change = [&](double x, double y) { return s_i * x + s_j * y + 0.5 * (a_i * x * x + a_j * y * y) + k * x * y; };
  double const determinant = std::max(a_i * a_j - k * k, least_determinant * a_i * a_j);
  double x = -(s_i * a_j - s_j * k) / determinant, y = -(s_j * a_i - s_i * k) / determinant;
  bool const without_end = std::isinf(x > 0 ? u_i : l_i) && std::isinf(y > 0 ? u_j : l_j);
  if (a_i * a_j <= k * k && without_end) return Step::unbounded;
  if (!(x >= l_i && x <= u_i && y >= l_j && y <= u_j)) {
    double best = 0;
    x = y = 0;
    auto try_point = [&](double p, double q) {
      if (std::isfinite(p) && std::isfinite(q) && change(p, q) < best) best = change(p, q), x = p, y = q;
    };
    for (double edge : {l_i, u_i}) try_point(edge, clip(-(s_j + k * edge) / a_j, l_j, u_j));
    for (double edge : {l_j, u_j}) try_point(clip(-(s_i + k * edge) / a_i, l_i, u_i), edge);
  }
  // The partner was chosen by its gain without bounds; with them a variable alone may do better.
  double single_step;
  if (-change(x, y) < box_gain(single, single_step)) return step_in_box_alone(single);
  Copy const& v = copies_[0];
  double const before_i = v.beta[std::size_t(i.at)], before_j = v.beta[std::size_t(j.at)];
  if (before_i + x == before_i && before_j + y == before_j) return step_in_box_alone(single);
  double const nowhere = std::numeric_limits<double>::quiet_NaN();
  auto target = [&](Member m, double step, double least, double most) {
    auto const at = std::size_t(m.at);
    if (step == v.room_up[at]) return v.hi[at];
    if (step == -v.room_down[at]) return v.lo[at];
    return v.kink[at] > 0 && (step == least || step == most) ? 0.0 : nowhere;
  };
  double const to_i = target(i, x, l_i, u_i), to_j = target(j, y, l_j, u_j);
  double const change_i = move(i, x, to_i), change_j = move(j, y, to_j);
  apply(i, change_i, j, change_j);
  previous_[0] = {i, j};
  return Step::taken;
}

template class PairSolver<float>;
template class PairSolver<double>;

}  // namespace mm
