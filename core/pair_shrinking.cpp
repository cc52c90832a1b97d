// Shrinking of the pair solver: which variables leave, how the rest closes up, how they come back.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "pair_solver.hpp"

namespace mm {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr index most_together = 96;  // rows of a rebuild
}  // namespace

/// Bounds (LIBSVM's rule): a variable stays where not even the extreme partner would move it. History (SVM-light's):
/// its multiplier estimate has held it at its bound for the last `history` steps.
template <class T>
void PairSolver<T>::mark_settled(Shrinking rule, index history, std::vector<char>& keep) {
  for (std::size_t c = 0; c < copies_.size(); ++c) {
    Copy& v = copies_[c];
    for (index at = 0; at < active_; ++at) {
      auto const i = std::size_t(at);
      double least_up = 0, most_down = 0;  // without sums the multiplier is 0
      if (groups_ > 0) {
        Extremes const& x = extremes_[std::size_t(group_of({index(c), at}))];
        least_up = x.lowest_up.where >= 0 ? x.lowest_up.value : infinity;
        most_down = x.highest_down.where >= 0 ? x.highest_down.value : -infinity;
      }
      if (rule == Shrinking::history && groups_ > 0) {
        double const middle = 0.5 * (least_up + most_down);
        if (std::isfinite(middle)) least_up = most_down = middle;
      }
      bool const settled = v.grad[i] + v.up[i] > most_down && v.grad[i] + v.down[i] < least_up;
      if (!settled) v.since[i] = double(steps_);
      bool const leaves = settled && (rule == Shrinking::bounds || double(steps_) - v.since[i] >= double(history));
      if (!leaves) keep[i] = 1;
    }
  }
}

template <class T>
bool PairSolver<T>::shrink(Shrinking rule, index history) {
  steps_at_shrink_ = steps_;
  if (cache_.resident()) return false;
  std::vector<char> keep(static_cast<std::size_t>(active_), 0);
  mark_settled(rule, history, keep);
  index const kept = index(std::count(keep.begin(), keep.end(), char(1)));
  if (kept < 2 || kept > active_ - std::max<index>(1, active_ / 10))
    return false;  // closing up costs a sweep of the cache
  if (!started_) {
    started_ = true;
    for (Copy& v : copies_) {
      v.grad_start = v.grad;
      v.beta_start = v.beta;
    }
  }
  rearrange(keep);
  return true;
}

/// Kept variables close up at the front; those that leave follow, in front of those that left before.
template <class T>
void PairSolver<T>::rearrange(const std::vector<char>& keep) {
  std::vector<index> from;
  from.reserve(std::size_t(active_));
  for (char wanted : {char(1), char(0)})
    for (index at = 0; at < active_; ++at)
      if (keep[std::size_t(at)] == wanted) from.push_back(at);
  index const kept = index(std::count(keep.begin(), keep.end(), char(1)));
  auto permute = [&](auto& values) {
    if (values.empty()) return;
    auto const old = values;
    for (std::size_t j = 0; j < from.size(); ++j) values[j] = old[std::size_t(from[j])];
  };
  permute(order_);
  for (Copy& v : copies_)
    for (auto* values : {&v.grad, &v.up, &v.down, &v.curvature, &v.room_up, &v.room_down, &v.beta, &v.lo, &v.hi, &v.d,
                         &v.kink, &v.group, &v.p, &v.grad_start, &v.beta_start, &v.since})
      permute(*values);
  std::vector<index> to(static_cast<std::size_t>(active_));
  for (std::size_t j = 0; j < from.size(); ++j) to[std::size_t(from[j])] = index(j);
  for (auto& pair : previous_)
    for (Member& m : pair)
      if (m.valid()) m.at = to[std::size_t(m.at)] < kept ? to[std::size_t(m.at)] : -1;
  cache_.shrink(order_, from, active_, kept);
  active_ = kept;
  look();
}

template <class T>
void PairSolver<T>::start_from(const std::vector<double>& gradient) {
  rebuild_ = Rebuild{};
  for (std::size_t c = 0; c < copies_.size(); ++c)
    std::copy_n(gradient.begin() + index(c) * n_, n_, copies_[c].grad.begin());
  active_ = n_;
  look();
}

