// Minimises, two variables at a time,
//     Q(beta) = 1/2 beta' K beta + sum_i (p_i beta_i + 1/2 d_i beta_i^2 + e_i |beta_i|)
// over lo <= beta <= hi and, for each group g of a sum, sum_{i in g} beta_i = s_g, from a feasible beta.
// Variable v = c n + i is copy c of example i; the copies share the rows of K. With several copies, copy c is group c.
// Without groups single variables and pairs move freely in the box.
// ALG2, ALG3, ALG5: Steinwart & Christmann, Support Vector Machines (2008), section 11.2. MG, HMG and gain (3):
// Glasmachers & Igel, JMLR 7 (2006).
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "row_cache.hpp"

namespace mm {

enum class Selection : int { second_order, mvp, mg, hmg };
enum class GainRows : int { two, one, all };
enum class Shrinking : int { none, bounds, history };

/// Why run() came back.
enum class Pause : int { converged, steps, time, shrink_due, stalled, unbounded };

struct PairProblem {
  index copies = 1;
  std::vector<double> p, lo, hi, d, e, beta;  // copies * n each
  std::vector<int> group;                     // empty: no sums
  std::vector<double> sums;                   // s_g
};

struct PairOptions {
  Selection selection = Selection::second_order;
  GainRows gain_rows = GainRows::two;
  double eta = 1e-8;  // of HMG: how near to its bounds counts as at them
};

template <class T>
class PairSolver {
 public:
  PairSolver(std::shared_ptr<RowSource<T>> source, PairProblem problem, PairOptions options, double cache_bytes);

  /// Instead of the first rebuild(): the gradient K beta + p + d beta of the start is known.
  void start_from(const std::vector<double>& gradient);

  /// Steps until the violation over the active variables is at most tol, or one of the limits.
  Pause run(index max_steps, double seconds, double tol, index shrink_interval);

  /// Removes variables that look settled at their bounds; true when any were removed.
  bool shrink(Shrinking rule, index history);
  /// Brings all variables back; their gradients are rebuilt by rebuild(), which must end before the next run().
  void unshrink();
  /// Goes on with the gradients of a warm start or of returning variables; true when they are whole.
  bool rebuild(double seconds);

  index size() const { return n_; }
  index variables() const { return n_ * index(copies_.size()); }
  index active() const { return active_; }
  index steps() const { return steps_; }
  double violation() const { return violation_; }
  const RowCache<T>& cache() const { return cache_; }

  /// In the original order, copies * n; gradients of removed variables are those of their removal.
  std::vector<double> beta() const { return restored(&Copy::beta); }
  std::vector<double> gradient() const { return restored(&Copy::grad); }

 private:
  struct Copy {
    std::vector<double> grad, up, down, curvature, room_up, room_down, beta, lo, hi, d, kink, group, p;
    std::vector<double> grad_start, beta_start;  // when variables were last all active
    std::vector<double> since;                   // step at which a variable last did not look settled
  };
  struct Member {
    index copy = 0, at = -1;
    bool valid() const { return at >= 0; }
  };
  struct Pair {
    Member rising, falling;
  };

  PairArrays arrays(index copy, int group = 0);
  index copy_of(int group) const { return copies_.size() > 1 ? group : 0; }
  int group_of(Member m) const;
  bool masked() const { return copies_.size() == 1 && groups_ > 1; }
  index id(index at) const { return order_[std::size_t(at)]; }
  const T* row(Member m) { return cache_.row(id(m.at), active_); }
  FixedMember fixed(Member m);

  void refresh_status(Member m);
  double move(Member m, double step, double target);
  void look();  // the extremes of every group, or of the box
  void apply(Member i, double step_i, Member j, double step_j);

  enum class Step : int { taken, none, unbounded };
  Step step_with_sums();
  Step step_in_box();
  Pair most_violating() const;
  bool choose(Pair& pair);
  template <class Consider>
  void each_kept(const std::array<Member, 2>& previous, int group, Consider&& consider);
  bool best_gain(const std::array<Member, 2>& previous, Pair& pair);
  bool near_bounds(Member m) const;
  double line_search(Pair pair, double curvature, double& rise_to, double& fall_to);
  void box_interval(Member m, double& slope, double& least, double& most);
  double box_gain(Member i, double& step);
  Step step_in_box_alone(Member i);

  void mark_settled(Shrinking rule, index history, std::vector<char>& keep);
  void rearrange(const std::vector<char>& keep);
  void add_some_rows();
  void take_up_sums();
  std::vector<double> restored(std::vector<double> Copy::* member) const;

  index n_, active_;
  int groups_;
  std::vector<double> owed_;  // by group: s_g less the sum of beta, which rounding makes and the next steps pay
  double largest_ = 0;        // |beta| that a step went to
  bool kinks_ = false;
  PairOptions options_;
  index rebuild_entries_;  // kernel values that a rebuild holds at once: a share of the budget
  RowCache<T> cache_;
  std::vector<index> order_;
  std::vector<Copy> copies_;
  std::vector<Extremes> extremes_;  // by group; without groups one: the best single step, the violation
  double violation_ = 0;
  index steps_ = 0, steps_at_shrink_ = 0;
  bool started_ = false;                         // grad_start and beta_start hold the last whole state
  std::vector<std::array<Member, 2>> previous_;  // by group: the pair before, the newer member second

  /// sums[at - first] collects sum_i coefficient_i k(x_i, x_at) for the positions from `first` on, row by row.
  struct Rebuild {
    bool pending = false, anew = false;
    std::vector<double> coefficient, sums;  // by position
    index first = 0, next = 0;
    index together = 1;  // rows computed at once
  } rebuild_;
};

}  // namespace mm
