// Reads and writes the text of LIBSVM and SVM-light: one example a line,
//
//     labels [qid:n] index:value index:value ...   # comment
//
// The reader is fed text in blocks of any size, cut anywhere. Each block is split at line ends into pieces; a first
// pass over the pieces counts what they can hold at most, so that a second pass writes numbers straight to their final
// place. Both passes run on several threads, and neither the result nor the error reported depends on their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace mm::text {

// A growing array without initialisation: realloc moves large blocks by remapping their pages, so that growth neither
// copies nor doubles the peak, and the array can be handed to Python as it is.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~Buffer() { std::free(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  const T& operator[](std::size_t i) const { return data_[i]; }

  void reserve(std::size_t n) {
    if (n > capacity_) reallocate(n > capacity_ + capacity_ / 2 ? n : capacity_ + capacity_ / 2);
  }
  void set_size(std::size_t n) { size_ = n; }  // n <= capacity

  // The array, cut to its size, and its ownership (std::free).
  T* release() {
    reallocate(size_ > 0 ? size_ : 1);
    size_ = capacity_ = 0;
    return std::exchange(data_, nullptr);
  }

 private:
  void reallocate(std::size_t n) {
    void* moved = std::realloc(data_, n * sizeof(T));
    if (moved == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    capacity_ = n;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

struct ReadOptions {
  std::string name{};             // of the source, for messages
  bool float32 = false;           // values as float32 (labels are float64 always)
  bool multilabel = false;        // "1,3,7" or nothing where a label stands
  bool query_id = false;          // store the query ids; each line needs one
  std::int64_t lowest_index = 0;  // 1 in a file declared one-based
  int threads = 1;
};

// Examples in the order of their lines. Indices are those of the text: nothing is subtracted.
struct Examples {
  Buffer<double> labels;              // of all examples, one after the other; ascending within an example
  Buffer<std::int64_t> label_counts;  // only with multilabel
  Buffer<std::int64_t> query_ids;     // only with query_id
  Buffer<std::int64_t> row_lengths;   // number of index:value pairs
  std::variant<Buffer<std::int32_t>, Buffer<std::int64_t>> indices;  // the narrow one as long as it can
  std::variant<Buffer<float>, Buffer<double>> values;
};

// Malformed text; the message is one sentence that names source, line and column (both from 1, columns in bytes).
class TextError : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct Piece;

class TextReader {
 public:
  explicit TextReader(ReadOptions options);

  void feed(std::string_view block);  // throws TextError; the reader is of no use afterwards
  void finish();                      // the text ends here: reads a last line that has no line end
  Examples take();                    // all examples since the last take

  std::int64_t rows() const { return static_cast<std::int64_t>(examples_.row_lengths.size()); }  // since the last take
  std::int64_t smallest_index() const { return smallest_; }  // of the whole text; INT64_MAX without any pair
  std::int64_t largest_index() const { return largest_; }    // of the whole text; -1 without any pair

 private:
  Examples empty() const;
  void parse(std::vector<Piece>& pieces);
  bool parse_in_place(std::vector<Piece>& pieces);
  void close_gaps(const std::vector<Piece>& pieces);
  void widen();
  [[noreturn]] void fail(const Piece& piece) const;

  ReadOptions options_;
  Examples examples_;
  std::string carry_;  // the beginning of a line whose end has not come yet
  std::int64_t lines_ = 0, smallest_, largest_ = -1;
};

// The rows of a CSR matrix as text. Row i has the labels [label_ends[i - 1], label_ends[i]) and the pairs
// [row_ends[i - 1], row_ends[i]), both counted from the start of the spans; query_ids is empty or one a row.
template <class Value>
struct Rows {
  std::span<const double> labels;
  std::span<const std::int64_t> label_ends, query_ids, row_ends, indices;
  std::span<const Value> values;
  std::int64_t first_index = 1;  // added to each index
};

// Shortest text that reads back to the same bits; whole numbers below 2^53 without exponent.
std::string format_rows(const Rows<float>& rows);
std::string format_rows(const Rows<double>& rows);

}  // namespace mm::text
