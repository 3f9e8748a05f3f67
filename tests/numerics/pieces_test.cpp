#include "numerics/pieces.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ir/file_view.hpp"
#include "ir/float16.hpp"
#include "numerics/helpers.hpp"
#include "support/input_file.hpp"
#include "temporary_folder.hpp"

namespace quadrant {
namespace {

// A range of a file, which can be mapped or not.
class FileSource final : public ConstantSource {
 public:
  FileSource(const InputFile& file, std::uint64_t begin, bool has_views)
      : file_(file), begin_(begin), has_views_(has_views) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    ++reads;
    return file_.read(begin_ + offset, out);
  }
  [[nodiscard]] std::optional<ConstantBytes> view(std::uint64_t offset,
                                                  std::size_t size) const override {
    return has_views_ ? file_view(file_.window(begin_ + offset, size)) : std::nullopt;
  }

  mutable int reads = 0;

 private:
  const InputFile& file_;
  std::uint64_t begin_;
  bool has_views_;
};

template <class T>
std::string text_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

void check_reads(const Constant& constant, std::span<const float> values) {
  std::mt19937 random(5);
  FloatReader reader(constant);
  for (int i = 0; i < 200; ++i) {
    const std::size_t length = 1 + random() % 300;
    const std::size_t count = 1 + random() % 20;
    // Close to each other, or so far apart that they are read one by one.
    const std::size_t step = length + random() % (i % 2 == 0 ? 50 : 5000);
    const std::size_t region = (count - 1) * step + length;
    if (region > values.size()) continue;
    const std::size_t first = random() % (values.size() - region + 1);
    const auto runs = reader.read_runs(static_cast<std::int64_t>(first),
                                       static_cast<std::int64_t>(step), length, count);
    REQUIRE(runs);
    for (std::size_t run = 0; run < count; ++run) {
      const std::span got(runs->from(run).first, length);
      CHECK(std::ranges::equal(got, values.subspan(first + run * step, length)));
    }
    const auto neighbours = reader.read(static_cast<std::int64_t>(first), region);
    REQUIRE(neighbours);
    CHECK(std::ranges::equal(*neighbours, values.subspan(first, region)));
  }
}

TEST_CASE("a FloatReader reads the same wherever the numbers lie") {
  const std::vector<float> values = test::random_values(60000, 1);
  const Shape shape{static_cast<std::int64_t>(values.size())};
  check_reads(test::float_constant(shape, values), values);

  const test::TemporaryFolder folder;
  for (const std::size_t skip : {std::size_t{0}, std::size_t{3}, std::size_t{4096}}) {
    CAPTURE(skip);
    const std::string path = folder.write(
        std::to_string(skip), std::string(skip, 'x') + text_of(std::span<const float>(values)));
    const InputFile file = InputFile::open(path).value();
    for (const bool has_views : {true, false}) {
      CAPTURE(has_views);
      const auto source = std::make_shared<FileSource>(file, skip, has_views);
      check_reads(Constant::deferred(ElementType::float32, shape, source), values);
    }
  }
}

TEST_CASE("a FloatReader widens float16 from where it lies") {
  std::vector<float> values = test::random_values(60000, 2);
  std::vector<std::uint16_t> halves(values.size());
  std::ranges::transform(values, halves.begin(), round_to_float16);
  std::ranges::transform(halves, values.begin(), widen_float16);
  const test::TemporaryFolder folder;
  const std::string path = folder.write("a", "x" + text_of(std::span<const std::uint16_t>(halves)));
  const InputFile file = InputFile::open(path).value();
  const Shape shape{static_cast<std::int64_t>(values.size())};
  for (const bool has_views : {true, false}) {
    CAPTURE(has_views);
    const auto source = std::make_shared<FileSource>(file, 1, has_views);
    check_reads(Constant::deferred(ElementType::float16, shape, source), values);
  }
}

TEST_CASE("a FloatReader copies nothing that it can look at") {
  const std::vector<float> values = test::random_values(60000, 3);
  const test::TemporaryFolder folder;
  const std::string path = folder.write("a", text_of(std::span<const float>(values)));
  const InputFile file = InputFile::open(path).value();
  if (!file.window(0, 4)) return;  // a system without
  const auto source = std::make_shared<FileSource>(file, 0, true);
  const Constant constant =
      Constant::deferred(ElementType::float32, {static_cast<std::int64_t>(values.size())}, source);
  FloatReader reader(constant);
  CHECK(std::ranges::equal(reader.read(0, values.size()).value(), values));
  CHECK(source->reads == 0);
}

TEST_CASE("a FloatReader says when the file became shorter") {
  const std::vector<float> values = test::random_values(60000, 4);
  const test::TemporaryFolder folder;
  const std::string path = folder.write("a", text_of(std::span<const float>(values)));
  const InputFile file = InputFile::open(path).value();
  std::filesystem::resize_file(path, 100);
  const auto source = std::make_shared<FileSource>(file, 0, true);
  const Constant constant =
      Constant::deferred(ElementType::float32, {static_cast<std::int64_t>(values.size())}, source);
  FloatReader reader(constant);
  const auto read = reader.read(0, values.size());
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().code == ErrorCode::io);
}

}  // namespace
}  // namespace quadrant
