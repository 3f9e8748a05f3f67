#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "npy_bytes.hpp"
#include "quadrant/io/npy.hpp"
#include "temporary_folder.hpp"
#include "tensor_values.hpp"
#include "zip_bytes.hpp"

using namespace quadrant;
using namespace quadrant::test;

namespace {

const std::string floats_1_2 = npy("<f4", "(2,)", std::string_view("\0\0\x80\x3f\0\0\0\x40", 8));

/// The error of opening `bytes`, or of reading `name` in them.
Error npz_error_of(const std::string& bytes, std::string_view name = "a") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.npz", bytes);
  auto reader = NpzReader::open(path);
  if (!reader) {
    CHECK(reader.error().place.file == path);
    return reader.error();
  }
  const auto tensor = reader->read(name);
  REQUIRE_FALSE(tensor.has_value());
  CHECK(tensor.error().place.file == path);
  CHECK(tensor.error().place.tensor == name);
  CHECK_FALSE(tensor.error().place.offset.has_value());  // there is none in the zip archive
  return tensor.error();
}

void check_npz_says(const std::string& bytes, std::string_view words,
                    ErrorCode code = ErrorCode::invalid_model) {
  const Error error = npz_error_of(bytes);
  INFO(error.message);
  CHECK(error.code == code);
  CHECK(error.message.find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("arrays by name, with and without .npy") {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("a.npz", zip_of({{.name = "x.npy", .bytes = floats_1_2},
                                    {.name = "folder/", .bytes = ""},
                                    {.name = "folder/y", .bytes = npy("|u1", "()", "a")},
                                    {.name = "z.npy.npy", .bytes = floats_1_2, .zip64 = true}}));
  auto reader = NpzReader::open(path);
  REQUIRE(reader.has_value());
  const std::vector<std::string> names(reader->names().begin(), reader->names().end());
  CHECK(names == std::vector<std::string>{"x", "folder/y", "z.npy"});
  CHECK(reader->contains("x"));
  CHECK_FALSE(reader->contains("x.npy"));
  // In any order, any number of times.
  for (const char* name : {"z.npy", "x", "x"}) {
    const auto tensor = reader->read(name);
    REQUIRE(tensor.has_value());
    CHECK(same(*tensor, floats({2}, {1, 2})));
  }
  const auto letter = reader->read("folder/y");
  REQUIRE(letter.has_value());
  CHECK(same(*letter, tensor_of<std::uint8_t>(ElementType::uint8, Shape::scalar(), {'a'})));
  const auto none = reader->read("x.npy");
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().code == ErrorCode::usage);
}

TEST_CASE("an archive without arrays") {
  const TemporaryFolder folder;
  const auto reader = NpzReader::open(folder.write("a.npz", zip_of({})));
  REQUIRE(reader.has_value());
  CHECK(reader->names().empty());
}

TEST_CASE("two arrays of one name") {
  check_npz_says(
      zip_of({{.name = "a.npy", .bytes = floats_1_2}, {.name = "a", .bytes = floats_1_2}}),
      "two arrays");
}

TEST_CASE("archives that are damaged") {
  const std::string whole = zip_of({{.name = "a.npy", .bytes = floats_1_2}});
  check_npz_says("", "not a zip archive");
  check_npz_says(floats_1_2, "not a zip archive");
  check_npz_says(whole.substr(0, whole.size() / 2), "not a zip archive");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(npz_error_of(whole.substr(0, size)).code == ErrorCode::invalid_model);
  }
  std::string other = whole;
  other[other.find("\x80\x3f")] = '\x81';
  check_npz_says(other, "checksum");
}

TEST_CASE("members that contradict the archive") {
  check_npz_says(zip_of({{.name = "a", .bytes = floats_1_2, .crc = 1}}), "checksum");
  check_npz_says(zip_of({{.name = "a", .bytes = floats_1_2, .size = 1000}}), "cannot come from");
  check_npz_says(
      zip_of({{.name = "a", .bytes = floats_1_2, .size = UINT64_MAX / 2, .zip64 = true}}),
      "cannot come from");
  // Deflated, it could be a thousand times as large, but not a million.
  check_npz_says(zip_of({{.name = "a", .bytes = "12345678", .method = 8, .size = 8'000'000}}),
                 "cannot come from");
  check_npz_says(zip_of({{.name = "a", .bytes = "12345678", .method = 8, .size = 80}}), "damaged");
}

