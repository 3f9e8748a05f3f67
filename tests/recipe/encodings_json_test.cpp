#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/recipe/encodings.hpp"
#include "recipe/text.hpp"
#include "shortened.hpp"
#include "temporary_folder.hpp"

namespace quadrant {
namespace {

using test::edited;
using test::mentions;

using Kind = TensorEncoding::Kind;
using Role = TensorEncoding::Role;
using Spread = TensorEncoding::Spread;

constexpr std::array versions{EncodingsVersion::v0_6_1, EncodingsVersion::v1_0_0,
                              EncodingsVersion::v2_0_0};

struct Heard final : Sink {
  void report(const Diagnostic& diagnostic) override { all.push_back(diagnostic); }
  std::vector<Diagnostic> all;
};

const std::string text_0_6_1 = R"({
  "version": "0.6.1",
  "activation_encodings": {
    "image": [{"bitwidth": 8, "dtype": "int", "is_symmetric": "False", "max": 3.0, "min": -1.0,
               "offset": -64, "scale": 0.01568627450980392}],
    "half": [{"bitwidth": 16, "dtype": "float"}]
  },
  "param_encodings": {
    "fc.weight": [
      {"bitwidth": 8, "dtype": "int", "is_symmetric": "True", "max": 1.27, "min": -1.28,
       "offset": -128, "scale": 0.01},
      {"bitwidth": 8, "dtype": "int", "is_symmetric": "True", "max": 2.54, "min": -2.56,
       "offset": -128.0, "scale": 0.02}
    ]
  },
  "quantizer_args": {"activation_bitwidth": 8, "dtype": "int", "is_symmetric": "True",
                     "param_bitwidth": 4, "per_channel_quantization": "False",
                     "quant_scheme": "post_training_tf"}
})";

const std::string text_1_0_0 = R"({
  "version": "1.0.0",
  "activation_encodings": [
    {"name": "image", "dtype": "INT", "enc_type": "PER_TENSOR", "bw": 8, "is_sym": false,
     "scale": [0.02], "offset": [-114.0]},
    {"name": "half", "dtype": "FLOAT", "enc_type": "PER_TENSOR", "bw": 16}
  ],
  "param_encodings": [
    {"name": "conv.weight", "dtype": "INT", "enc_type": "PER_CHANNEL", "bw": 8, "is_sym": true,
     "scale": [0.5, 0.25], "offset": [-128, -128]},
    {"name": "fc.weight", "dtype": "INT", "enc_type": "PER_BLOCK", "bw": 4, "is_sym": true,
     "block_size": 16, "scale": [1, 2, 3, 4], "offset": [-8, -8, -8, -8]},
    {"name": "head.weight", "dtype": "INT", "enc_type": "LPBQ", "bw": 8, "compressed_bw": 4,
     "is_sym": true, "block_size": 32, "scale": [0.5, 0.25], "offset": [-128, -128],
     "per_block_int_scale": [1, 16, 3, 8]}
  ],
  "quantizer_args": {"is_symmetric": true, "per_channel_quantization": true},
  "excluded_layers": ["softmax"]
})";

const std::string text_2_0_0 = R"({
  "version": "2.0.0",
  "encodings": [
    {"name": "image", "output_dtype": "uint8", "y_scale": 0.02, "y_zero_point": 114},
    {"name": "shifted", "output_dtype": "int8", "y_scale": 0.02, "y_zero_point": -14},
    {"name": "bias", "output_dtype": "int32", "y_scale": [0.001, 0.002], "axis": 0},
    {"name": "fc.weight", "output_dtype": "int4", "y_scale": [[1, 2], [3, 4], [5, 6]],
     "y_zero_point": [[0, 0], [0, 0], [0, 1]], "axis": -1, "block_size": 16},
    {"name": "head.weight", "output_dtype": "int4", "per_block_int_scale": [[1, 2, 3], [4, 5, 6]],
     "per_channel_float_scale": [[0.5, 0.25, 0.125]], "axis": 0, "block_size": 32}
  ]
})";

EncodingsFile parsed(std::string_view text, Sink* sink = nullptr) {
  Expected<EncodingsFile> file = parse_encodings(text, {.file = "file.json", .sink = sink});
  REQUIRE_MESSAGE(file.has_value(), (file ? "" : to_string(file.error())));
  return *std::move(file);
}

std::string printed(const EncodingsFile& file, EncodingsVersion version) {
  const Expected<std::string> text = print_encodings(file, version);
  REQUIRE_MESSAGE(text.has_value(), (text ? "" : to_string(text.error())));
  return *text;
}

// The whole line that a user sees.
std::string refused_encodings(std::string_view text) {
  const Expected<EncodingsFile> file = parse_encodings(text, {.file = "file.json"});
  REQUIRE_FALSE(file.has_value());
  CHECK(file.error().code == ErrorCode::invalid_model);
  CHECK(file.error().place.file == "file.json");
  return to_string(file.error());
}

