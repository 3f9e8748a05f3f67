// Zip archives made by hand (APPNOTE.TXT 6.3.10), right or wrong in any field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quadrant::test {

inline std::uint32_t crc_of(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1U ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

struct ZipEntry {
  std::string name;
  std::string bytes;  ///< as they are stored
  std::uint64_t method = 0;
  std::uint64_t flags = 0;
  std::optional<std::uint64_t> size;  ///< once unpacked; that of `bytes` unless said
  std::optional<std::uint32_t> crc;
  bool zip64 = false;  ///< sizes stand in an extra field, as numpy.savez writes them
};

class ZipBytes {
 public:
  void add(const ZipEntry& entry) {
    const std::uint64_t offset = bytes_.size();
    number(bytes_, 0x04034b50, 4);
    describe(bytes_, entry, {});
    bytes_ += entry.bytes;
    number(directory_, 0x02014b50, 4);
    number(directory_, 45, 2);
    describe(directory_, entry, offset);
    ++count_;
  }

  [[nodiscard]] std::string finish() const {
    std::string all = bytes_ + directory_;
    number(all, 0x06054b50, 4);
    number(all, 0, 4);
    number(all, count_, 2);
    number(all, count_, 2);
    number(all, directory_.size(), 4);
    number(all, bytes_.size(), 4);
    number(all, 0, 2);
    return all;
  }

 private:
  static void number(std::string& out, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xffU);
  }

  /// What the local and the central header have in common; with `offset` the central one.
  static void describe(std::string& out, const ZipEntry& entry,
                       std::optional<std::uint64_t> offset) {
    const std::uint64_t stored = entry.bytes.size();
    const std::uint64_t size = entry.size.value_or(stored);
    number(out, 45, 2);
    number(out, entry.flags, 2);
    number(out, entry.method, 2);
    number(out, 0, 2);     // time
    number(out, 0x21, 2);  // 1980-01-01
    number(out, entry.crc.value_or(crc_of(entry.bytes)), 4);
    number(out, entry.zip64 ? 0xffffffffU : stored, 4);
    number(out, entry.zip64 ? 0xffffffffU : size, 4);
    number(out, entry.name.size(), 2);
    number(out, entry.zip64 ? 20 : 0, 2);
    if (offset) {
      number(out, 0, 2);  // comment
      number(out, 0, 2);  // disk
      number(out, 0, 2);  // attributes inside
      number(out, 0, 4);  // and outside
      number(out, *offset, 4);
    }
    out += entry.name;
    if (entry.zip64) {
      number(out, 1, 2);
      number(out, 16, 2);
      number(out, size, 8);
      number(out, stored, 8);
    }
  }

  std::string bytes_;
  std::string directory_;
  std::uint64_t count_ = 0;
};

inline std::string zip_of(const std::vector<ZipEntry>& entries) {
  ZipBytes zip;
  for (const ZipEntry& entry : entries) zip.add(entry);
  return zip.finish();
}

}  // namespace quadrant::test