TEST_CASE("deflated contents that are longer or shorter than stated") {
  // One stored block of deflate: a byte that says so, the length, its complement, the contents.
  const auto deflated = [](std::string_view bytes) {
    std::string block("\1", 1);
    block += {static_cast<char>(bytes.size()), '\0', static_cast<char>(~bytes.size()), '\xff'};
    return block.append(bytes);
  };
  const auto member = [&](std::uint64_t size) {
    return zip_of({{.name = "a.npy",
                    .bytes = deflated(floats_1_2),
                    .method = 8,
                    .size = size,
                    .crc = crc_of(floats_1_2)}});
  };
  const TemporaryFolder folder;
  const std::uint64_t size = floats_1_2.size();
  auto reader = NpzReader::open(folder.write("a.npz", member(size)));
  REQUIRE(reader.has_value());
  CHECK(same(reader->read("a").value(), floats({2}, {1, 2})));
  CHECK(npz_error_of(member(size + 4)).code == ErrorCode::invalid_model);
  CHECK(npz_error_of(member(size - 4)).code == ErrorCode::invalid_model);
}

TEST_CASE("members that are not read") {
  check_npz_says(zip_of({{.name = "a", .bytes = floats_1_2, .flags = 1}}), "encrypted");
  check_npz_says(zip_of({{.name = "a", .bytes = floats_1_2, .method = 12}}), "method 12");
  check_npz_says(zip_of({{.name = "a", .bytes = "a text"}}), "not an array of NumPy");
  check_npz_says(zip_of({{.name = "a", .bytes = npy("<c8", "(1,)", "12345678")}}), "'<c8'");
  // Where in the member it is.
  check_npz_says(zip_of({{.name = "a", .bytes = npy("<f4", "(2,)", "1234")}}), "(at byte 128 of");
}

TEST_CASE("an archive that is not there, or is a folder") {
  const TemporaryFolder folder;
  for (const std::string& path : {folder / "none.npz", folder.path()}) {
    const auto reader = NpzReader::open(path);
    REQUIRE_FALSE(reader.has_value());
    CHECK(reader.error().code == ErrorCode::io);
    CHECK(reader.error().place.file == path);
  }
}

TEST_CASE("what is written reads back the same") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.npz";
  std::vector<float> zeros(10'000, 0.0F);
  const Tensor many = Tensor::from_values<float>(ElementType::float32, {100, 100}, zeros);
  const std::vector<NamedTensor> written{
      {"x", many},
      {"a/b:0 \xc3\xa9", tensor_of<std::int64_t>(ElementType::int64, Shape::scalar(), {-1})},
      {"none", floats({0}, {})}};
  std::uintmax_t stored_size = 0;
  for (const bool compress : {false, true}) {
    CAPTURE(compress);
    REQUIRE(write_npz(path, written, {.compress = compress}).has_value());
    CHECK(folder.names().size() == 1);
    auto reader = NpzReader::open(path);
    REQUIRE(reader.has_value());
    REQUIRE(reader->names().size() == written.size());
    for (std::size_t i = 0; i < written.size(); ++i) {
      CHECK(reader->names()[i] == written[i].name);
      const auto tensor = reader->read(written[i].name);
      REQUIRE(tensor.has_value());
      CHECK(same(*tensor, written[i].tensor));
    }
    if (!compress) stored_size = folder.read("a.npz").size();
  }
  CHECK(stored_size > 40'000);
  CHECK(folder.read("a.npz").size() < 2'000);
}

TEST_CASE("the same arrays give the same bytes") {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors{{"x", floats({1}, {1})}};
  REQUIRE(write_npz(folder / "a.npz", tensors).has_value());
  REQUIRE(write_npz(folder / "b.npz", tensors).has_value());
  CHECK(folder.read("a.npz") == folder.read("b.npz"));
  // MS-DOS's date of 1980-01-01, not today's, at byte 12.
  CHECK(folder.read("a.npz").substr(10, 4) == std::string("\0\0\x21\0", 4));
}

TEST_CASE("what cannot be written leaves the file as it was") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.npz", "old");
  const Tensor tensor = floats({1}, {1});
  const auto code = [&](const std::vector<NamedTensor>& tensors) {
    const auto written = write_npz(path, tensors);
    REQUIRE_FALSE(written.has_value());
    CHECK(written.error().place.file == path);
    return written.error().code;
  };
  CHECK(code({}) == ErrorCode::usage);
  CHECK(code({{"", tensor}}) == ErrorCode::usage);
  CHECK(code({{std::string("a\0b", 3), tensor}}) == ErrorCode::usage);
  CHECK(code({{"a", tensor}, {"a", tensor}}) == ErrorCode::usage);
  CHECK(code({{"\xff\xfe", tensor}}) == ErrorCode::usage);
  CHECK(code({{std::string(70'000, 'a'), tensor}}) == ErrorCode::usage);
  CHECK(code({{"a", Tensor()}}) == ErrorCode::impossible);
  CHECK(folder.read("a.npz") == "old");
  CHECK(folder.names().size() == 1);
}