// What codes mean, in the order of the channels.
void check_same_codes(const TensorEncoding& a, const TensorEncoding& b) {
  CHECK(a.kind == b.kind);
  CHECK(a.bits == b.bits);
  REQUIRE(a.scales.size() == b.scales.size());
  for (std::size_t i = 0; i < a.scales.size(); ++i) {
    CHECK(a.scales[i] == b.scales[i]);
    CHECK(a.zero_points[i] == b.zero_points[i]);
    CHECK(a.encoding(i).steps == b.encoding(i).steps);
  }
}

TEST_CASE("version 0.6.1 is read") {
  Heard heard;
  const EncodingsFile file = parsed(text_0_6_1, &heard);
  CHECK(heard.all.empty());
  CHECK(file.version == EncodingsVersion::v0_6_1);
  REQUIRE(file.tensors.size() == 3);
  const TensorEncoding& image = file.tensors.at("image");
  CHECK(image.role == Role::activation);
  CHECK(image.spread == Spread::tensor);
  CHECK(image.symmetry == EncodingSymmetry::asymmetric);
  CHECK(image.scales == std::vector<double>{0.01568627450980392});
  CHECK(image.encoding(0).offset() == -64);
  CHECK(image.encoding(0).min == doctest::Approx(-1.00392));
  CHECK(file.tensors.at("half").kind == Kind::floating);
  CHECK(file.tensors.at("half").bits == 16);
  const TensorEncoding& weight = file.tensors.at("fc.weight");
  CHECK(weight.role == Role::parameter);
  CHECK(weight.spread == Spread::channels);
  CHECK_FALSE(weight.axis.has_value());
  CHECK(weight.symmetry == EncodingSymmetry::symmetric);
  CHECK(weight.scales == std::vector<double>{0.01, 0.02});
  CHECK(weight.zero_points == std::vector<std::int64_t>{128, 128});
  REQUIRE(file.quantizer_arguments.has_value());
  CHECK(file.quantizer_arguments->parameter_bits == 4);
  CHECK(file.quantizer_arguments->symmetric == true);
  CHECK(file.quantizer_arguments->per_channel == false);
  CHECK(file.quantizer_arguments->scheme == "post_training_tf");
}

TEST_CASE("version 1.0.0 is read") {
  Heard heard;
  const EncodingsFile file = parsed(text_1_0_0, &heard);
  CHECK(heard.all.empty());
  REQUIRE(file.tensors.size() == 5);
  const Encoding image = file.tensors.at("image").encoding(0);
  CHECK(image.min == doctest::Approx(-2.28));
  CHECK(image.max == doctest::Approx(2.82));
  CHECK(file.tensors.at("half").kind == Kind::floating);
  CHECK(file.tensors.at("conv.weight").spread == Spread::channels);
  const TensorEncoding& blocks = file.tensors.at("fc.weight");
  CHECK(blocks.spread == Spread::blocks);
  CHECK(blocks.block_size == 16);
  CHECK(blocks.grid.empty());
  CHECK(blocks.scales == std::vector<double>{1, 2, 3, 4});
  const TensorEncoding& low_power = file.tensors.at("head.weight");
  CHECK(low_power.bits == 4);
  CHECK(low_power.low_power->decompressed_bits == 8);
  CHECK(low_power.scales == std::vector<double>{0.5, 8, 0.75, 2});
  CHECK(low_power.encoding(1).min == -64);
  CHECK(file.excluded_layers == std::vector<std::string>{"softmax"});
}

TEST_CASE("version 2.0.0 is read") {
  Heard heard;
  const EncodingsFile file = parsed(text_2_0_0, &heard);
  CHECK(heard.all.empty());
  REQUIRE(file.tensors.size() == 5);
  CHECK(file.tensors.at("image").role == Role::unknown);
  CHECK(file.tensors.at("image").encoding(0).offset() == -114);
  // The same reals as `image`: -14 of -128 to 127 is 114 of 0 to 255.
  CHECK(file.tensors.at("shifted").encoding(0) == file.tensors.at("image").encoding(0));
  const TensorEncoding& bias = file.tensors.at("bias");
  CHECK(bias.bits == 32);
  CHECK(bias.axis == 0);
  CHECK(bias.symmetry == EncodingSymmetry::symmetric);
  const TensorEncoding& blocks = file.tensors.at("fc.weight");
  CHECK(blocks.axis == 1);
  CHECK(blocks.grid == std::vector<std::int64_t>{3, 2});
  CHECK(blocks.zero_points == std::vector<std::int64_t>{8, 8, 8, 8, 8, 9});
  CHECK(blocks.symmetry == EncodingSymmetry::asymmetric);
  const TensorEncoding& low_power = file.tensors.at("head.weight");
  CHECK(low_power.scales == std::vector<double>{0.5, 0.5, 0.375, 2, 1.25, 0.75});
  CHECK(low_power.low_power->decompressed_bits == 8);
}

