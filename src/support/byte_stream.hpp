// Numbers and texts as bytes, one behind the other: for files and messages of our own.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace quadrant::inline v0 {

static_assert(std::endian::native == std::endian::little, "what is written is little-endian");

class ByteWriter {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  /// Their number, and they.
  template <class T>
    requires std::is_arithmetic_v<T>
  void numbers(std::span<const T> values) {
    number(static_cast<std::uint64_t>(values.size()));
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  void text(std::string_view text) { numbers(std::span(text)); }
  /// As they are.
  void raw(std::string_view bytes) { bytes_.append(bytes); }

  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what a ByteWriter wrote, whatever the bytes are: where there are not enough, it has failed
/// for good, and what it reads is 0 or empty. It takes no more memory than the bytes.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
    requires std::is_arithmetic_v<T>
  [[nodiscard]] T number() {
    T value{};
    const std::span<const char> taken = raw(sizeof(T));
    if (!failed_) std::memcpy(&value, taken.data(), sizeof(T));
    return value;
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  [[nodiscard]] std::vector<T> numbers() {
    const std::span<const char> taken = list(sizeof(T));
    std::vector<T> values(taken.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), taken.data(), taken.size());
    return values;
  }
  [[nodiscard]] std::string text() { return std::string(part()); }
  /// The same, which stays where it is.
  [[nodiscard]] std::string_view part() { return list(1); }
  /// So many bytes, which stay where they are.
  [[nodiscard]] std::string_view raw(std::size_t size) {
    failed_ = failed_ || size > bytes_.size() - at_;
    if (failed_) return {};
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

  /// Where what was read means nothing.
  void fail() noexcept { failed_ = true; }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  [[nodiscard]] bool is_at_end() const noexcept { return at_ == bytes_.size(); }

 private:
  std::string_view list(std::size_t size_of_one) {
    const auto count = number<std::uint64_t>();
    failed_ = failed_ || count > (bytes_.size() - at_) / size_of_one;
    return raw(failed_ ? 0 : static_cast<std::size_t>(count) * size_of_one);
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace quadrant::inline v0
