// Python's view of the reader and writer of LIBSVM text.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <span>
#include <utility>
#include <variant>

#include "libsvm_text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using mm::text::Buffer;
using mm::text::Examples;
using mm::text::ReadOptions;
using mm::text::Rows;
using mm::text::TextReader;

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Int64s = Array<std::int64_t>;

// The buffer as a NumPy array that owns it.
template <class T>
nb::object array(Buffer<T> buffer) {
  const std::size_t n = buffer.size();
  T* const data = buffer.release();
  nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {n}, owner));
}

nb::tuple take(TextReader& reader) {
  Examples examples = reader.take();
  const auto to_array = [](auto& buffer) { return array(std::move(buffer)); };
  return nb::make_tuple(to_array(examples.labels), to_array(examples.label_counts), to_array(examples.query_ids),
                        to_array(examples.row_lengths), std::visit(to_array, examples.indices),
                        std::visit(to_array, examples.values));
}

void feed(TextReader& reader, const Bytes& block) {
  const nb::gil_scoped_release unlocked;
  reader.feed({reinterpret_cast<const char*>(block.data()), block.size()});
}

template <class T>
std::span<const T> span(const Array<T>& array) {
  return {array.data(), array.size()};
}

template <class Value>
nb::bytes format_rows(const Array<double>& labels, const Int64s& label_ends, const Int64s& query_ids,
                      const Int64s& row_ends, const Int64s& indices, const Array<Value>& values,
                      std::int64_t first_index) {
  const Rows<Value> rows{span(labels),  span(label_ends), span(query_ids), span(row_ends),
                         span(indices), span(values),     first_index};
  std::string text;
  {
    const nb::gil_scoped_release unlocked;
    text = mm::text::format_rows(rows);
  }
  return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_text(nb::module_& m) {
  nb::class_<TextReader>(m, "TextReader", "Reads LIBSVM text from blocks cut anywhere; see core/libsvm_text.hpp.")
      .def(
          "__init__",
          [](TextReader* self, std::string name, bool float32, bool multilabel, bool query_id,
             std::int64_t lowest_index, int threads) {
            new (self) TextReader(ReadOptions{std::move(name), float32, multilabel, query_id, lowest_index, threads});
          },
          "name"_a, nb::kw_only(), "float32"_a, "multilabel"_a, "query_id"_a, "lowest_index"_a, "threads"_a)
      .def("feed", &feed, "block"_a, "Parse a block of text; the line that it cuts is kept for the next.")
      .def("finish", &TextReader::finish, nb::call_guard<nb::gil_scoped_release>(), "Parse the unfinished last line.")
      .def("take", &take, "Labels, label counts, query ids, row lengths, indices, values since the last take.")
      .def_prop_ro("rows", &TextReader::rows, "Examples since the last take.")
      .def_prop_ro("smallest_index", &TextReader::smallest_index, "Of the whole text; 2**63 - 1 without any pair.")
      .def_prop_ro("largest_index", &TextReader::largest_index, "Of the whole text; -1 without any pair.");
  m.def("format_rows", &format_rows<float>, "labels"_a, "label_ends"_a, "query_ids"_a, "row_ends"_a, "indices"_a,
        "values"_a.noconvert(), "first_index"_a, "The rows of a CSR matrix as LIBSVM text.");
  m.def("format_rows", &format_rows<double>, "labels"_a, "label_ends"_a, "query_ids"_a, "row_ends"_a, "indices"_a,
        "values"_a.noconvert(), "first_index"_a);
}