// Offsets and ends as the toolchains' documentation has them, and as its rules give.
TEST_CASE("ends of version 0.6.1 become encodings") {
  struct Row {
    double min;
    double max;
    int bits;
    std::int64_t zero_point;
    double scale;
  };
  for (const Row& row :
       {Row{-1.8, 0.5, 8, 200, 0.00901961}, Row{0, 10, 8, 0, 0.0392157},
        Row{-20, 0, 8, 255, 0.0784314}, Row{-5.1, 5.1, 8, 128, 0.04}, Row{-1, 3, 8, 64, 0.0156863},
        Row{-3, 1, 8, 191, 0.0156863}, Row{-2.1006477, 1.70055947, 8, 141, 0.0149067},
        Row{-1.8, 0.5, 16, 51288, 3.50957504e-5}, Row{-1.8, 0.5, 4, 12, 0.153333},
        Row{5, 10, 8, 0, 0.0392157}}) {
    CAPTURE(row.min);
    CAPTURE(row.max);
    const std::string text = R"({"activation_encodings": {"x": [{"bitwidth": )" +
                             std::to_string(row.bits) + R"(, "min": )" + std::to_string(row.min) +
                             R"(, "max": )" + std::to_string(row.max) + "}]}}";
    const TensorEncoding encoding = parsed(text).tensors.at("x");
    CHECK(encoding.zero_points[0] == row.zero_point);
    CHECK(encoding.scales[0] == doctest::Approx(row.scale).epsilon(1e-5));
  }
}

TEST_CASE("what contradicts the ends is a warning, and does not count") {
  // The vendor's sample of overrides: by its own rule the offset is -141.
  const std::string sample =
      R"({"activation_encodings": {"relu": [{"bitwidth": 8, "max": 1.70055947, "min": -2.1006477,
          "offset": -140, "scale": 0.014906695}]}, "param_encodings": {}})";
  Heard heard;
  const TensorEncoding relu = parsed(sample, &heard).tensors.at("relu");
  CHECK(relu.encoding(0).offset() == -141);
  REQUIRE(heard.all.size() == 2);
  CHECK(heard.all[0].severity == Severity::note);
  CHECK(mentions(heard.all[0].message, "does not say its version"));
  CHECK(heard.all[1].severity == Severity::warning);
  CHECK(heard.all[1].place.tensor == "relu");
  CHECK(heard.all[1].place.file == "file.json");
  CHECK(mentions(heard.all[1].message, "scale 0.014906695 and offset -140 are given"));
  CHECK(mentions(heard.all[1].message, "and offset -141, which count"));

  const auto warnings = [](std::string_view from, std::string_view to) {
    Heard sink;
    parsed(edited(text_0_6_1, from, to), &sink);
    return sink.all.size();
  };
  CHECK(warnings("0.01568627450980392", "0.015686275") == 0);  // float32
  CHECK(warnings("0.01568627450980392", "0.0157") == 1);
  CHECK(warnings("\"offset\": -64, ", "") == 0);
  CHECK(warnings("\"offset\": -64,", "\"offset\": 64,") == 1);
  CHECK(warnings("\"min\": -1.0", "\"min\": 1.0") == 1);  // zero must have a code
  CHECK(warnings("\"max\": 1.27", "\"max\": 1.5") == 1);  // not symmetric
}

TEST_CASE("a symmetric range is what its offset and ends make it") {
  const auto read = [](const std::string& fields) {
    return parsed(R"({"param_encodings": {"w": [{"bitwidth": 8, "is_symmetric": true, )" + fields +
                  "}]}}")
        .tensors.at("w");
  };
  const TensorEncoding strict = read(R"("min": -1.27, "max": 1.27, "offset": -127)");
  CHECK(strict.symmetry == EncodingSymmetry::symmetric_strict);
  CHECK(strict.zero_points[0] == 127);
  CHECK(strict.scales[0] == doctest::Approx(0.01));
  const TensorEncoding wide = read(R"("min": -1.27, "max": 1.27)");
  CHECK(wide.symmetry == EncodingSymmetry::symmetric);
  CHECK(wide.zero_points[0] == 128);
  CHECK(wide.scales[0] == doctest::Approx(0.01));
  const TensorEncoding above = read(R"("min": 0, "max": 2.55, "offset": 0)");
  CHECK(above.symmetry == EncodingSymmetry::symmetric_unsigned);
  CHECK(above.scales[0] == doctest::Approx(0.01));
}

TEST_CASE("sections that are not known are named") {
  Heard heard;
  CHECK(parsed(edited(text_1_0_0, "\"version\"", "\"producer\": {\"a\": [1]}, \"version\""), &heard)
            .tensors.size() == 5);
  REQUIRE(heard.all.size() == 1);
  CHECK(heard.all[0].message == "$.producer: the section is not known, and was not read");
  const std::string old_section = "{\"activation_encodings\": {}, \"version\": \"2.0.0\"";
  CHECK(parsed(old_section + text_2_0_0.substr(text_2_0_0.find(',')), &heard).tensors.size() == 5);
  REQUIRE(heard.all.size() == 2);
  CHECK(mentions(heard.all[1].message, "$.activation_encodings: the section is not known"));
}

