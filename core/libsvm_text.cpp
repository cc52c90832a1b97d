#include "libsvm_text.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "libsvm_piece.hpp"
#include "parallel.hpp"

namespace mm::text {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 18;  // a few pieces fit the caches

// work(piece) for all pieces. Each thread takes the next one when it is free: other processes may hold some of the
// cores.
template <class Work>
void each(std::vector<Piece>& pieces, int threads, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto count = static_cast<mm::index>(std::min(pieces.size(), static_cast<std::size_t>(std::max(threads, 1))));
  mm::parallel(threads, count, mm::index{1}, [&](mm::index, mm::index) {
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < pieces.size();) work(pieces[i]);
  });
}

// Cuts text, whose last character is '\n', after line ends.
void split(std::string_view text, std::vector<Piece>& pieces) {
  while (!text.empty()) {
    std::size_t n = text.size();
    if (n > kPieceBytes) n = text.find('\n', kPieceBytes) + 1;
    pieces.emplace_back().text = text.substr(0, n);
    text.remove_prefix(n);
  }
}

}  // namespace

TextReader::TextReader(ReadOptions options)
    : options_(std::move(options)), examples_(empty()), smallest_(std::numeric_limits<std::int64_t>::max()) {}

Examples TextReader::empty() const {
  Examples examples;
  if (options_.float32) {
    examples.values.emplace<Buffer<float>>();
  } else {
    examples.values.emplace<Buffer<double>>();
  }
  return examples;
}

void TextReader::feed(std::string_view block) {
  const std::size_t last = block.rfind('\n');
  if (last == std::string_view::npos) {
    carry_ += block;
    return;
  }
  std::vector<Piece> pieces;
  std::string_view body = block.substr(0, last + 1);
  if (!carry_.empty()) {
    const std::size_t first = body.find('\n') + 1;
    carry_ += body.substr(0, first);
    body.remove_prefix(first);
    split(carry_, pieces);
  }
  split(body, pieces);
  parse(pieces);
  carry_ = block.substr(last + 1);
}

void TextReader::finish() {
  if (!carry_.empty()) feed("\n");
}

Examples TextReader::take() { return std::exchange(examples_, empty()); }

void TextReader::parse(std::vector<Piece>& pieces) {
  each(pieces, options_.threads, [&](Piece& piece) { count(piece, options_.multilabel); });
  Extent end{examples_.row_lengths.size(), examples_.labels.size(), 0};
  end.pairs = std::visit([](const auto& values) { return values.size(); }, examples_.values);
  for (Piece& piece : pieces) {
    piece.begin = end;
    end.rows += piece.slots.rows;
    end.labels += piece.slots.labels;
    end.pairs += piece.slots.pairs;
  }
  examples_.row_lengths.reserve(end.rows);
  examples_.labels.reserve(end.labels);
  if (options_.multilabel) examples_.label_counts.reserve(end.rows);
  if (options_.query_id) examples_.query_ids.reserve(end.rows);
  std::visit([&](auto& values) { values.reserve(end.pairs); }, examples_.values);
  std::visit([&](auto& indices) { indices.reserve(end.pairs); }, examples_.indices);
  if (!parse_in_place(pieces)) {
    widen();
    std::visit([&](auto& indices) { indices.reserve(end.pairs); }, examples_.indices);
    for (Piece& piece : pieces) piece.forget();
    parse_in_place(pieces);
  }
  for (const Piece& piece : pieces) {
    if (piece.fault != Fault::none) fail(piece);
    lines_ += static_cast<std::int64_t>(piece.lines);
    smallest_ = std::min(smallest_, piece.smallest);
    largest_ = std::max(largest_, piece.largest);
  }
  close_gaps(pieces);
}

// Whether the arrays' index type was wide enough.
bool TextReader::parse_in_place(std::vector<Piece>& pieces) {
  std::visit(
      [&]<class Index, class Value>(const Buffer<Index>&, const Buffer<Value>&) {
        each(pieces, options_.threads,
             [&](Piece& piece) { PieceParser<Index, Value>(piece, options_, examples_).run(); });
      },
      examples_.indices, examples_.values);
  return std::none_of(pieces.begin(), pieces.end(), [](const Piece& piece) { return piece.too_wide; });
}

void TextReader::widen() {
  const auto& narrow = std::get<Buffer<std::int32_t>>(examples_.indices);
  Buffer<std::int64_t> wide;
  wide.reserve(narrow.size());
  std::copy_n(narrow.data(), narrow.size(), wide.data());
  wide.set_size(narrow.size());
  examples_.indices = std::move(wide);
}

// Moves what each piece wrote down to the end of what the one before it wrote.
void TextReader::close_gaps(const std::vector<Piece>& pieces) {
  Extent end = pieces.front().begin;
  const auto close = [](auto& buffer, std::size_t to, std::size_t from, std::size_t n) {
    if (to != from && n > 0) std::memmove(buffer.data() + to, buffer.data() + from, n * sizeof(*buffer.data()));
    buffer.set_size(to + n);
  };
  for (const Piece& piece : pieces) {
    close(examples_.row_lengths, end.rows, piece.begin.rows, piece.written.rows);
    if (options_.multilabel) close(examples_.label_counts, end.rows, piece.begin.rows, piece.written.rows);
    if (options_.query_id) close(examples_.query_ids, end.rows, piece.begin.rows, piece.written.rows);
    close(examples_.labels, end.labels, piece.begin.labels, piece.written.labels);
    const auto close_pairs = [&](auto& buffer) { close(buffer, end.pairs, piece.begin.pairs, piece.written.pairs); };
    std::visit(close_pairs, examples_.indices);
    std::visit(close_pairs, examples_.values);
    end.rows += piece.written.rows;
    end.labels += piece.written.labels;
    end.pairs += piece.written.pairs;
  }
}

// Names the place of a piece's fault; the pieces before it are all counted in lines_.
void TextReader::fail(const Piece& piece) const {
  const std::string_view before = piece.text.substr(0, static_cast<std::size_t>(piece.fault_at - piece.text.data()));
  const auto line = lines_ + 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_end = before.rfind('\n');
  const std::size_t column = line_end == before.npos ? before.size() + 1 : before.size() - line_end;
  throw TextError(options_.name + ", line " + std::to_string(line) + ", column " + std::to_string(column) + ": " +
                  describe(piece, options_));
}

}  // namespace mm::text
