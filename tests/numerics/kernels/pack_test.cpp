#include "numerics/kernels/pack.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "numerics/kernels/targets.hpp"

namespace quadrant {
namespace {

TEST_CASE("kernels: halves are packed low one first, and come back with their sign") {
  std::mt19937 random(1);
  for (std::size_t count = 0; count < 300; ++count) {
    std::vector<std::byte> codes(count);
    for (std::byte& code : codes) code = static_cast<std::byte>(random() & 0xffU);
    std::vector<std::byte> expected((count + 1) / 2);
    for (std::size_t i = 0; i < count; ++i) {
      expected[i / 2] |= (codes[i] & std::byte{15}) << (i % 2 == 0 ? 0 : 4);
    }
    test::for_each_target([&] {
      std::vector<std::byte> packed(expected.size(), std::byte{0xAA});
      kernels::pack_halves(codes.data(), count, packed.data());
      CHECK(packed == expected);
      std::vector<std::byte> in_place = codes;
      kernels::pack_halves(in_place.data(), count, in_place.data());
      in_place.resize(expected.size());
      CHECK(in_place == expected);
      for (const bool is_signed : {false, true}) {
        std::vector<std::byte> unpacked(count, std::byte{0xAA});
        kernels::unpack_halves(packed.data(), count, is_signed, unpacked.data());
        for (std::size_t i = 0; i < count; ++i) {
          const int half = static_cast<int>(codes[i] & std::byte{15});
          const int value = is_signed && half > 7 ? half - 16 : half;
          if (unpacked[i] != static_cast<std::byte>(value)) FAIL("half ", i, " of ", count);
        }
      }
    });
  }
}

TEST_CASE(
    "kernels: codes of 2 and 4 bits are packed low ones first, and come back with their sign") {
  std::mt19937 random(2);
  for (const int bits : {2, 4}) {
    const int each = 8 / bits;
    const int count_of_codes = 1 << bits;
    for (std::size_t count = 0; count < 40; ++count) {
      std::vector<std::byte> codes(count);
      for (std::byte& code : codes) code = static_cast<std::byte>(random() & 0xffU);
      // As digits of numbers.
      std::vector<int> numbers((count + static_cast<std::size_t>(each) - 1) /
                               static_cast<std::size_t>(each));
      for (std::size_t i = count; i-- > 0;) {
        int& number = numbers[i / static_cast<std::size_t>(each)];
        number = number * count_of_codes + static_cast<int>(codes[i]) % count_of_codes;
      }
      std::vector<std::byte> packed(numbers.size(), std::byte{0xAA});
      kernels::pack_bits(codes.data(), count, bits, packed.data());
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        CHECK(static_cast<int>(packed[i]) == numbers[i]);
      }
      for (const bool is_signed : {false, true}) {
        std::vector<std::byte> unpacked(count, std::byte{0xAA});
        kernels::unpack_bits(packed.data(), count, bits, is_signed, unpacked.data());
        for (std::size_t i = 0; i < count; ++i) {
          const int code = static_cast<int>(codes[i]) % count_of_codes;
          const bool is_negative = is_signed && code >= count_of_codes / 2;
          CHECK(unpacked[i] == static_cast<std::byte>(is_negative ? code - count_of_codes : code));
        }
      }
    }
  }
}

}  // namespace
}  // namespace quadrant