TEST_CASE("called symmetric, with an offset that is not in the middle") {
  Heard heard;
  const EncodingsFile file =
      parsed(edited(text_1_0_0, "\"offset\": [-128, -128]", "\"offset\": [-128, -100]"), &heard);
  CHECK(file.tensors.at("conv.weight").symmetry == EncodingSymmetry::asymmetric);
  CHECK(file.tensors.at("conv.weight").zero_points == std::vector<std::int64_t>{128, 100});
  REQUIRE(heard.all.size() == 1);
  CHECK(heard.all[0].place.tensor == "conv.weight");
}

TEST_CASE("what is no encodings file is refused, with its place") {
  const auto old = [](std::string_view from, std::string_view to) {
    return refused_encodings(edited(text_0_6_1, from, to));
  };
  CHECK(old("0.6.1", "3.0.0") ==
        "file.json: $.version: expected \"0.6.1\", \"1.0.0\" or \"2.0.0\", found \"3.0.0\"");
  CHECK(old("\"bitwidth\": 8", "\"bitwidth\": 1") ==
        "file.json: tensor 'image': $.activation_encodings.image[0].bitwidth: 1 bits: 2 to 32 are "
        "possible");
  CHECK(mentions(old("\"bitwidth\": 8", "\"bitwidth\": 33"), "33 bits"));
  CHECK(
      mentions(old("\"bitwidth\": 8", "\"bitwidth\": \"8\""), "expected an integer, found string"));
  CHECK(mentions(old("\"bitwidth\": 8, ", ""), "'bitwidth' is missing"));
  CHECK(mentions(old("\"max\": 3.0, ", ""), "'max' is missing"));
  CHECK(mentions(old("\"max\": 3.0", "\"max\": -2.0"), "a range from -1 to -2"));
  CHECK(mentions(old("\"max\": 3.0", "\"max\": 1e39"), "within 1e+38 of zero"));
  CHECK(mentions(old("\"max\": 3.0", "\"max\": 1e999"), "not JSON"));
  CHECK(mentions(old("\"max\": 3.0", "\"max\": NaN"), "not JSON"));
  CHECK(mentions(old("0.01568627450980392", "0"), "[0].scale: 0: it must be above 0"));
  CHECK(mentions(old("0.01568627450980392", "-1"), "[0].scale: -1"));
  CHECK(mentions(old("\"offset\": -64", "\"offset\": -64.5"), "[0].offset: -64.5 is no integer"));
  CHECK(mentions(old("\"False\"", "\"no\""), ".is_symmetric: expected \"True\" or \"False\""));
  CHECK(mentions(old("\"False\"", "0"), ".is_symmetric: expected true or false, found number"));
  CHECK(mentions(old("\"int\"", "\"uint\""), ".dtype: expected \"int\" or \"float\""));
  CHECK(mentions(old("\"float\"", "\"float\", \"scale\": 1"), "floats have none"));
  CHECK(mentions(old("\"bitwidth\": 16", "\"bitwidth\": 8"), "floats of 8 bits"));
  CHECK(mentions(old("\"scale\": 0.02", "\"scale\": 0.02, \"axis\": 0"),
                 "$.param_encodings[\"fc.weight\"][1].axis: unknown key"));
  CHECK(mentions(old("128.0", "128.0, \"offset\": -1"), "given twice"));
  CHECK(mentions(old("\"half\"", "\"image\""), "$.activation_encodings.image: given twice"));
  CHECK(mentions(old("\"fc.weight\"", "\"image\""),
                 "$.param_encodings.image: this tensor is there already"));
  CHECK(mentions(old("\"half\"", "\"\""), "the tensor has no name"));
  CHECK(
      mentions(old("[{\"bitwidth\": 16, \"dtype\": \"float\"}]", "[]"), "expected a list of 1 to"));
  CHECK(
      mentions(old("[{\"bitwidth\": 16, \"dtype\": \"float\"}]", "{}"), "expected a list of 1 to"));
  CHECK(mentions(old("{\"bitwidth\": 16, \"dtype\": \"float\"}", "7"), "expected an object"));
  CHECK(mentions(
      old("{\"bitwidth\": 8, \"dtype\": \"int\", \"is_symmetric\": \"True\", \"max\": 2.54",
          "{\"bitwidth\": 4, \"dtype\": \"int\", \"is_symmetric\": \"True\", \"max\": 2.54"),
      "[1].bitwidth: another than of the first"));
  CHECK(mentions(old("\"True\", \"max\": 2.54", "\"False\", \"max\": 2.54"),
                 "[1].is_symmetric: another than of the first"));
  CHECK(mentions(old("\"quant_scheme\"", "\"scheme\""), "$.quantizer_args.scheme: unknown key"));
  CHECK(mentions(refused_encodings("{\"version\": \"0.6.1\"}"),
                 "neither 'activation_encodings' nor"));
  CHECK(mentions(refused_encodings("{}"), "'version' is missing"));
  CHECK(mentions(refused_encodings("[]"), "$: expected an object, found array"));
  CHECK(mentions(refused_encodings(R"({"version": "0.6.1", "activation_encodings": []})"),
                 "expected an object, found array"));

  const auto middle = [](std::string_view from, std::string_view to) {
    return refused_encodings(edited(text_1_0_0, from, to));
  };
  CHECK(mentions(middle("\"half\"", "\"image\""), "[1]: this tensor is there already"));
  CHECK(mentions(middle("PER_TENSOR", "PER_ROW"), "expected PER_TENSOR, PER_CHANNEL"));
  CHECK(mentions(middle("\"INT\"", "\"INT4\""), "[0].dtype: expected INT or FLOAT"));
  CHECK(mentions(middle("\"scale\": [0.02]", "\"scale\": []"), "[0].scale: expected 1 to"));
  CHECK(mentions(middle("\"scale\": [0.02]", "\"scale\": [1, 2]"), "2 scales and 1 zero points"));
  CHECK(mentions(middle("\"scale\": [0.02]", "\"scale\": 0.02"), "expected a list of numbers"));
  CHECK(mentions(middle("\"scale\": [0.02]", "\"scale\": [[0.02]]"), "expected a list of numbers"));
  CHECK(mentions(middle("\"scale\": [0.02]", "\"scale\": [null]"), "expected numbers, found null"));
  CHECK(mentions(middle("\"scale\": [0.02], ", ""), "[0].scale: is missing"));
  CHECK(mentions(middle("\"scale\": [0.02]", "\"scale\": [0]"), "scale 0 is 0"));
  CHECK(mentions(middle("[-114.0]", "[-114.5]"), "fractional zero points are not read"));
  CHECK(mentions(middle("[-114.0]", "[1e300]"), "1e+300 is no integer"));
  CHECK(mentions(middle("[-114.0]", "[14]"), "zero point 0 is -14: it must lie in 0 to 255"));
  CHECK(mentions(middle("\"bw\": 8", "\"bw\": 8, \"zero_point_shift\": [0.5]"), "fractional"));
  CHECK(mentions(middle("\"block_size\": 16", "\"block_size\": 0"), "0 elements: 1 or more"));
  CHECK(mentions(middle("\"block_size\": 16, ", ""), "'block_size' is missing"));
  CHECK(mentions(middle("\"is_sym\": false,", ""), "'is_sym' is missing"));
  CHECK(
      mentions(middle("[1, 16, 3, 8]", "[1, 16, 3]"), "3 scales of blocks do not divide among 2"));
  CHECK(mentions(middle("[1, 16, 3, 8]", "[1, 16, 0, 8]"), "0 is none of the integers 1 to 65535"));
  CHECK(mentions(middle("\"offset\": [-128, -128],\n     \"per", "\"offset\": [-128],\n     \"per"),
                 "offset: expected 2 times -128"));

  const auto latest = [](std::string_view from, std::string_view to) {
    return refused_encodings(edited(text_2_0_0, from, to));
  };
  CHECK(mentions(latest("uint8", "uint7"), "[0].output_dtype: expected int or uint of 2, 4, 8"));
  CHECK(mentions(latest("uint8", "float8e5m2"), "floats are not read"));
  CHECK(mentions(latest("114}", "256}"), "tensor 'image'"));
  CHECK(mentions(latest("114}", "[114]}"), "expected as many as there are scales"));
  CHECK(mentions(latest("114}", "0.5}"), "fractional zero points are not read"));
  CHECK(mentions(latest(", \"axis\": 0}", "}"), "[2].axis: is missing: channels need one"));
  CHECK(mentions(latest("\"axis\": -1, ", ""), "[3].axis: is missing: blocks need one"));
  CHECK(mentions(latest("\"axis\": -1", "\"axis\": 2"), "axis 2 is none of the 2"));
  CHECK(mentions(latest("\"axis\": -1, \"block_size\": 16", "\"axis\": 1"),
                 "block_size: is missing"));
  CHECK(mentions(latest("[5, 6]", "[5]"), "y_scale: expected lists of the same length"));
  CHECK(
      mentions(latest("[[1, 2], [3, 4], [5, 6]]", "{\"x\": 1}"), "expected numbers, found object"));
  CHECK(mentions(latest("[[0.5, 0.25, 0.125]]", "[[0.5, 0.25]]"), "2 scales of channels, where"));
  CHECK(mentions(latest("\"axis\": 0, \"block_size\": 32", "\"axis\": 7, \"block_size\": 32"),
                 "blocks along axis 7"));
  CHECK(mentions(latest("\"encodings\"", "\"tensors\""), "'encodings' is missing"));
  CHECK(mentions(latest("0.02", "[[[[[[[[[0.02]]]]]]]]]"), "more than 8 levels"));
  CHECK(mentions(latest("0.02", std::string(70, '[') + std::string(70, ']')), "nested deeper"));
}

