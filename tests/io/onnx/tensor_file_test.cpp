// Tensors in files of their own, `.pb`.
#include "io/onnx/tensor_file.hpp"

#include "model_helpers.hpp"

using namespace onnx_test;

namespace {

Expected<Tensor> read(const Folder& folder, const Fields& fields) {
  return read_onnx_tensor(folder.write("x.pb", fields.bytes()));
}

template <class T>
std::vector<T> elements(const Expected<Tensor>& tensor) {
  REQUIRE(tensor.has_value());
  const auto values = tensor->as<T>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("raw and typed fields") {
  const Folder folder;
  const auto raw = read(folder, tensor("x", float32, {2}).text(9, bytes_of({1.5F, -2.0F})));
  CHECK(elements<float>(raw) == std::vector<float>{1.5F, -2});
  CHECK(raw->element() == ElementType::float32);
  CHECK(raw->shape() == Shape{2});
  const auto typed = read(folder, tensor("", int64, {1, 2}).packed(7, {-1, INT64_MAX}));
  CHECK(elements<std::int64_t>(typed) == std::vector<std::int64_t>{-1, INT64_MAX});
  CHECK(typed->shape() == Shape{1, 2});
  const auto scalar = read(folder, tensor("x", 11, {}).text(10, bytes_of({0.1})));
  CHECK(elements<double>(scalar) == std::vector<double>{0.1});
  CHECK(scalar->shape() == Shape::scalar());
  const auto none = read(folder, tensor("x", float32, {0, 3}));
  CHECK(elements<float>(none).empty());
}

TEST_CASE("4-bit integers get a byte each") {
  const Folder folder;
  const auto four_bits = read(folder, tensor("x", 22, {3}).text(9, "\x8f\x07"));
  CHECK(four_bits->element() == ElementType::int4);
  CHECK(elements<std::int8_t>(four_bits) == std::vector<std::int8_t>{-1, -8, 7});
  const auto typed = read(folder, tensor("x", 21, {2}).packed(5, {0x8f}));
  CHECK(elements<std::uint8_t>(typed) == std::vector<std::uint8_t>{15, 8});
}

TEST_CASE("contents in a file beside it") {
  const Folder folder;
  folder.write("data", bytes_of({0.0F, 1.5F}));
  Fields fields = tensor("x", float32, {1}).integer(14, 1);
  fields.message(13, Fields().text(1, "location").text(2, "data"));
  fields.message(13, Fields().text(1, "offset").text(2, "4"));
  CHECK(elements<float>(read(folder, fields)) == std::vector<float>{1.5F});
}

TEST_CASE("what is no tensor, or one that is not read") {
  const Folder folder;
  const auto error_of = [&](std::string_view bytes) {
    const std::string path = folder.write("x.pb", bytes);
    const auto tensor = read_onnx_tensor(path);
    REQUIRE_FALSE(tensor.has_value());
    CHECK(tensor.error().code == ErrorCode::invalid_model);
    CHECK(tensor.error().place.file == path);
    return tensor.error().message;
  };
  CHECK(error_of("").find("no data type") != std::string::npos);
  const std::string text = tensor("x", 8, {1}).text(6, "word").bytes();
  CHECK(error_of(text).find("not read") != std::string::npos);
  const std::string whole = floats("x", {2}, {1, 2}).bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    error_of(whole.substr(0, size));
  }
  const auto missing = read_onnx_tensor(folder / "none.pb");
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().code == ErrorCode::io);
}
