// Large blocks of memory for rows. First touch of fresh memory is slow, so blocks lie on huge pages where the system
// has them, and those that are given back are kept for the next fit of the process until somebody asks for their
// release.
#pragma once

#include <cstddef>
#include <utility>

namespace mm {

/// A block of at least so many bytes, from what is kept or from the system; throws std::bad_alloc.
std::pair<void*, std::size_t> take_block(std::size_t bytes);
void give_back(void* block, std::size_t bytes) noexcept;
/// Gives what is kept to the system; the bytes.
std::size_t release_blocks() noexcept;

template <class T>
class Arena {
 public:
  Arena() = default;
  explicit Arena(std::ptrdiff_t count) {
    auto const [block, bytes] = take_block(std::size_t(count) * sizeof(T));
    memory_ = static_cast<T*>(block), bytes_ = bytes;
  }
  Arena(Arena&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
  Arena& operator=(Arena&& other) noexcept {
    std::swap(memory_, other.memory_), std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Arena() {
    if (memory_) give_back(memory_, bytes_);
  }

  T* data() { return memory_; }
  const T* data() const { return memory_; }
  /// How many values there is room for.
  std::ptrdiff_t room() const { return std::ptrdiff_t(bytes_ / sizeof(T)); }

 private:
  T* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace mm