TEST_CASE("files that would fill the memory are refused") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "large.json";
  std::ofstream(path).close();
  std::filesystem::resize_file(path, (std::uintmax_t{1} << 29U) + 1);  // of zeros, on no disk
  const Expected<EncodingsFile> large = read_encodings(path);
  REQUIRE_FALSE(large.has_value());
  CHECK(large.error().code == ErrorCode::io);
  CHECK(large.error().place.file == path);
  CHECK(mentions(large.error().message, "536870913 bytes: encodings of more than 536870912"));

  std::string list = "[0";
  for (std::size_t i = 0; i < std::size_t{1} << 20U; ++i) list += ",0";
  CHECK(mentions(refused_encodings(R"({"version": "2.0.0", "encodings": )" + list + "]}"),
                 "$.encodings: more than 1048576 tensors"));
  std::string sections = R"({"version": "2.0.0", "encodings": [])";
  for (int i = 0; i < 63; ++i) sections += ", \"" + std::to_string(i) + "\": 0";
  CHECK(mentions(refused_encodings(sections + "}"), "$: more than 64 sections"));
}

TEST_CASE("each version is printed as documented") {
  EncodingsFile file;
  TensorEncoding& x = file.tensors["x"];
  x.role = Role::activation;
  x.scales = {0.5};
  x.zero_points = {3};
  TensorEncoding& w = file.tensors["w"];
  w.role = Role::parameter;
  w.bits = 4;
  w.symmetry = EncodingSymmetry::symmetric;
  w.sign = CodeSign::signed_codes;
  w.spread = Spread::channels;
  w.axis = 1;
  w.scales = {1, 0.25};
  w.zero_points = {8, 8};
  file.quantizer_arguments = QuantizerArguments{.activation_bits = 8, .symmetric = true};
  file.excluded_layers = {"y"};
  CHECK(printed(file, EncodingsVersion::v0_6_1) ==
        R"({
  "version": "0.6.1",
  "activation_encodings": {
    "x": [{"bitwidth":8,"dtype":"int","is_symmetric":"False","max":126.0,"min":-1.5,"offset":-3,"scale":0.5}]
  },
  "param_encodings": {
    "w": [{"bitwidth":4,"dtype":"int","is_symmetric":"True","max":7.0,"min":-8.0,"offset":-8,"scale":1.0},{"bitwidth":4,"dtype":"int","is_symmetric":"True","max":1.75,"min":-2.0,"offset":-8,"scale":0.25}]
  },
  "quantizer_args": {"activation_bitwidth":8,"is_symmetric":"True"},
  "excluded_layers": ["y"]
}
)");
  CHECK(printed(file, EncodingsVersion::v1_0_0) ==
        R"({
  "version": "1.0.0",
  "activation_encodings": [
    {"name":"x","dtype":"INT","enc_type":"PER_TENSOR","bw":8,"is_sym":false,"scale":[0.5],"offset":[-3]}
  ],
  "param_encodings": [
    {"name":"w","dtype":"INT","enc_type":"PER_CHANNEL","bw":4,"is_sym":true,"scale":[1.0,0.25],"offset":[-8,-8]}
  ],
  "quantizer_args": {"activation_bitwidth":8,"is_symmetric":true},
  "excluded_layers": ["y"]
}
)");
  Heard heard;
  CHECK(print_encodings(file, EncodingsVersion::v2_0_0, &heard).value() ==
        R"({
  "version": "2.0.0",
  "encodings": [
    {"name":"w","output_dtype":"int4","y_scale":[1.0,0.25],"axis":1},
    {"name":"x","output_dtype":"uint8","y_scale":0.5,"y_zero_point":3}
  ]
}
)");
  REQUIRE(heard.all.size() == 2);
  CHECK(mentions(heard.all[0].message, "no arguments of the quantizer"));
  CHECK(mentions(heard.all[1].message, "no excluded layers"));
  CHECK(printed({}, EncodingsVersion::v2_0_0) ==
        "{\n  \"version\": \"2.0.0\",\n  \"encodings\": []\n}\n");
}

