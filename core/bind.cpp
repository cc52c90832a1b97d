// Python's view of the core: data, row sources, the pair solver. No arithmetic here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "arena.hpp"
#include "pair_solver.hpp"
#include "row_store.hpp"
#include "shared_rows.hpp"
#include "working_matrix.hpp"

namespace nb = nanobind;
using namespace nb::literals;

void bind_text(nb::module_& m);

namespace {

using mm::index;
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

mm::Number number_of(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  auto const code = Code(type.code);
  if (code == Code::Bool) return mm::Number::boolean;
  if (code == Code::Float && type.bits == 32) return mm::Number::f32;
  if (code == Code::Float && type.bits == 64) return mm::Number::f64;
  int const size = type.bits == 8 ? 0 : type.bits == 16 ? 1 : type.bits == 32 ? 2 : type.bits == 64 ? 3 : -1;
  if (size >= 0 && code == Code::Int) return mm::Number(int(mm::Number::i8) + size);
  if (size >= 0 && code == Code::UInt) return mm::Number(int(mm::Number::u8) + size);
  throw nb::type_error("Data must hold booleans, integers, float32 or float64.");
}

/// The caller's arrays, kept alive, and the view of them.
struct Data {
  std::vector<AnyArray> owners;
  mm::MatrixView view;

  explicit Data(AnyArray dense) {
    if (dense.ndim() != 2) throw nb::value_error("Dense data must have two dimensions.");
    view = {index(dense.shape(0)), index(dense.shape(1)), number_of(dense.dtype()),
            dense.data(),          dense.stride(0),       dense.stride(1)};
    owners.push_back(dense);
  }
  Data(AnyArray values, AnyArray indices, AnyArray indptr, index columns) {
    view.rows = index(indptr.shape(0)) - 1;
    view.columns = columns;
    view.number = number_of(values.dtype());
    view.values = values.data();
    view.sparse = true;
    view.index_number = number_of(indptr.dtype());
    if (number_of(indices.dtype()) != view.index_number)
      throw nb::type_error("The indices and indptr of a sparse matrix must have the same type.");
    if (view.index_number != mm::Number::i32 && view.index_number != mm::Number::i64)
      throw nb::type_error("The indices of a sparse matrix must be int32 or int64.");
    view.indices = indices.data();
    view.indptr = indptr.data();
    owners = {values, indices, indptr};
    nb::gil_scoped_release free;
    view.check_sparse(std::min(index(values.shape(0)), index(indices.shape(0))));
  }
};

mm::KernelSpec kernel_spec(int pairing, int shape, double gamma, double coef0, int degree) {
  return {mm::Pairing(pairing), mm::Shape(shape), gamma, coef0, degree};
}

template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> values) {
  auto* const kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(kept->data(), {kept->size()}, owner);
}

template <class V>
std::vector<V> copied(const Vector<V>& a) {
  return {a.data(), a.data() + a.size()};
}

template <class T>
using Out = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
void check_room(const Out<T>& out, index count, index columns) {
  if (index(out.shape(0)) < count || index(out.shape(1)) < mm::padded(columns))
    throw nb::value_error("The block does not fit into its array.");
}

