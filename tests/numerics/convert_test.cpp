#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <thread>

#include "numerics/affine.hpp"
#include "numerics/helpers.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/constant.hpp"
#include "quadrant/numerics/encode.hpp"
#include "shortened.hpp"
#include "temporary_folder.hpp"

namespace quadrant {
namespace {

using test::contents;
using test::float_constant;
using test::infinity;
using Type = std::shared_ptr<const UniformType>;

std::vector<std::int64_t> codes_of(const Constant& constant) {
  return read_integers(constant, constant.element_count()).value();
}

// A constant of `storage`, which has one byte or two.
Constant integers(ElementType storage, const Shape& shape,
                  const std::vector<std::int64_t>& values) {
  std::vector<std::byte> bytes;
  for (const std::int64_t value : values) {
    bytes.push_back(static_cast<std::byte>(value & 0xff));
    if (byte_width(storage) == 2) bytes.push_back(static_cast<std::byte>((value >> 8) & 0xff));
  }
  return Constant::from_bytes(storage, shape, std::move(bytes));
}

Type uniform(ElementType storage, const Shape& shape, const Granularity& granularity,
             const std::vector<float>& scales, const std::vector<std::int64_t>& zero_points = {}) {
  UniformType type;
  type.storage = storage;
  type.granularity = granularity;
  const auto range = integer_range(storage).value_or(IntegerRange{-128, 127});
  type.storage_min = range.min;
  type.storage_max = range.max;
  const Shape parameters = parameter_shape(shape, granularity);
  type.scales = float_constant(parameters, scales);
  if (!zero_points.empty()) type.zero_points = integers(storage, parameters, zero_points);
  return std::make_shared<const UniformType>(std::move(type));
}

// Scales, for every third `seed` negative ones, and, for every second, zero points.
Type random_type(ElementType storage, const Shape& shape, const Granularity& granularity,
                 unsigned seed) {
  std::mt19937 random(seed);
  const auto count =
      static_cast<std::size_t>(parameter_shape(shape, granularity).element_count().value());
  const auto range = integer_range(storage).value();
  const auto width = static_cast<float>(range.max - range.min);
  std::uniform_real_distribution<float> scale(1 / width, 8 / width);
  std::uniform_int_distribution<std::int64_t> zero_point(range.min, range.max);
  std::vector<float> scales(count);
  std::vector<std::int64_t> zero_points(seed % 2 == 0 ? 0 : count);
  for (float& value : scales) value = seed % 3 == 0 ? -scale(random) : scale(random);
  for (std::int64_t& value : zero_points) value = zero_point(random);
  return uniform(storage, shape, granularity, scales, zero_points);
}

std::string refusal(const Expected<Constant>& result) {
  REQUIRE(!result);
  CHECK(result.error().code == ErrorCode::impossible);
  return result.error().message;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

constexpr std::array storages{ElementType::int4,  ElementType::uint4, ElementType::int8,
                              ElementType::uint8, ElementType::int16, ElementType::uint16};

TEST_CASE("quantized: by hand") {
  const Constant real =
      float_constant({2, 3}, std::array{0.5F, 1.5F, -400.0F, 1.0F, 2.0F, 1000.0F});
  const Type type = uniform(ElementType::int8, {2, 3}, Granularity::per_axis(0), {1, 4}, {0, -3});
  const Constant codes = quantized(real, type).value();
  CHECK(codes.element() == ElementType::int8);
  CHECK(codes.shape() == Shape{2, 3});
  CHECK(codes.is_deferred());
  CHECK(codes_of(codes) == std::vector<std::int64_t>{0, 2, -128, -3, -3, 127});

  const Constant back = dequantized(codes, type).value();
  CHECK(back.element() == ElementType::float32);
  CHECK(contents<float>(back) == std::vector{0.0F, 2.0F, -128.0F, 0.0F, 0.0F, 520.0F});
}

TEST_CASE("quantized: the range of codes in use may be narrower than the storage") {
  UniformType type = *uniform(ElementType::int8, {3}, Granularity::per_tensor(), {1});
  type.storage_min = -127;
  const Constant real = float_constant({3}, std::array{-128.0F, -infinity, 126.5F});
  CHECK(codes_of(quantized(real, std::make_shared<const UniformType>(type)).value()) ==
        std::vector<std::int64_t>{-127, -127, 126});
}

TEST_CASE("quantized: infinities saturate, NaN becomes the zero point") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::array values{infinity, nan, -infinity, -nan, 1e38F, -1e38F};
  for (const Shape& shape : {Shape{6}, Shape{1, 6}}) {
    for (const Granularity& granularity : test::granularities_of(shape)) {
      const auto count =
          static_cast<std::size_t>(parameter_shape(shape, granularity).element_count().value());
      const Type type = uniform(ElementType::uint8, shape, granularity, std::vector(count, 1e-3F),
                                std::vector<std::int64_t>(count, 9));
      CHECK(codes_of(quantized(float_constant(shape, values), type).value()) ==
            std::vector<std::int64_t>{255, 9, 0, 9, 255, 0});
    }
  }
}

TEST_CASE("quantized and dequantized: every storage, shape and granularity, against the scalars") {
  unsigned seed = 0;
  test::Turns turns;
  for (const Shape& shape : test::shapes()) {
    const auto count = static_cast<std::size_t>(shape.element_count().value());
    const std::vector<float> values = test::random_values(count, 1);
    const Constant real = float_constant(shape, values);
    auto granularities = test::granularities_of(shape);
    if (count < 2000) {
      const auto odd = test::odd_blocks_of(shape);
      granularities.insert(granularities.end(), odd.begin(), odd.end());
    }
    for (const Granularity& granularity : granularities) {
      const auto groups = test::groups_of(shape, granularity);
      // The large ones take turns.
      ++seed;
      const std::size_t few = count < 2000 ? 1 : 2;
      for (std::size_t which = seed % few; which < storages.size(); which += few) {
        if (!turns.next()) continue;
        const ElementType storage = storages[which];
        const auto range = integer_range(storage).value();
        const Type type = random_type(storage, shape, granularity, ++seed);
        const auto scales = contents<float>(type->scales);
        const auto zero_points = type->zero_points ? codes_of(type->zero_points)
                                                   : std::vector<std::int64_t>(scales.size(), 0);
        const Constant codes = quantized(real, type).value();
        const auto actual_codes = codes_of(codes);
        const auto actual_values = contents<float>(dequantized(codes, type).value());
        REQUIRE(actual_codes.size() == count);
        REQUIRE(actual_values.size() == count);
        int wrong = 0;
        for (std::size_t i = 0; i < count; ++i) {
          const std::size_t g = groups[i];
          const auto code =
              quantize_value(values[i], scales[g], zero_points[g], range.min, range.max);
          wrong += (actual_codes[i] != code) ? 1 : 0;
          wrong += (actual_values[i] != dequantize_value(code, scales[g], zero_points[g])) ? 1 : 0;
        }
        CAPTURE(to_string(shape));
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("quantized: a negative scale mirrors the range") {
  const Constant real = float_constant({2, 3}, std::array{8.0F, 7.5F, -8.0F, 8.0F, 7.5F, -8.0F});
  const Type type = uniform(ElementType::int4, {2, 3}, Granularity::per_block(1, 8), {-1, 1});
  const Constant codes = quantized(real, type).value();
  CHECK(codes_of(codes) == std::vector<std::int64_t>{-8, -8, 7, 7, 7, -8});
  CHECK(contents<float>(dequantized(codes, type).value()) ==
        std::vector{8.0F, 8.0F, -7.0F, 7.0F, 7.0F, -8.0F});
  const Type middle =
      uniform(ElementType::uint4, {2, 3}, Granularity::per_block(1, 8), {-1, 1}, {8, 8});
  CHECK(codes_of(quantized(real, middle).value()) ==
        std::vector<std::int64_t>{0, 0, 15, 15, 15, 0});
}

TEST_CASE("quantized: blocks, by hand") {
  const std::array values{1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F, 7.0F, 8.0F, 9.0F, 10.0F};
  const Constant real = float_constant({2, 5}, values);
  // The last block of a row is short.
  const Type rows = uniform(ElementType::int8, {2, 5}, Granularity::per_block(1, 2),
                            {1, 0.5F, 0.25F, -1, -0.5F, 10});
  CHECK(codes_of(quantized(real, rows).value()) ==
        std::vector<std::int64_t>{1, 2, 6, 8, 20, -6, -7, -16, -18, 1});
  const Type columns =
      uniform(ElementType::int8, {2, 5}, Granularity::per_block(0, 2), {1, 0.5F, 0.25F, -1, 10});
  CHECK(codes_of(quantized(real, columns).value()) ==
        std::vector<std::int64_t>{1, 4, 12, -4, 0, 6, 14, 32, -9, 1});
}

TEST_CASE("quantized: ties and their neighbours, in long runs and in short ones") {
  std::vector<float> values;
  const int most = test::shortened(70'000);
  for (int i = -most; i < most; ++i) {
    const float tie = static_cast<float>(i) + 0.5F;
    values.insert(values.end(),
                  {tie, std::nextafter(tie, infinity), std::nextafter(tie, -infinity)});
  }
  const Shape shape{static_cast<std::int64_t>(values.size()) / 3, 3};
  const Constant real = float_constant(shape, values);
  for (const ElementType storage : storages) {
    const auto range = integer_range(storage).value();
    for (const std::int64_t zero_point : {range.min, range.max, std::int64_t{1}}) {
      const Type tensor = uniform(storage, shape, Granularity::per_tensor(), {1}, {zero_point});
      const Type axis = uniform(storage, shape, Granularity::per_axis(1), {1, 1, 1},
                                {zero_point, zero_point, zero_point});
      const auto actual = codes_of(quantized(real, tensor).value());
      const bool equal = codes_of(quantized(real, axis).value()) == actual;
      CHECK(equal);
      int wrong = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        wrong +=
            (actual[i] != quantize_value(values[i], 1, zero_point, range.min, range.max)) ? 1 : 0;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("quantized: other float types are widened exactly, float64 is rounded") {
  const Shape shape{50, 20};
  const std::vector<float> values = test::random_values(1000, 4);
  for (const ElementType element :
       {ElementType::float16, ElementType::bfloat16, ElementType::float64}) {
    std::vector<float> exact = values;
    for (float& value : exact) {
      if (element == ElementType::float16) value = widen_float16(round_to_float16(value));
      if (element == ElementType::bfloat16) value = widen_bfloat16(round_to_bfloat16(value));
    }
    for (const Granularity& granularity : test::granularities_of(shape)) {
      const Type type = random_type(ElementType::int8, shape, granularity, 3);
      const bool equal =
          codes_of(quantized(float_constant(element, shape, values), type).value()) ==
          codes_of(quantized(float_constant(shape, exact), type).value());
      CHECK(equal);
    }
  }
  const std::array<double, 3> doubles{0.5 + 1e-12, 1e300, -1e300};
  const Constant wide = Constant::from_values<double>(ElementType::float64, {3}, doubles);
  CHECK(codes_of(quantized(wide, uniform(ElementType::int8, {3}, Granularity::per_tensor(), {1}))
                     .value()) == std::vector<std::int64_t>{0, 127, -128});
}

TEST_CASE("quantizing the dequantized gives the codes back") {
  const Shape shape{13, 257};
  for (const ElementType storage : storages) {
    const auto range = integer_range(storage).value();
    std::mt19937 random(9);
    std::uniform_int_distribution<std::int64_t> code(range.min, range.max);
    std::vector<std::int64_t> values(std::size_t{13} * 257);
    for (std::int64_t& value : values) value = code(random);
    for (const Granularity& granularity : test::granularities_of(shape)) {
      for (const unsigned seed : {2U, 3U}) {
        const Type type = random_type(storage, shape, granularity, seed);
        const Constant codes = integers(storage, shape, values);
        const bool equal =
            codes_of(quantized(dequantized(codes, type).value(), type).value()) == values;
        CHECK(equal);
      }
    }
  }
}

TEST_CASE("with scales from the scan, no element is off by more than half a scale") {
  const Shape shape{30, 41, 3};
  const std::vector<float> values = test::random_values(std::size_t{30} * 41 * 3, 12);
  const Constant real = float_constant(shape, values);
  for (const ElementType storage : {ElementType::int4, ElementType::int8, ElementType::int16}) {
    for (const Granularity& granularity : test::granularities_of(shape)) {
      const std::int64_t max = integer_range(storage).value().max;
      const Constant scales =
          scan_parameters(real, granularity,
                          {.storage = storage, .storage_min = -max, .storage_max = max})
              .value()
              .scales;
      const auto scale = contents<float>(scales);
      const Type type = uniform(storage, shape, granularity, scale);
      const Constant codes = quantized(real, type).value();
      for (const std::int64_t code : codes_of(codes)) CHECK(std::abs(code) <= max);
      const auto back = contents<float>(dequantized(codes, type).value());
      const auto groups = test::groups_of(shape, granularity);
      int wrong = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        // The quotient and the product are rounded, each to 24 digits.
        const double allowed = 0.5 * static_cast<double>(scale[groups[i]]) +
                               std::ldexp(std::fabs(static_cast<double>(values[i])), -22);
        wrong +=
            (std::fabs(static_cast<double>(values[i]) - static_cast<double>(back[i])) > allowed)
                ? 1
                : 0;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("weights times a power of two have the same codes") {
  const Shape shape{20, 30};
  std::vector<float> values = test::random_values(600, 8);
  const auto codes = [&] {
    const Constant real = float_constant(shape, values);
    const auto scan = scan_parameters(real, Granularity::per_axis(1), {}).value();
    return codes_of(quantized(real, uniform(ElementType::int8, shape, Granularity::per_axis(1),
                                            contents<float>(scan.scales)))
                        .value());
  };
  const auto before = codes();
  for (float& value : values) value *= 0x1p-30F;
  CHECK(codes() == before);
  for (float& value : values) value = -value;
  auto negated = before;
  for (std::int64_t& code : negated) code = -code;
  CHECK(codes() == negated);
}

TEST_CASE("any part can be read, at any byte") {
  std::mt19937 random(6);
  for (const ElementType storage : {ElementType::int8, ElementType::uint16}) {
    for (const Shape& shape : {Shape{300, 333}, Shape{33000, 3}, Shape{5}, Shape{7, 3, 3, 3}}) {
      const auto count = static_cast<std::size_t>(shape.element_count().value());
      const Constant real = float_constant(shape, test::random_values(count, 2));
      for (const Granularity& granularity : test::granularities_of(shape)) {
        const Type type = random_type(storage, shape, granularity, 5);
        const Constant codes = quantized(real, type).value();
        for (const Constant& constant : {codes, dequantized(codes, type).value()}) {
          const auto whole = contents<std::byte>(constant);
          REQUIRE(whole.size() == constant.byte_size());
          int wrong = 0;
          for (int i = 0; i < (test::is_whole() ? 20 : 4); ++i) {
            const auto begin = std::uniform_int_distribution<std::size_t>(0, whole.size())(random);
            const std::size_t room =
                i % 2 == 0 ? std::min<std::size_t>(whole.size() - begin, 9) : whole.size() - begin;
            const auto length = std::uniform_int_distribution<std::size_t>(0, room)(random);
            // One byte off, so that the library cannot rely on alignment.
            std::vector<std::byte> part(length + 2, std::byte{0xa5});
            REQUIRE(constant.read(begin, std::span(part).subspan(1, length)));
            wrong += (!std::equal(part.begin() + 1, part.end() - 1,
                                  whole.begin() + static_cast<std::ptrdiff_t>(begin)))
                         ? 1
                         : 0;
            wrong += (part.front() != std::byte{0xa5} || part.back() != std::byte{0xa5}) ? 1 : 0;
          }
          CHECK(wrong == 0);
        }
      }
    }
  }
}

TEST_CASE("runs at equal distances are what single reads give") {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  const auto check = [&](const Shape& shape, const Granularity& granularity, ElementType storage,
                         const RoundingProfile& rounding) {
    std::vector<float> values(static_cast<std::size_t>(shape.element_count().value()));
    for (float& value : values) value = normal(random);
    const Type type = random_type(storage, shape, granularity, static_cast<unsigned>(random()));
    const Constant codes = quantized(float_constant(shape, values), type, rounding).value();
    const ConstantBytes all = codes.read().value();
    const auto inner =
        static_cast<std::size_t>(shape[shape.rank() - 1].value() * byte_width(storage));
    for (int i = 0; i < 10; ++i) {
      const std::size_t length = random() % inner + 1;
      const ByteRuns runs{.offset = random() % inner, .step = inner, .length = length};
      const std::size_t most = (all.bytes().size() - runs.offset - length) / inner + 1;
      const std::size_t count = random() % most + 1;
      std::vector<std::byte> expected;
      for (std::size_t run = 0; run < count; ++run) {
        const auto part = all.bytes().subspan(runs.offset + run * inner, length);
        expected.insert(expected.end(), part.begin(), part.end());
      }
      std::vector<std::byte> out(expected.size());
      REQUIRE(codes.read_runs(runs, out));
      CHECK(out == expected);
      const std::size_t at_a_time = random() % count + 1;
      std::vector<std::byte> room(at_a_time * length);
      std::vector<std::byte> in_lots;
      REQUIRE(codes.read_runs(runs, count, room, [&](std::span<std::byte> lot) {
        in_lots.insert(in_lots.end(), lot.begin(), lot.end());
        std::ranges::fill(lot, std::byte{0xa5});
      }));
      CHECK(in_lots == expected);
    }
  };
  for (const ElementType storage : {ElementType::int4, ElementType::uint8, ElementType::int16}) {
    for (const RoundingProfile& rounding : {RoundingProfile::onnx(), RoundingProfile::snpe()}) {
      check({257, 300}, Granularity::per_block(0, 32), storage, rounding);
      check({70, 900}, Granularity::per_block(1, 16), storage, rounding);
      check({130, 301}, Granularity::per_axis(1), storage, rounding);
      check({130, 301}, Granularity::per_axis(0), storage, rounding);
      check({130, 301}, Granularity::per_tensor(), storage, rounding);
      check({3, 40, 100}, Granularity::per_block(1, 7), storage, rounding);
      check({4, 40000}, Granularity::per_axis(1), storage, rounding);
    }
  }
}

TEST_CASE("several threads read the same constant") {
  const Shape shape{500, 501};
  const Constant real = float_constant(shape, test::random_values(std::size_t{500} * 501, 2));
  const Type type = random_type(ElementType::int8, shape, Granularity::per_axis(1), 5);
  const Constant codes = quantized(real, type).value();
  const auto expected = codes_of(codes);
  std::array<bool, 4> equal{};
  std::vector<std::thread> threads;
  threads.reserve(equal.size());
  for (bool& result : equal) {
    threads.emplace_back([&] { result = codes_of(codes) == expected; });
  }
  for (std::thread& thread : threads) thread.join();
  for (const bool result : equal) CHECK(result);
}

TEST_CASE("nothing but the parameters is read before the codes are, and then piece by piece") {
  const Shape shape{1000, 1003};
  const Constant real = float_constant(shape, test::random_values(1003000, 2));
  const auto source = test::recording(real);
  UniformType type = *random_type(ElementType::int8, shape, Granularity::per_axis(1), 5);
  const auto scales = test::recording(type.scales);
  type.scales = Constant::deferred(ElementType::float32, {1003}, scales);
  const Constant codes = quantized(Constant::deferred(ElementType::float32, shape, source),
                                   std::make_shared<const UniformType>(type))
                             .value();
  CHECK(source->total == 0);
  CHECK(scales->total == 4012);
  CHECK(codes_of(codes).size() == 1003000);
  CHECK(source->total == real.byte_size());
  CHECK(source->largest <= 256 * 1024);
  CHECK(scales->total == 4012);
}

TEST_CASE("failing reads come back as they are") {
  const Constant real = float_constant({100000}, test::random_values(100000, 2));
  const auto source = test::recording(real);
  source->fail_from = 300000;
  const Type type = uniform(ElementType::int8, {100000}, Granularity::per_tensor(), {0.1F});
  const Constant codes =
      quantized(Constant::deferred(ElementType::float32, {100000}, source), type).value();
  CHECK(codes.read().error() == Error{ErrorCode::io, "the disk is gone", {}});
  CHECK(dequantized(codes, type).value().read().error().code == ErrorCode::io);

  UniformType unreadable = *type;
  const auto scales = test::recording(type->scales);
  scales->fail_from = 0;
  unreadable.scales = Constant::deferred(ElementType::float32, test::scalar_shape(), scales);
  CHECK(quantized(real, std::make_shared<const UniformType>(unreadable)).error().code ==
        ErrorCode::io);
}

TEST_CASE("many scales in a file are checked as they are needed") {
  constexpr std::int64_t rows = 40000;
  std::vector<float> scales(rows, 0.5F);
  scales[30000] = 0;
  UniformType type = *uniform(ElementType::int8, {rows, 2}, Granularity::per_axis(0),
                              std::vector<float>(rows, 1.0F));
  type.scales = Constant::deferred(
      ElementType::float32, {rows},
      test::recording(Constant::from_values<float>(ElementType::float32, {rows}, scales)));
  const Constant real = float_constant({rows, 2}, test::random_values(2 * rows, 2));
  const Constant codes = quantized(real, std::make_shared<const UniformType>(type)).value();
  std::vector<std::byte> part(1000);
  CHECK(codes.read(20000, part));
  const Expected<void> refused = codes.read(59800, part);
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::impossible);
  CHECK(refused.error().message == "a scale of 0; scales are finite and not zero");
}

TEST_CASE("what cannot be done is refused by name") {
  const Constant real = float_constant({2, 3}, test::random_values(6, 1));
  const Granularity axis = Granularity::per_axis(1);
  const Type good = uniform(ElementType::int8, {2, 3}, axis, {1, 1, 1});
  REQUIRE(quantized(real, good));
  const auto with = [&](auto change) {
    UniformType type = *good;
    change(type);
    return refusal(quantized(real, std::make_shared<const UniformType>(type)));
  };

  CHECK(contains(with([](UniformType& type) { type.storage = ElementType::int32; }), "i32"));
  CHECK(contains(with([](UniformType& type) { type.storage = ElementType::float16; }), "f16"));
  CHECK(contains(with([](UniformType& type) { type.granularity = Granularity::per_block(1, 0); }),
                 "blocks of 0"));
  CHECK(contains(with([](UniformType& type) { type.granularity = Granularity::per_block(2, 3); }),
                 "no axis 2"));
  CHECK(contains(with([](UniformType& type) { type.granularity = Granularity::per_block(1, 3); }),
                 "scales of shape [3] where [2x1] is needed"));
  CHECK(contains(with([](UniformType& type) { type.granularity = Granularity::per_axis(2); }),
                 "no axis 2"));
  CHECK(!with([](UniformType& type) { type.granularity = Granularity::per_axis(0); }).empty());
  CHECK(!with([](UniformType& type) { type.storage_max = 128; }).empty());
  CHECK(!with([](UniformType& type) { type.storage_min = 128; }).empty());
  CHECK(!with([](UniformType& type) { type.scales = Constant(); }).empty());
  CHECK(!with([](UniformType& type) {
           type.scales = float_constant(ElementType::bfloat16, {3}, std::array{1.0F, 1.0F, 1.0F});
         }).empty());
  CHECK(!with([](UniformType& type) {
           type.zero_points = integers(ElementType::uint8, {3}, {0, 0, 0});
         }).empty());
  CHECK(!with([](UniformType& type) {
           type.zero_points = integers(ElementType::int8, {1}, {0});
         }).empty());
  for (const float scale :
       {0.0F, -0.0F, -infinity, infinity, std::numeric_limits<float>::quiet_NaN()}) {
    const Constant scales = float_constant({3}, std::array{1.0F, scale, 1.0F});
    // Deferred ones are found out when they have been read.
    for (const Constant& constant :
         {scales, Constant::deferred(ElementType::float32, {3}, test::recording(scales))}) {
      CHECK(contains(with([&](UniformType& type) { type.scales = constant; }),
                     "scales are finite and not zero"));
    }
  }
  CHECK(contains(
      refusal(quantized(real, uniform(ElementType::int4, {2, 3}, axis, {1, 1, 1}, {0, -8, 8}))),
      "zero point of 8"));
  const Constant codes = integers(ElementType::int8, {2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(contains(refusal(quantized(codes, good)), "i8"));
  CHECK(contains(refusal(dequantized(real, good)), "f32"));
  CHECK(contains(
      refusal(dequantized(integers(ElementType::uint8, {2, 3}, {1, 2, 3, 4, 5, 6}), good)), "u8"));
}

TEST_CASE("widen_to_float: unaligned bytes, every type, more room than needed") {
  std::array<std::byte, 33> bytes{};
  const std::span<std::byte> odd = std::span(bytes).subspan(1);
  std::array<float, 5> out{};

  const std::array<std::uint16_t, 4> halves{0x3c00, 0x8001, 0x7c00, 0xc000};
  std::memcpy(odd.data(), halves.data(), 8);
  widen_to_float(ElementType::float16, odd.first(8), out);
  CHECK(out == std::array{1.0F, -0x1p-24F, infinity, -2.0F, 0.0F});
  widen_to_float(ElementType::bfloat16, odd.first(2), out);
  CHECK(out[0] == 0x1p-7F);

  const std::array floats{1.5F, -2.5F};
  std::memcpy(odd.data(), floats.data(), 8);
  widen_to_float(ElementType::float32, odd.first(8), out);
  CHECK(out[0] == 1.5F);
  CHECK(out[1] == -2.5F);

  const std::array doubles{0.1, 1e39, -1e-50};
  std::memcpy(odd.data(), doubles.data(), 24);
  widen_to_float(ElementType::float64, odd.first(24), out);
  CHECK(out[0] == 0.1F);
  CHECK(out[1] == infinity);
  CHECK(out[2] == 0.0F);
  widen_to_float(ElementType::float32, {}, {});
}

// With more groups than are held at a time.
TEST_CASE(
    "quantized, dequantized: parameters that are kept in a file, the same from any offset on") {
  const test::TemporaryFolder folder;
  ConstantStore store(0, folder.path());
  std::mt19937 random(9);
  const auto check = [&](const Shape& shape, const Granularity& granularity, ElementType storage,
                         unsigned seed) {
    const Type held = random_type(storage, shape, granularity, seed);
    UniformType kept = *held;
    kept.scales = store.put(held->scales).value();
    kept.zero_points = store.put(held->zero_points).value();
    REQUIRE(kept.scales.is_deferred());
    std::vector<float> values(static_cast<std::size_t>(shape.element_count().value()));
    std::normal_distribution<float> normal;
    for (float& value : values) value = normal(random);
    const Constant real = float_constant(shape, values);
    const Type in_file = std::make_shared<const UniformType>(kept);
    const Constant codes = quantized(real, in_file).value();
    const Constant expected = quantized(real, held).value();
    CHECK(codes_of(codes) == codes_of(expected));
    const Constant back = dequantized(codes, in_file).value();
    CHECK(contents<float>(back) == contents<float>(dequantized(expected, held).value()));
    std::uniform_int_distribution<std::size_t> place(0, codes.byte_size() - 1);
    for (int i = 0; i < (test::is_whole() ? 20 : 4); ++i) {
      const std::size_t begin = place(random);
      const std::size_t size = std::min<std::size_t>(70'000, codes.byte_size() - begin);
      std::vector<std::byte> part(size);
      std::vector<std::byte> all(codes.byte_size());
      REQUIRE(codes.read(begin, part));
      REQUIRE(expected.read(0, all));
      CHECK(std::ranges::equal(part, std::span(all).subspan(begin, size)));
    }
  };
  check({40, 16384}, Granularity::per_block(1, 32), ElementType::int4, 1);   // neighbours
  check({100, 9000}, Granularity::per_block(0, 32), ElementType::uint4, 2);  // interleaved
  check({3, 40, 3000}, Granularity::per_block(1, 7), ElementType::int8, 3);
  check({4, 20000}, Granularity::per_axis(1), ElementType::int16, 4);
  check({20000, 5}, Granularity::per_axis(0), ElementType::uint8, 5);
}

}  // namespace
}  // namespace quadrant
