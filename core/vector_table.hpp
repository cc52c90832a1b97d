// The vector code behind one table of functions: vector_code.cpp is compiled once for each instruction set and
// fills one table; dispatch.cpp picks the widest that the processor runs.
#pragma once

#include <cstdint>

namespace mm {

using index = std::int64_t;

/// How two coordinates are accumulated: sum x z, sum |x - z|, sum (x - z)^2 / (x + z), sum min(x, z).
enum class Pairing : int { dot, absolute, chi_squared, minimum };

/// The kernel function of the accumulated sum s; `distance` forms use s = |x|^2 + |z|^2 - 2 <x, z>.
enum class Shape : int { identity, polynomial, gaussian, tanh, exponential, matern32, matern52 };

struct KernelSpec {
  Pairing pairing = Pairing::dot;
  Shape shape = Shape::identity;
  double gamma = 1.0;
  double coef0 = 0.0;
  int degree = 1;
};

/// Rows of one operand: dense (values, row after row, d apart) or sparse (indptr, indices, values).
template <class T>
struct RowOperand {
  index count = 0;
  const T* values = nullptr;
  const index* indptr = nullptr;  // null: dense
  const std::int32_t* indices = nullptr;
  const T* norms = nullptr;  // squared norms or 1-norms, where the kernel needs them
};

/// Columns packed in panels: panel p holds columns p w ... p w + w - 1, coordinate after coordinate.
template <class T>
struct PanelOperand {
  const T* panels = nullptr;
  const T* norms = nullptr;  // padded to whole panels
  index dimension = 0;
  index first = 0, last = 0;  // panels to compute
};

/// Columns as compressed sparse rows, read through an order.
template <class T>
struct GatherOperand {
  const index* indptr = nullptr;
  const std::int32_t* indices = nullptr;
  const T* values = nullptr;
  const T* norms = nullptr;      // by column of the order
  const index* order = nullptr;  // position -> stored row
  index dimension = 0;
  index first = 0, last = 0;  // positions to compute
};

/// Rows of small integers in groups of 32 bits: four unsigned bytes or two 16-bit numbers, as code_group says.
struct CodeRows {
  index count = 0;
  index groups = 0;                      // of a row
  const std::int32_t* values = nullptr;  // dense: row after row; sparse: the groups that are not zero
  const index* indptr = nullptr;         // null: dense
  const std::int32_t* indices = nullptr;
  const std::int32_t* squares = nullptr;  // sum of q^2
  const std::int32_t* shifts = nullptr;   // what the panels' shift took from each inner product
};

/// Columns of small integers in panels of code_panel columns, group after group.
struct CodePanels {
  const std::int32_t* panels = nullptr;
  const std::int32_t* squares = nullptr;
  double unit_squared = 1;
  index first = 0, last = 0;  // panels to compute
};

template <class T>
struct KernelTable {
  index panel_width;
  /// out[r * stride + j - first * width] for the whole panels first ... last - 1.
  void (*panel_rows)(const KernelSpec&, const RowOperand<T>&, const PanelOperand<T>&, T* out, index stride);
  /// The same for columns read by gathering; `scratch` holds gather_block * dimension zeros (dimension for one row)
  /// and is left zero.
  void (*gather_rows)(const KernelSpec&, const RowOperand<T>&, const GatherOperand<T>&, T* scratch, T* out,
                      index stride);
  index gather_block;
  /// norms[j] for every column of the panels: squared norms, or 1-norms for the other pairings.
  void (*panel_norms)(bool squared, const T* panels, index dimension, index n_panels, T* norms);
  /// The same for rows.
  void (*row_norms)(bool squared, const RowOperand<T>&, index dimension, T* norms);
  /// k(x, x) from the norm of x (and, for the linear forms, its squared norm).
  void (*diagonal)(const KernelSpec&, const T* norms, index count, T* out);
  /// The kernel function of sums that stand in out already, in place.
  void (*finish_rows)(const KernelSpec&, index count, const T* row_norms, const T* column_norms, index columns, T* out,
                      index stride);
  /// Kernels of inner products of small integers, whose sums are exact.
  void (*code_rows)(const KernelSpec&, const CodeRows&, const CodePanels&, T* out, index stride);
  /// sums[j] += sum_r coefficient[r] rows[r][j] in double.
  void (*accumulate)(const T* const* rows, const double* coefficient, index count, index columns, double* sums);
};

/// What the passes of the pair solver read and write: one copy of the variables, in the current order.
struct PairArrays {
  index count = 0;                    // active variables
  double* grad = nullptr;             // G = K beta + p + d beta
  const double* up = nullptr;         // e * sign on the way up, +inf where beta cannot rise
  const double* down = nullptr;       // e * sign on the way down, -inf where beta cannot fall
  const double* curvature = nullptr;  // K_ii + d_i
  const double* room_up = nullptr;    // hi - beta
  const double* room_down = nullptr;  // beta - lo
  const double* beta = nullptr;
  const double* kink = nullptr;   // e, or null when every e is 0
  const double* group = nullptr;  // group of each variable as a double, or null when all are in one
  double wanted_group = 0.0;      // the group that this pass looks at
};

/// Of a pair without sums, as a share of the product of its curvatures: singular pairs take a long step along the
/// direction without curvature, as those of ALG5 do.
constexpr double least_determinant = 1e-10;

struct Extreme {
  double value;
  index where;  // -1: none
};

struct Extremes {
  Extreme lowest_up;     // min over up candidates of G + up
  Extreme highest_down;  // max over down candidates of G + down
};

/// The fixed member of a pair, while its partner is searched.
struct FixedMember {
  index where;
  double grad_up, grad_down;  // directional derivatives: +inf / -inf where it cannot move
  double curvature;
  double room_up, room_down;
  double beta, kink;
};

template <class T>
struct PairTable {
  /// G += step_i K_i + step_j K_j over the active variables.
  void (*update)(PairArrays&, double step_i, const T* row_i, double step_j, const T* row_j);
  /// The same, and the extremes of the new gradient in the same sweep.
  Extremes (*update_extremes)(PairArrays&, double step_i, const T* row_i, double step_j, const T* row_j);
  /// argmax over partners j that can fall of (down_j - up_i)^2 / a_ij  (ALG3).
  Extreme (*second_order)(const PairArrays&, const FixedMember&, const T* row);
  /// argmax over all partners of the exact gain (3) of the clipped step, in either direction (MG).
  Extreme (*maximum_gain)(const PairArrays&, const FixedMember&, const T* row);
  /// Without sums: argmax of the gain of one variable, and the largest violation.
  Extremes (*box_single)(const PairArrays&, bool by_gain);
  /// Without sums: argmax of the gain of the pair (i, j), both unclipped.
  Extreme (*box_pair)(const PairArrays&, const FixedMember&, const T* row);
};

struct VectorTable {
  const char* name;
  KernelTable<float> kernel32;
  KernelTable<double> kernel64;
  PairTable<float> pair32;
  PairTable<double> pair64;
  int code_group;    // numbers in a group of 32 bits: 4 bytes, or 2 of 16 bits
  index code_panel;  // columns of a panel of codes
};

/// The table in use: the widest that the processor runs, or what MAXMARGIN_ISA names.
const VectorTable& vector_table();

template <class T>
const KernelTable<T>& kernel_table();
template <class T>
const PairTable<T>& pair_table();

}  // namespace mm