template <class T>
void bind_sources(nb::module_& m, const std::string& suffix) {
  using Source = mm::RowSource<T>;
  nb::class_<Source>(m, ("RowSource" + suffix).c_str())
      .def_prop_ro("size", &Source::size)
      .def_prop_ro("bytes", &Source::bytes)
      .def("diagonal",
           [](Source& s) {
             std::vector<double> out(static_cast<std::size_t>(s.size()));
             s.diagonal(out.data());
             return to_numpy(std::move(out));
           })
      .def(
          "rows",
          [](Source& s, Vector<index> ids, Out<T> out) {
            check_room(out, index(ids.size()), s.size());
            for (std::size_t i = 0; i < ids.size(); ++i)
              if (ids.data()[i] < 0 || ids.data()[i] >= s.size()) throw nb::index_error("A row outside of the matrix.");
            nb::gil_scoped_release free;
            s.rows(ids.data(), index(ids.size()), 0, s.size(), out.data(), index(out.shape(1)));
          },
          "ids"_a, "out"_a, "Rows into out, whose width is the padded number of columns.");
  nb::class_<mm::Engine<T>, Source>(m, ("Engine" + suffix).c_str())
      .def(
          "__init__",
          [](mm::Engine<T>* self, const Data& x, const mm::KernelSpec& kernel, Vector<double> centre,
             std::shared_ptr<mm::Codes> codes, int threads) {
            auto middle = copied(centre);
            nb::gil_scoped_release free;
            new (self) mm::Engine<T>(x.view, kernel, std::move(middle), std::move(codes), threads);
          },
          "data"_a, "kernel"_a, "centre"_a, "codes"_a.none(), "threads"_a, nb::keep_alive<1, 2>())
      .def_prop_ro("storage", &mm::Engine<T>::storage)
      .def_prop_ro("unit", &mm::Engine<T>::unit)
      .def(
          "block",
          [](mm::Engine<T>& s, const Data& x, index begin, index end, Out<T> out) {
            check_room(out, end - begin, s.size());
            if (begin < 0 || end > x.view.rows) throw nb::index_error("Rows outside of the data.");
            nb::gil_scoped_release free;
            s.block(x.view, begin, end, out.data(), index(out.shape(1)));
          },
          "data"_a, "begin"_a, "end"_a, "out"_a);
  nb::class_<mm::Precomputed<T>, Source>(m, ("Precomputed" + suffix).c_str())
      .def(
          "__init__",
          [](mm::Precomputed<T>* self, const Data& matrix, Vector<index> chosen) {
            new (self) mm::Precomputed<T>(matrix.view, copied(chosen));
          },
          "matrix"_a, "chosen"_a, nb::keep_alive<1, 2>());
  nb::class_<mm::Callback<T>, Source>(m, ("Callback" + suffix).c_str())
      .def(
          "__init__",
          [](mm::Callback<T>* self, Vector<double> diagonal, nb::callable rows) {
            index const n = index(diagonal.size());
            auto evaluate = [rows, n](const index* ids, index count, T* out) {
              nb::gil_scoped_acquire held;
              nb::object answer = rows(to_numpy(std::vector<index>(ids, ids + count)));
              auto block = nb::cast<nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>>(answer);
              if (index(block.shape(0)) != count || index(block.shape(1)) != n)
                throw nb::value_error("A kernel returned a block of the wrong shape.");
              std::copy_n(block.data(), std::size_t(count * n), out);
            };
            new (self) mm::Callback<T>(copied(diagonal), evaluate);
          },
          "diagonal"_a, "rows"_a);
  using Shared = mm::SharedRows<T>;
  nb::class_<Shared>(m, ("SharedRows" + suffix).c_str())
      .def(
          "__init__",
          [](Shared* self, std::shared_ptr<Source> source, const std::vector<Vector<index>>& blocks, double budget) {
            std::vector<std::vector<index>> columns;
            for (auto const& block : blocks) columns.push_back(copied(block));
            nb::gil_scoped_release free;
            new (self) Shared(std::move(source), columns, budget);
          },
          "source"_a, "blocks"_a, "budget"_a)
      .def_prop_ro("pieces_computed", &Shared::pieces_computed)
      .def_prop_ro("hits", &Shared::hits);
  nb::class_<mm::SharedPart<T>, Source>(m, ("SharedPart" + suffix).c_str())
      .def(
          "__init__",
          [](mm::SharedPart<T>* self, std::shared_ptr<Shared> shared, Vector<index> chosen) {
            new (self) mm::SharedPart<T>(std::move(shared), copied(chosen));
          },
          "shared"_a, "chosen"_a);
  nb::class_<mm::Combined<T>, Source>(m, ("Combined" + suffix).c_str())
      .def(nb::init<std::vector<std::shared_ptr<Source>>, std::vector<double>, bool>(), "parts"_a, "weights"_a,
           "product"_a);
}