/// Gradients of removed variables: from the last whole gradient and what has changed since, or from nothing where fewer
/// rows do it.
template <class T>
void PairSolver<T>::unshrink() {
  steps_at_shrink_ = steps_;
  if (active_ == n_) return;
  Rebuild& r = rebuild_;
  std::vector<double> value(static_cast<std::size_t>(n_), 0.0), change(static_cast<std::size_t>(n_), 0.0);
  for (Copy const& v : copies_)
    for (std::size_t i = 0; i < value.size(); ++i) {
      value[i] += v.beta[i];
      if (started_) change[i] += v.beta[i] - v.beta_start[i];
    }
  auto rows = [](const std::vector<double>& x) { return index(x.size()) - index(std::count(x.begin(), x.end(), 0.0)); };
  r.anew = !started_ || rows(value) <= rows(change);
  r.coefficient = r.anew ? value : change;
  r.first = active_ / column_grain * column_grain;
  r.sums.assign(std::size_t(padded(n_ - r.first)), 0.0);
  r.next = 0;
  r.pending = true;
}

template <class T>
bool PairSolver<T>::rebuild(double seconds) {
  using Clock = std::chrono::steady_clock;
  auto const end = Clock::now() + std::chrono::duration<double>(seconds);
  for (auto before = Clock::now(); rebuild_.pending && rebuild_.next < n_;) {
    add_some_rows();
    auto const now = Clock::now();
    if (now >= end) break;
    // Blocks are faster the larger they are, but the caller waits for the end of one.
    if (now - before < std::chrono::duration<double>(seconds / 16))
      rebuild_.together = std::min<index>(2 * rebuild_.together, most_together);
    before = now;
  }
  if (rebuild_.pending && rebuild_.next >= n_) take_up_sums();
  return !rebuild_.pending;
}

/// The next few rows with a coefficient.
template <class T>
void PairSolver<T>::add_some_rows() {
  Rebuild& r = rebuild_;
  index const wide = padded(n_ - r.first), together = std::clamp<index>(rebuild_entries_ / wide, 1, r.together);
  std::vector<index> ids;
  std::vector<double> weights;
  for (; r.next < n_ && index(ids.size()) < together; ++r.next) {
    if (r.coefficient[std::size_t(r.next)] == 0) continue;
    ids.push_back(id(r.next));
    weights.push_back(r.coefficient[std::size_t(r.next)]);
  }
  if (ids.empty()) return;
  std::vector<T> rows(ids.size() * std::size_t(wide));
  cache_.source().rows(ids.data(), index(ids.size()), r.first, n_, rows.data(), wide);
  cache_.counters.rows_computed += index(ids.size());
  cache_.counters.entries_computed += double(ids.size()) * double(n_ - r.first);
  PairArrays a;
  a.count = n_ - r.first;
  a.grad = r.sums.data();
  for (std::size_t k = 0; k < ids.size(); k += 2) {
    bool const two = k + 1 < ids.size();
    pair_table<T>().update(a, weights[k], rows.data() + index(k) * wide, two ? weights[k + 1] : 0.0,
                           two ? rows.data() + index(k + 1) * wide : nullptr);
  }
}

template <class T>
void PairSolver<T>::take_up_sums() {
  Rebuild& r = rebuild_;
  for (Copy& v : copies_)
    for (index at = active_; at < n_; ++at) {
      auto const i = std::size_t(at);
      double const base =
          r.anew ? v.p[i] + v.d[i] * v.beta[i] : v.grad_start[i] + v.d[i] * (v.beta[i] - v.beta_start[i]);
      v.grad[i] = base + r.sums[std::size_t(at - r.first)];
      v.since[i] = double(steps_);
    }
  r = Rebuild{};
  started_ = false;
  active_ = n_;
  cache_.widen();
  look();
}

template <class T>
std::vector<double> PairSolver<T>::restored(std::vector<double> Copy::* member) const {
  std::vector<double> out(copies_.size() * std::size_t(n_));
  for (std::size_t c = 0; c < copies_.size(); ++c)
    for (index at = 0; at < n_; ++at)
      out[c * std::size_t(n_) + std::size_t(id(at))] = (copies_[c].*member)[std::size_t(at)];
  return out;
}

template class PairSolver<float>;
template class PairSolver<double>;

}  // namespace mm