TEST_CASE("what was read is written in its version, and reads back the same") {
  for (const std::string* text : {&text_0_6_1, &text_1_0_0, &text_2_0_0}) {
    const EncodingsFile file = parsed(*text);
    Heard heard;
    const EncodingsFile again = parsed(printed(file, file.version), &heard);
    CHECK(heard.all.empty());
    CHECK(again == file);
  }
}

TEST_CASE("versions 1.0.0 and 2.0.0 list blocks in their own orders") {
  // Blocks along axis 0, channels along axis 1.
  const std::string text = R"({"version": "2.0.0", "encodings": [
    {"name": "w", "output_dtype": "int4", "y_scale": [[1, 2, 3], [4, 5, 6]], "axis": 0,
     "block_size": 16}]})";
  EncodingsFile file = parsed(text);
  file.tensors["w"].role = Role::parameter;
  const EncodingsFile by_channel = parsed(printed(file, EncodingsVersion::v1_0_0));
  CHECK(by_channel.tensors.at("w").scales == std::vector<double>{1, 4, 2, 5, 3, 6});
  // Either is the same type, once its axes are known.
  const auto type_of = [](const EncodingsFile& of) {
    return to_uniform_type(of.tensors.at("w"), Shape{32, 3}, 1, CodeSign::signed_codes).value();
  };
  CHECK(to_string(type_of(by_channel)) == to_string(type_of(file)));

  EncodingsFile low_power = parsed(text_2_0_0);
  for (auto& [name, encoding] : low_power.tensors) encoding.role = Role::parameter;
  const TensorEncoding head =
      parsed(printed(low_power, EncodingsVersion::v1_0_0)).tensors.at("head.weight");
  CHECK(head.low_power->channels == std::vector<double>{0.5, 0.25, 0.125});
  CHECK(head.low_power->blocks == std::vector<std::uint16_t>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("what a version cannot express is refused, with the tensor and a remedy") {
  const auto message = [](const TensorEncoding& encoding, EncodingsVersion version) {
    EncodingsFile file;
    file.tensors["w"] = encoding;
    const Expected<std::string> text = print_encodings(file, version);
    REQUIRE_FALSE(text.has_value());
    CHECK(text.error().code == ErrorCode::impossible);
    return to_string(text.error());
  };
  const EncodingsFile file = parsed(text_1_0_0);
  CHECK(message(file.tensors.at("fc.weight"), EncodingsVersion::v0_6_1) ==
        "tensor 'w': version 0.6.1 has no blocks: write version 1.0.0 or 2.0.0");
  CHECK(mentions(message(file.tensors.at("fc.weight"), EncodingsVersion::v2_0_0),
                 "names the axis of channels and blocks, which is not known here"));
  CHECK(mentions(message(file.tensors.at("conv.weight"), EncodingsVersion::v2_0_0),
                 "names the axis"));
  CHECK(mentions(message(file.tensors.at("half"), EncodingsVersion::v2_0_0),
                 "no entries for floats: leave the tensor out"));
  TensorEncoding odd = file.tensors.at("image");
  odd.bits = 7;
  odd.zero_points = {3};
  CHECK(mentions(message(odd, EncodingsVersion::v2_0_0),
                 "has no type of 7 bits: write version 0.6.1"));
  odd.role = Role::unknown;
  CHECK(mentions(message(odd, EncodingsVersion::v0_6_1), "set its role"));
  CHECK(mentions(message(odd, EncodingsVersion::v1_0_0), "set its role"));
  odd.scales = {-1};
  CHECK(mentions(message(odd, EncodingsVersion::v1_0_0), "scale 0 is -1"));
  TensorEncoding wide = parsed(text_2_0_0).tensors.at("head.weight");
  wide.low_power->decompressed_bits = 6;
  CHECK(mentions(message(wide, EncodingsVersion::v2_0_0),
                 "decompresses codes of 4 bits to 8, not 6"));
  TensorEncoding deep = parsed(text_2_0_0).tensors.at("fc.weight");
  deep.role = Role::parameter;
  deep.grid = {3, 1, 2};
  deep.axis = 1;
  CHECK(mentions(message(deep, EncodingsVersion::v1_0_0), "write version 2.0.0"));
}

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}

  std::int64_t below(std::int64_t bound) {
    return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random_);
  }
  // Of any magnitude that files have, and with all of a double's digits.
  double scale() { return std::exp(std::uniform_real_distribution<double>(-40, 20)(random_)); }

 private:
  std::mt19937_64 random_;
};