template <class T>
void bind_pair_solver(nb::module_& m, const std::string& suffix) {
  using Solver = mm::PairSolver<T>;
  nb::class_<Solver>(m, ("PairSolver" + suffix).c_str())
      .def(
          "__init__",
          [](Solver* self, std::shared_ptr<mm::RowSource<T>> source, Vector<double> p, Vector<double> lo,
             Vector<double> hi, Vector<double> d, Vector<double> e, Vector<double> beta, Vector<int> group,
             Vector<double> sums, int copies, int selection, int gain_rows, double eta, double cache_bytes) {
            mm::PairProblem problem{copies,    copied(p),    copied(lo),    copied(hi),  copied(d),
                                    copied(e), copied(beta), copied(group), copied(sums)};
            auto const m_ = std::size_t(copies) * std::size_t(source->size());
            for (std::size_t size : {p.size(), lo.size(), hi.size(), d.size(), e.size(), beta.size()})
              if (size != m_) throw nb::value_error("The terms and the rows differ in size.");
            mm::PairOptions const options{mm::Selection(selection), mm::GainRows(gain_rows), eta};
            nb::gil_scoped_release free;
            new (self) Solver(std::move(source), std::move(problem), options, cache_bytes);
          },
          "source"_a, "p"_a, "lo"_a, "hi"_a, "d"_a, "e"_a, "beta"_a, "group"_a, "sums"_a, "copies"_a, "selection"_a,
          "gain_rows"_a, "eta"_a, "cache_bytes"_a)
      .def(
          "run",
          [](Solver& s, index steps, double seconds, double tol, index shrink_interval) {
            nb::gil_scoped_release free;
            return int(s.run(steps, seconds, tol, shrink_interval));
          },
          "steps"_a, "seconds"_a, "tol"_a, "shrink_interval"_a)
      .def(
          "shrink",
          [](Solver& s, int rule, index history) {
            nb::gil_scoped_release free;
            return s.shrink(mm::Shrinking(rule), history);
          },
          "rule"_a, "history"_a)
      .def(
          "start_from",
          [](Solver& s, Vector<double> gradient) {
            if (index(gradient.size()) != s.variables()) throw nb::value_error("The gradient has the wrong size.");
            s.start_from(copied(gradient));
          },
          "gradient"_a)
      .def("unshrink", &Solver::unshrink)
      .def(
          "rebuild",
          [](Solver& s, double seconds) {
            nb::gil_scoped_release free;
            return s.rebuild(seconds);
          },
          "seconds"_a)
      .def_prop_ro("size", &Solver::size)
      .def_prop_ro("active", &Solver::active)
      .def_prop_ro("steps", &Solver::steps)
      .def_prop_ro("violation", &Solver::violation)
      .def_prop_ro("rows_computed", [](Solver& s) { return s.cache().counters.rows_computed; })
      .def_prop_ro("entries_computed", [](Solver& s) { return s.cache().counters.entries_computed; })
      .def_prop_ro("cache_hits", [](Solver& s) { return s.cache().counters.hits; })
      .def_prop_ro("cache_misses", [](Solver& s) { return s.cache().counters.misses; })
      .def_prop_ro("cache_bytes", [](Solver& s) { return s.cache().bytes(); })
      .def("beta", [](Solver& s) { return to_numpy(s.beta()); })
      .def("gradient", [](Solver& s) { return to_numpy(s.gradient()); });
}

std::vector<index> checked_ids(const Vector<index>& ids, index size) {
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids.data()[i] < 0 || ids.data()[i] >= size) throw nb::index_error("A row outside of the matrix.");
  return copied(ids);
}

template <class T>
void bind_working_sets(nb::module_& m, const std::string& suffix) {
  using Store = mm::RowStore<T>;
  nb::class_<Store>(m, ("RowStore" + suffix).c_str())
      .def(nb::init<std::shared_ptr<mm::RowSource<T>>, double, int>(), "source"_a, "budget"_a, "threads"_a)
      .def(
          "accumulate",
          [](Store& s, Vector<index> ids, Vector<double> coefficient, Vector<bool> worth, double seconds,
             nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> sums) {
            auto const rows = checked_ids(ids, s.size());
            if (coefficient.size() != rows.size() || worth.size() != rows.size() || index(sums.size()) != s.size())
              throw nb::value_error("The rows, their coefficients and the sums differ in size.");
            nb::gil_scoped_release free;
            return s.accumulate(rows.data(), coefficient.data(), reinterpret_cast<const std::uint8_t*>(worth.data()),
                                index(rows.size()), seconds, sums.data());
          },
          "ids"_a, "coefficient"_a, "worth"_a, "seconds"_a, "sums"_a)
      .def(
          "keep",
          [](Store& s, Vector<index> ids) {
            auto const rows = checked_ids(ids, s.size());
            s.keep(rows.data(), index(rows.size()));
          },
          "ids"_a)
      .def(
          "products",
          [](Store& s, Vector<index> ids, Vector<double> coefficient, Vector<index> columns,
             nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> sums) {
            auto const rows = checked_ids(ids, s.size()), wanted = checked_ids(columns, s.size());
            if (coefficient.size() != rows.size() || sums.size() != wanted.size())
              throw nb::value_error("The rows, their coefficients and the sums differ in size.");
            nb::gil_scoped_release free;
            s.source().products(rows.data(), coefficient.data(), index(rows.size()), wanted.data(),
                                index(wanted.size()), sums.data());
          },
          "ids"_a, "coefficient"_a, "columns"_a, "sums"_a)
      .def(
          "stored",
          [](Store& s) {
            auto* const held = new bool[std::size_t(std::max<index>(1, s.size()))];
            nb::capsule owner(held, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
            for (index i = 0; i < s.size(); ++i) held[i] = s.holds(i);
            return nb::ndarray<nb::numpy, bool, nb::ndim<1>>(held, {std::size_t(s.size())}, owner);
          },
          "For every example whether its row is stored.")
      .def_prop_ro("rows_computed", &Store::rows_computed)
      .def_prop_ro("hits", &Store::hits)
      .def_prop_ro("bytes", &Store::bytes);
  using Square = mm::WorkingMatrix<T>;
  nb::class_<Square, mm::RowSource<T>>(m, ("WorkingMatrix" + suffix).c_str())
      .def(nb::init<std::shared_ptr<mm::RowSource<T>>, index>(), "source"_a, "most"_a)
      .def(
          "exchange",
          [](Square& s, Vector<index> leaving, Vector<index> joining) {
            auto const leave = checked_ids(leaving, s.size());
            for (std::size_t i = 1; i < leave.size(); ++i)
              if (leave[i] <= leave[i - 1]) throw nb::value_error("The positions that leave must rise.");
            auto const join = checked_ids(joining, s.examples());
            nb::gil_scoped_release free;
            s.exchange(leave, join);
          },
          "leaving"_a, "joining"_a)
      .def("members", [](Square& s) { return to_numpy(s.members()); })
      .def(
          "values",
          [](Square& s) {
            index stride = 0;
            const T* const values = s.resident(stride);
            auto const size = std::size_t(s.size());
            return nb::ndarray<nb::numpy, const T, nb::ndim<2>>(values, {size, size}, nb::handle(),
                                                                {std::int64_t(stride), std::int64_t(1)});
          },
          nb::rv_policy::reference_internal, "The matrix where it lies, until the next exchange.")
      .def_prop_ro("entries_computed", &Square::entries_computed)
      .def_prop_ro("bytes", &Square::bytes);
}

nb::ndarray<nb::numpy, double, nb::ndim<2>> square(nb::ndarray<const double, nb::ndim<2>, nb::device::cpu> K,
                                                   Vector<index> rows) {
  auto const at = checked_ids(rows, index(std::min(K.shape(0), K.shape(1))));
  if (K.stride(1) != 1) throw nb::value_error("The rows of the matrix must be contiguous.");
  auto* const kept = new mm::Arena<double>(std::ptrdiff_t(std::max<std::size_t>(1, at.size() * at.size())));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<mm::Arena<double>*>(p); });
  {
    nb::gil_scoped_release free;
    double* out = kept->data();
    for (index r : at) {
      const double* const row = K.data() + r * K.stride(0);
      for (index c : at) *out++ = row[c];
    }
  }
  return nb::ndarray<nb::numpy, double, nb::ndim<2>>(kept->data(), {at.size(), at.size()}, owner);
}

}  // namespace