TensorEncoding random_encoding(Dice& dice, bool with_blocks) {
  TensorEncoding encoding;
  encoding.role = dice.below(2) == 0 ? Role::activation : Role::parameter;
  constexpr std::array<int, 5> widths{2, 4, 8, 16, 32};
  encoding.bits = widths[static_cast<std::size_t>(dice.below(5))];
  const std::int64_t steps = (std::int64_t{1} << static_cast<unsigned>(encoding.bits)) - 1;
  const bool is_symmetric = dice.below(2) == 0;
  if (is_symmetric) {
    encoding.symmetry = EncodingSymmetry::symmetric;
    encoding.sign = CodeSign::signed_codes;
  }
  encoding.spread = static_cast<Spread>(dice.below(with_blocks ? 3 : 2));
  std::size_t count = 1;
  if (encoding.spread == Spread::channels) {
    count = static_cast<std::size_t>(2 + dice.below(5));
    encoding.axis = dice.below(4) - 2;
  }
  if (encoding.spread == Spread::blocks) {
    encoding.grid = {1 + dice.below(4), 1 + dice.below(4)};
    encoding.axis = dice.below(2);
    encoding.block_size = 1 + dice.below(64);
    count = static_cast<std::size_t>(encoding.grid[0] * encoding.grid[1]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    encoding.scales.push_back(dice.scale());
    encoding.zero_points.push_back(is_symmetric ? (steps + 1) / 2 : dice.below(steps + 1));
  }
  return encoding;
}

TEST_CASE("random encodings print and read back, each code with its meaning") {
  Dice dice(5);
  for (int round = 0; round < test::shortened(200); ++round) {
    for (const EncodingsVersion version : versions) {
      CAPTURE(round);
      CAPTURE(to_string(version));
      EncodingsFile file;
      file.version = version;
      for (int i = 0; i < 5; ++i) {
        file.tensors["t" + std::to_string(i)] =
            random_encoding(dice, version == EncodingsVersion::v2_0_0);
      }
      Heard heard;
      const EncodingsFile again = parsed(printed(file, version), &heard);
      CHECK(heard.all.empty());
      REQUIRE(again.tensors.size() == file.tensors.size());
      for (const auto& [name, encoding] : file.tensors) {
        TensorEncoding expected = encoding;
        if (version == EncodingsVersion::v2_0_0) {
          expected.role = Role::unknown;
          if (expected.spread == Spread::channels)
            CHECK(again.tensors.at(name).axis == expected.axis);
        } else {
          expected.axis.reset();
        }
        CHECK(again.tensors.at(name) == expected);
      }
      CHECK(printed(again, version) == printed(file, version));
    }
  }
}

TEST_CASE("random encodings survive the way through another version") {
  Dice dice(6);
  for (int round = 0; round < test::shortened(200); ++round) {
    CAPTURE(round);
    EncodingsFile file;
    file.tensors["t"] = random_encoding(dice, false);
    for (const EncodingsVersion first : versions) {
      for (const EncodingsVersion second : versions) {
        EncodingsFile between = parsed(printed(file, first));
        between.tensors["t"].axis = file.tensors["t"].axis;
        between.tensors["t"].role = file.tensors["t"].role;
        const EncodingsFile last = parsed(printed(between, second));
        check_same_codes(last.tensors.at("t"), file.tensors.at("t"));
      }
    }
  }
}

TEST_CASE("the narrow range survives where there are words for it") {
  EncodingsFile file;
  TensorEncoding& strict = file.tensors["w"];
  strict.role = Role::parameter;
  strict.symmetry = EncodingSymmetry::symmetric_strict;
  strict.sign = CodeSign::signed_codes;
  strict.scales = {0.1};
  strict.zero_points = {127};
  CHECK(parsed(printed(file, EncodingsVersion::v0_6_1)).tensors == file.tensors);
  CHECK(parsed(printed(file, EncodingsVersion::v1_0_0)).tensors == file.tensors);
  Heard heard;
  const auto text = print_encodings(file, EncodingsVersion::v2_0_0, &heard);
  REQUIRE(heard.all.size() == 1);
  CHECK(heard.all[0].place.tensor == "w");
  // Signed codes mean the same; there is one more of them.
  const TensorEncoding wide = parsed(text.value()).tensors.at("w");
  CHECK(wide.scales == strict.scales);
  CHECK(wide.zero_points[0] - 128 == strict.zero_points[0] - 127);
}

TEST_CASE("every truncation is refused, and whatever is changed is refused or reads back") {
  std::mt19937 random(7);
  constexpr std::string_view characters = "0123456789,[]{}\":-.eEu ";
  for (const std::string* text : {&text_0_6_1, &text_1_0_0, &text_2_0_0}) {
    test::Turns turns;
    for (std::size_t size = 0; size < text->size(); ++size) {
      if (!turns.next()) continue;
      CHECK_FALSE(parse_encodings(std::string_view(*text).substr(0, size)).has_value());
    }
    int read = 0;
    for (int round = 0; round < test::shortened(3000); ++round) {
      std::string changed = *text;
      for (unsigned i = 0; i <= random() % 3; ++i) {
        changed[random() % changed.size()] = characters[random() % characters.size()];
      }
      const Expected<EncodingsFile> file = parse_encodings(changed);
      if (!file) continue;
      ++read;
      const std::string once = printed(*file, file->version);
      CHECK(printed(parsed(once), file->version) == once);
    }
    CHECK(read > test::shortened(100));
  }
}

TEST_CASE("files are read, or named") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "model.encodings";
  std::ofstream(path) << text_1_0_0;
  CHECK(read_encodings(path).value() == parsed(text_1_0_0));
  std::ofstream(path) << text_1_0_0.substr(0, 100);
  const auto broken = read_encodings(path);
  REQUIRE_FALSE(broken.has_value());
  CHECK(broken.error().place.file == path);
  const auto missing = read_encodings(folder / "none");
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().code == ErrorCode::io);
}

}  // namespace
}  // namespace quadrant