NB_MODULE(_core, m) {
  m.def("isa", [] { return std::string(mm::vector_table().name); }, "The instruction set of the vector code in use.");
  m.def("release_memory", &mm::release_blocks, "Gives the memory that is kept between fits to the system; the bytes.");
  m.def("padded", &mm::padded, "columns"_a, "The width of an array that holds rows of so many columns.");
  nb::class_<Data>(m, "Data")
      .def(nb::init<AnyArray>(), "dense"_a)
      .def(nb::init<AnyArray, AnyArray, AnyArray, mm::index>(), "values"_a, "indices"_a, "indptr"_a, "columns"_a)
      .def_prop_ro("rows", [](Data& d) { return d.view.rows; })
      .def_prop_ro("columns", [](Data& d) { return d.view.columns; })
      .def(
          "norms",
          [](Data& d, bool squared, Vector<double> centre) {
            std::vector<double> out(static_cast<std::size_t>(d.view.rows));
            {
              nb::gil_scoped_release free;
              d.view.norms(squared, centre.size() > 0 ? centre.data() : nullptr, out.data());
            }
            return to_numpy(std::move(out));
          },
          "squared"_a, "centre"_a, "Squared norms, or 1-norms, of the rows less a centre (empty: 0), in float64.");
  m.def("square", &square, "K"_a, "rows"_a, "Rows and columns of a matrix, in memory that is kept between fits.");
  nb::class_<mm::Codes>(m, "Codes")
      .def_ro("unit", &mm::Codes::unit)
      .def_ro("base", &mm::Codes::base)
      .def_ro("largest", &mm::Codes::largest);
  m.def(
      "find_codes",
      [](const Data& x, double roundoff, bool from_zero, int threads) {
        nb::gil_scoped_release free;
        return std::const_pointer_cast<mm::Codes>(mm::find_codes(x.view, roundoff, from_zero, threads));
      },
      "data"_a, "roundoff"_a, "from_zero"_a, "threads"_a, "The data as integers of one unit, or None.");
  nb::class_<mm::KernelSpec>(m, "KernelSpec")
      .def(
          "__init__",
          [](mm::KernelSpec* self, int pairing, int shape, double gamma, double coef0, int degree) {
            new (self) mm::KernelSpec(kernel_spec(pairing, shape, gamma, coef0, degree));
          },
          "pairing"_a, "shape"_a, "gamma"_a, "coef0"_a, "degree"_a);
  m.def(
      "diagonal",
      [](const mm::KernelSpec& kernel, Vector<double> norms) {
        std::vector<double> out(norms.size());
        mm::kernel_table<double>().diagonal(kernel, norms.data(), mm::index(norms.size()), out.data());
        return to_numpy(std::move(out));
      },
      "kernel"_a, "norms"_a, "k(x, x) from the squared norms of the examples, or their 1-norms.");
  bind_sources<float>(m, "32");
  bind_sources<double>(m, "64");
  bind_pair_solver<float>(m, "32");
  bind_pair_solver<double>(m, "64");
  bind_working_sets<float>(m, "32");
  bind_working_sets<double>(m, "64");
  mm::vector_table();  // a wrong MAXMARGIN_ISA fails the import, not the first fit

  bind_text(m);
}
