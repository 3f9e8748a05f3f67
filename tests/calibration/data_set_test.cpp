// Which files are the samples, and what is wrong with them: one case for each mistake.
#include "quadrant/calibration/data_set.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "calibration/helpers.hpp"
#include "quadrant/io/npy.hpp"
#include "quadrant/ir/text.hpp"
#include "temporary_folder.hpp"
#include "tensor_values.hpp"

using namespace quadrant;
using namespace quadrant::test;

namespace {

/// A graph of inputs alone: `x: tensor<1x2xf32>`, ...
Graph graph_of_inputs(const std::vector<std::string>& inputs) {
  std::string text;
  for (const std::string& input : inputs) {
    const std::size_t colon = input.find(": ");
    text += "%\"" + input.substr(0, colon) + '"' + input.substr(colon) + " = input()\n";
  }
  auto graph = parse_graph(text);
  REQUIRE(graph.has_value());
  return *std::move(graph);
}

const Graph& one_input() {
  static const Graph graph = graph_of_inputs({"x: tensor<1x2xf32>"});
  return graph;
}

const Graph& two_inputs() {
  static const Graph graph = graph_of_inputs({"x: tensor<1x2xf32>", "y: tensor<1xi64>"});
  return graph;
}

Tensor numbers(float a, float b) { return floats({1, 2}, {a, b}); }
Tensor integer(std::int64_t value) {
  return tensor_of<std::int64_t>(ElementType::int64, {1}, {value});
}

class Files : public TemporaryFolder {
 public:
  std::string npy(std::string_view name, const Tensor& tensor) const {
    const std::string path = write(name, "");
    REQUIRE(write_npy(path, tensor).has_value());
    return path;
  }
  std::string npz(std::string_view name, const std::vector<NamedTensor>& tensors) const {
    const std::string path = write(name, "");
    REQUIRE(write_npz(path, tensors).has_value());
    return path;
  }
  std::string raw(std::string_view name, const Tensor& tensor) const {
    const auto bytes = tensor.bytes();
    return write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  /// An ONNX TensorProto: its dims, data type and raw data.
  std::string pb(std::string_view name, const Tensor& tensor) const {
    std::string text;
    for (const std::int64_t extent : tensor.extents()) {
      text += {'\x08', static_cast<char>(extent)};
    }
    text += {'\x10', static_cast<char>(tensor.element() == ElementType::float32 ? 1 : 7)};
    const auto bytes = tensor.bytes();
    text += {'\x4a', static_cast<char>(bytes.size())};
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return write(name, text);
  }
};

std::unique_ptr<DataSet> open(const std::string& path, const Graph& graph,
                              const DataSetOptions& options = {}) {
  auto data = open_data_set(path, graph, options);
  if (!data) FAIL(to_string(data.error()));
  return *std::move(data);
}

Sample sample_of(const DataSet& data, std::size_t i) {
  auto sample = data.sample(i);
  if (!sample) FAIL(to_string(sample.error()));
  return *std::move(sample);
}

/// The first numbers of the first input of each sample.
std::vector<float> firsts(const DataSet& data) {
  std::vector<float> found;
  for (std::size_t i = 0; i < data.size(); ++i) {
    found.push_back(sample_of(data, i).inputs.at(0).as<float>()[0]);
  }
  return found;
}

void check_two_inputs(const DataSet& data) {
  REQUIRE(data.size() == 1);
  const Sample sample = sample_of(data, 0);
  REQUIRE(sample.inputs.size() == 2);
  CHECK(same(sample.inputs[0], numbers(1, 2)));
  CHECK(same(sample.inputs[1], integer(3)));
}

void check_says(const Error& error, std::string_view words) {
  INFO(error.message);
  CHECK(error.message.find(words) != std::string::npos);
}

/// Opening fails, and says so, and names the path.
void check_refused(const std::string& path, const Graph& graph, ErrorCode code,
                   std::string_view words) {
  const auto data = open_data_set(path, graph);
  REQUIRE_FALSE(data.has_value());
  CHECK(data.error().code == code);
  CHECK(data.error().place.file == path);
  check_says(data.error(), words);
}

/// The first sample is bad, and the error says why, and in which file and input.
void check_bad(const std::string& path, const Graph& graph, std::string_view file,
               std::string_view input, std::string_view words, const DataSetOptions& options = {}) {
  const auto data = open(path, graph, options);
  const auto sample = data->sample(0);
  REQUIRE_FALSE(sample.has_value());
  CHECK(sample.error().code == ErrorCode::invalid_model);
  CHECK(sample.error().place.file == file);
  CHECK(sample.error().place.tensor == input);
  check_says(sample.error(), words);
}

/// The same for a .npz with this array for the input `x` of a model.
void check_bad_array(const Graph& graph, const Tensor& tensor, std::string_view words,
                     const DataSetOptions& options = {}) {
  const Files files;
  const std::string path = files.npz("a.npz", {{"x", tensor}});
  check_bad(path, graph, path, "x", words, options);
}

Tensor taken(const Graph& graph, const Tensor& tensor, const DataSetOptions& options = {}) {
  const Files files;
  return sample_of(*open(files.npz("a.npz", {{"x", tensor}}), graph, options), 0).inputs.at(0);
}

}  // namespace

// --- forms -------------------------------------------------------------------------------------

TEST_CASE("a folder of .npz, in natural order") {
  const Files files;
  for (const int i : {10, 9, 1, 100, 2}) {
    files.npz("s" + std::to_string(i) + ".npz", {{"x", numbers(static_cast<float>(i), 0)}});
  }
  files.write("README.md", "nothing that is data");
  files.write(".hidden.npz", "");
  const auto data = open(files.path(), one_input());
  CHECK(data->size() == 5);
  CHECK(firsts(*data) == std::vector<float>{1, 2, 9, 10, 100});
  CHECK(data->name(1) == files / "s2.npz");
}

TEST_CASE("numbers in names count by their value, and equal ones by their zeros") {
  const Files files;
  for (const char* name : {"1.npy", "01.npy", "2b.npy", "02a.npy", "10.npy", "a1.npy", "a.npy"}) {
    files.npy(name, numbers(0, 0));
  }
  const auto data = open(files.path(), one_input());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < data->size(); ++i) {
    names.push_back(std::filesystem::path(data->name(i)).filename().string());
  }
  CHECK(names == std::vector<std::string>{"01.npy", "1.npy", "02a.npy", "2b.npy", "10.npy", "a.npy",
                                          "a1.npy"});
}

TEST_CASE("arrays of a .npz are found by name, in any order") {
  const Files files;
  files.npz("a.npz", {{"y", integer(3)}, {"x", numbers(1, 2)}});
  check_two_inputs(*open(files.path(), two_inputs()));
  check_two_inputs(*open(files / "a.npz", two_inputs()));
}

TEST_CASE("folders and files of one array each, for a model of one input") {
  const Files files;
  files.npy("npy/a.npy", numbers(1, 0));
  files.npy("npy/b.npy", numbers(2, 0));
  files.pb("pb/a.pb", numbers(1, 0));
  files.pb("pb/b.pb", numbers(2, 0));
  files.raw("raw/a.raw", numbers(1, 0));
  files.raw("raw/b.raw", numbers(2, 0));
  files.raw("bin/a.bin", numbers(1, 0));
  files.raw("bin/b.bin", numbers(2, 0));
  for (const char* folder : {"npy", "pb", "raw", "bin"}) {
    CAPTURE(folder);
    CHECK(firsts(*open(files / folder, one_input())) == std::vector<float>{1, 2});
  }
  for (const char* file : {"npy/b.npy", "pb/b.pb", "raw/b.raw", "bin/b.bin"}) {
    CAPTURE(file);
    CHECK(firsts(*open(files / file, one_input())) == std::vector<float>{2});
  }
}

TEST_CASE("folders as samples, with a file of any kind for each input") {
  const Files files;
  files.npy("all/s10/x.npy", numbers(10, 0));
  files.raw("all/s10/y.raw", integer(3));
  files.pb("all/s9/x.pb", numbers(9, 0));
  files.npy("all/s9/y.npy", integer(3));
  files.write("all/.notes/notes.txt", "no data");
  files.write("all/notes.txt", "no data");
  const auto data = open(files / "all", two_inputs());
  CHECK(firsts(*data) == std::vector<float>{9, 10});
  CHECK(data->name(0) == files / "all/s9");
  CHECK(sample_of(*data, 0).inputs[1].as<std::int64_t>()[0] == 3);
  // Such a folder is a sample, too.
  CHECK(firsts(*open(files / "all/s10", two_inputs())) == std::vector<float>{10});
}

TEST_CASE("folders of ONNX's own tests") {
  const Files files;
  for (const int i : {0, 1}) {
    const std::string folder = "t/test_data_set_" + std::to_string(i) + '/';
    files.pb(folder + "input_0.pb", numbers(static_cast<float>(i), 0));
    files.pb(folder + "input_1.pb", integer(3));
    files.pb(folder + "output_0.pb", integer(4));
  }
  files.write("t/model.onnx", "");
  Notes notes;
  const auto data = open(files / "t", two_inputs(), {.sink = &notes});
  CHECK(firsts(*data) == std::vector<float>{0, 1});
  CHECK(notes.found.empty());
  CHECK(firsts(*open(files / "t/test_data_set_1", two_inputs())) == std::vector<float>{1});
  // Of one input: the output is no sample.
  files.pb("one/input_0.pb", numbers(5, 0));
  files.pb("one/output_0.pb", numbers(6, 0));
  CHECK(firsts(*open(files / "one", one_input())) == std::vector<float>{5});
}

TEST_CASE("files are called as inputs, with _ for what names of files have not") {
  const Graph graph = graph_of_inputs({"a/b:0: tensor<1x2xf32>", "c.1-d: tensor<1xi64>"});
  const Files files;
  files.npy("a_b_0.npy", numbers(1, 2));
  files.npy("c.1-d.npy", integer(3));
  check_two_inputs(*open(files.path(), graph));
}

TEST_CASE("a list of paths") {
  const Files files;
  files.raw("d/1.raw", numbers(1, 2));
  files.npy("d/3.npy", integer(3));
  const std::string list = files.write("l/input_list.txt",
                                       "#output_a output_b\n%c\n\n  ../d/1.raw \t../d/3.npy\r\n"
                                       "y:=" +
                                           files / "d/3.npy" + " x:=../d/1.raw");
  for (const std::string& path : {list, files / "l"}) {
    const auto data = open(path, two_inputs());
    REQUIRE(data->size() == 2);
    CHECK(data->name(0) == "../d/1.raw");
    for (std::size_t i = 0; i < 2; ++i) {
      const Sample sample = sample_of(*data, i);
      CHECK(same(sample.inputs[0], numbers(1, 2)));
      CHECK(same(sample.inputs[1], integer(3)));
    }
  }
}

TEST_CASE("a list whose paths start from the working directory") {
  const Files files;
  files.raw("d/1.raw", numbers(1, 2));
  const std::string below =
      std::filesystem::relative(files / "d/1.raw", std::filesystem::current_path()).string();
  const std::string list = files.write("lists/deep/list.txt", below + '\n');
  CHECK(firsts(*open(list, one_input())) == std::vector<float>{1});
}

TEST_CASE("raw files give the one extent that the model does not know") {
  const Graph graph = graph_of_inputs({"x: tensor<?x2xf32>"});
  const Files files;
  const std::string path = files.raw("a.raw", floats({3, 2}, {1, 2, 3, 4, 5, 6}));
  const Sample sample = sample_of(*open(path, graph), 0);
  CHECK(same(sample.inputs[0], floats({3, 2}, {1, 2, 3, 4, 5, 6})));
}

TEST_CASE("raw files of types that use a part of their byte") {
  const Graph graph = graph_of_inputs({"x: tensor<2xi4>"});
  const Files files;
  const auto nibbles = [&](std::int8_t a, std::int8_t b) {
    return files.raw("a.raw", tensor_of<std::int8_t>(ElementType::int4, {2}, {a, b}));
  };
  CHECK(same(sample_of(*open(nibbles(-8, 7), graph), 0).inputs[0],
             tensor_of<std::int8_t>(ElementType::int4, {2}, {-8, 7})));
  const std::string path = nibbles(0, 8);
  check_bad(path, graph, path, "x", "the byte at [1] is 8, which is no i4");
  const Graph boolean = graph_of_inputs({"x: tensor<2xi1>"});
  check_bad(path, boolean, path, "x", "the byte at [1] is 8, which is no i1");
}

TEST_CASE("arrays that are no inputs are reported once") {
  const Files files;
  files.npz("a.npz", {{"x", numbers(1, 2)}, {"label", integer(1)}, {"z", integer(1)}});
  files.npz("b.npz", {{"x", numbers(1, 2)}, {"label", integer(1)}});
  Notes notes;
  const auto data = open(files.path(), one_input(), {.sink = &notes});
  CHECK(data->sample(0).has_value());
  CHECK(data->sample(1).has_value());
  REQUIRE(notes.found.size() == 1);
  CHECK(notes.found[0].severity == Severity::note);
  CHECK(notes.found[0].message.find("'label', 'z'") != std::string::npos);
  CHECK(notes.found[0].place.file == files / "a.npz");

  files.npy("f/s/x.npy", numbers(1, 2));
  files.npy("f/s/label.npy", integer(1));
  Notes more;
  CHECK(open(files / "f", one_input(), {.sink = &more})->sample(0).has_value());
  REQUIRE(more.found.size() == 1);
  CHECK(more.found[0].message.find("'label.npy'") != std::string::npos);
}

TEST_CASE("several threads may ask") {
  const Files files;
  constexpr std::size_t count = 20;
  for (std::size_t i = 0; i < count; ++i) {
    files.npz(std::to_string(i) + ".npz", {{"x", numbers(static_cast<float>(i), 0)}});
  }
  const auto data = open(files.path(), one_input());
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < count; ++i) {
        const auto sample = data->sample(i);
        if (sample && sample->inputs[0].as<float>()[0] == static_cast<float>(i)) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 80);
}

// --- where there are no samples ----------------------------------------------------------------

TEST_CASE("nothing there") {
  const Files files;
  check_refused(files / "none", one_input(), ErrorCode::io, "No such file");
  check_refused(files.path(), one_input(), ErrorCode::usage, "no samples here");
  files.write("README.md", "");
  files.write("empty_list.txt", "# nothing\n\n");
  check_refused(files.path(), one_input(), ErrorCode::usage, "no samples here");
  check_refused(files / "README.md", one_input(), ErrorCode::usage, "no kind of data");
  check_refused(files / "empty_list.txt", one_input(), ErrorCode::usage, "no samples here");
}

TEST_CASE("files of several kinds") {
  const Files files;
  files.npy("a.npy", numbers(1, 2));
  files.npz("b.npz", {{"x", numbers(1, 2)}});
  check_refused(
      files.path(), one_input(), ErrorCode::usage,
      "files of several kinds, 1 .npy file ('a.npy') and 1 .npz file ('b.npz'): name one of");
  for (const char* name : {"0.bin", "1.bin", "2.bin"}) files.raw(name, numbers(1, 2));
  check_refused(files.path(), one_input(), ErrorCode::usage,
                "3 .bin files ('0.bin', ...), 1 .npy file ('a.npy') and 1 .npz file ('b.npz')");
}

TEST_CASE("a list beside the files that it lists") {
  const Files files;
  for (const char* name : {"0.bin", "1.bin"}) files.raw(name, numbers(1, 2));
  const std::string list = files.write("input_list.txt", "0.bin\n1.bin\n");
  check_refused(files.path(), one_input(), ErrorCode::usage,
                "2 .bin files ('0.bin', ...) and 1 .txt file ('input_list.txt'): name the list "
                "itself, " +
                    list + ", or a folder of one kind");
  CHECK(open(list, one_input())->size() == 2);
}

TEST_CASE("folders among samples that are none") {
  const Files files;
  files.npy("d/1/x.npy", numbers(1, 2));
  files.npy("d/3/x.npy", numbers(1, 2));
  std::filesystem::create_directory(files / "d/2");
  const auto refused = [&](const std::string& path, const std::string& folder,
                           std::string_view words) {
    const auto data = open_data_set(path, one_input());
    REQUIRE_FALSE(data.has_value());
    CHECK(data.error().code == ErrorCode::usage);
    CHECK(data.error().place.file == folder);
    check_says(data.error(), words);
  };
  refused(files / "d", files / "d/2", "file for each input; there is nothing");
  files.npy("d/2/deep/x.npy", numbers(1, 2));
  files.write("d/2/notes.md", "");
  refused(files / "d", files / "d/2", "there is 'notes.md', 'deep'");
  files.npz("e/1/a.npz", {{"x", numbers(1, 2)}});
  refused(files / "e", files / "e/1", "there is 'a.npz', but .npz files are samples only in");
}

TEST_CASE("folders beside files are passed over, which is said") {
  const Files files;
  files.npz("npz/a.npz", {{"x", numbers(1, 2)}});
  files.npz("npz/2/b.npz", {{"x", numbers(1, 2)}});
  files.npy("npz/.hidden/x.npy", numbers(1, 2));
  Notes notes;
  CHECK(open(files / "npz", one_input(), {.sink = &notes})->size() == 1);
  REQUIRE(notes.found.size() == 1);
  CHECK(notes.found[0].severity == Severity::warning);
  CHECK(notes.found[0].message.find("passed over: '" + files / "npz/2" + "'") != std::string::npos);
  // A list names what is in them.
  files.raw("list/raw/0.raw", numbers(1, 2));
  files.write("list/input_list.txt", "raw/0.raw\n");
  Notes none;
  CHECK(open(files / "list", one_input(), {.sink = &none})->size() == 1);
  CHECK(none.found.empty());
}

TEST_CASE("files of one array, for a model of several inputs") {
  const Files files;
  const std::string path = files.npy("a.npy", numbers(1, 2));
  check_refused(path, two_inputs(), ErrorCode::usage, "the model has 2 inputs, 'x', 'y'");
}

TEST_CASE("lists that do not fit the model") {
  const Files files;
  const auto refused = [&](std::string_view text, std::string_view words) {
    check_refused(files.write("list.txt", text), two_inputs(), ErrorCode::invalid_model, words);
  };
  refused("a b\na b c\n", "line 2: 3 paths, where the model has 2 inputs: 'x', 'y'");
  refused("\na\n", "line 2: 1 path, where");
  check_refused(files.write("list.txt", "a b\n"), one_input(), ErrorCode::invalid_model,
                "2 paths, where the model has 1 input: 'x'");
  refused("x:=a b\n", "line 1: 'b' is not INPUT:=PATH");
  refused("x:=a z:=b\n", "line 1: the model has no input 'z'; it has 'x', 'y'");
  refused("x:=a x:=b\n", "line 1: two paths for the input 'x'");
  refused("x:=a\n", "line 1: no path for the input 'y'");
  refused("x:= y:=b\n", "line 1: no path for the input 'x'");
}

// --- samples that are missing parts, or have too many --------------------------------------------

TEST_CASE("a .npz without an input") {
  const Files files;
  const std::string path = files.npz("a.npz", {{"x", numbers(1, 2)}, {"arr_0", integer(1)}});
  check_bad(path, two_inputs(), path, "y", "no array for this input; there is 'x', 'arr_0'");
}

TEST_CASE("a folder without the file of an input") {
  const Files files;
  files.npy("s/x.npy", numbers(1, 2));
  files.npy("s/z.npy", integer(1));
  check_bad(files.path(), two_inputs(), files / "s", "y",
            "'y.npy', 'y.pb', 'y.raw' or 'y.bin', or 'input_1.pb'; there is 'x.npy', 'z.npy'");
}

TEST_CASE("a folder with two files for an input, or one for two") {
  const Files files;
  files.npy("s/x.npy", numbers(1, 2));
  files.raw("s/x.raw", numbers(1, 2));
  files.npy("s/y.npy", integer(1));
  check_bad(files.path(), two_inputs(), files / "s", "x", "more than one file");
  const Graph alike = graph_of_inputs({"a/b: tensor<1x2xf32>", "a:b: tensor<1x2xf32>"});
  files.npy("t/s/a_b.npy", numbers(1, 2));
  check_bad(files / "t", alike, files / "t/s", "a:b", "'a_b.npy' would be this input and 'a/b'");
}

TEST_CASE("more of ONNX's inputs than the model has") {
  const Files files;
  files.pb("input_0.pb", numbers(1, 2));
  files.pb("input_1.pb", numbers(1, 2));
  check_bad(files.path(), one_input(), files.path(), "",
            "'input_1.pb', where the model has 1 input");
}

// --- arrays that do not fit ----------------------------------------------------------------------

TEST_CASE("another element type") {
  check_bad_array(one_input(), tensor_of<double>(ElementType::float64, {1, 2}, {1, 2}),
                  "its elements are f64, the model takes f32: store them so");
  check_bad_array(graph_of_inputs({"x: tensor<1xi64>"}),
                  tensor_of<std::int32_t>(ElementType::int32, {1}, {1}), "are i32");
  check_bad_array(graph_of_inputs({"x: tensor<1xopaque>"}), floats({1}, {1}), "a type here");
}

TEST_CASE("conversion where it is asked for") {
  const DataSetOptions convert{.convert = true};
  const auto to = [&](const std::string& type, const Tensor& tensor) {
    return taken(graph_of_inputs({"x: " + type}), tensor, convert);
  };
  CHECK(same(to("tensor<2xf32>", tensor_of<double>(ElementType::float64, {2}, {0.1, -2})),
             floats({2}, {0.1F, -2})));
  CHECK(same(to("tensor<2xf32>", tensor_of<std::uint8_t>(ElementType::uint8, {2}, {0, 255})),
             floats({2}, {0, 255})));
  CHECK(same(to("tensor<1xi64>", tensor_of<std::int32_t>(ElementType::int32, {1}, {-5})),
             integer(-5)));
  CHECK(same(to("tensor<2xi1>", tensor_of<std::int64_t>(ElementType::int64, {2}, {0, 1})),
             tensor_of<std::uint8_t>(ElementType::boolean, {2}, {0, 1})));
  CHECK(same(to("tensor<2xi4>", tensor_of<std::int8_t>(ElementType::int8, {2}, {-8, 7})),
             tensor_of<std::int8_t>(ElementType::int4, {2}, {-8, 7})));
  CHECK(same(to("tensor<1xu8>", floats({1}, {255})),
             tensor_of<std::uint8_t>(ElementType::uint8, {1}, {255})));
  CHECK(same(to("tensor<1xf16>", floats({1}, {1.5F})),
             tensor_of<std::uint16_t>(ElementType::float16, {1}, {0x3e00})));
  CHECK(same(to("tensor<1xbf16>", floats({1}, {1.5F})),
             tensor_of<std::uint16_t>(ElementType::bfloat16, {1}, {0x3fc0})));
}

TEST_CASE("a float is rounded once on its way to 16 bits") {
  // Just above the middle of two neighbours, by less than float32 keeps.
  const auto bits = [](const std::string& type, double value) {
    const Tensor tensor = tensor_of<double>(ElementType::float64, {1}, {value});
    return taken(graph_of_inputs({"x: " + type}), tensor, {.convert = true}).as<std::uint16_t>()[0];
  };
  CHECK(bits("tensor<1xf16>", 1 + 0x1p-11) == 0x3c00);  // a tie goes to the even one
  CHECK(bits("tensor<1xf16>", 1 + 0x1p-11 + 0x1p-40) == 0x3c01);
  CHECK(bits("tensor<1xf16>", -(1 + 0x1p-11 + 0x1p-40)) == 0xbc01);
  CHECK(bits("tensor<1xf16>", 1 + 3 * 0x1p-11 - 0x1p-40) == 0x3c01);
  CHECK(bits("tensor<1xbf16>", 1 + 0x1p-8) == 0x3f80);
  CHECK(bits("tensor<1xbf16>", 1 + 0x1p-8 + 0x1p-40) == 0x3f81);
  CHECK(bits("tensor<1xf16>", 1e-300) == 0);
}

TEST_CASE("numbers that the model's type does not have") {
  const DataSetOptions convert{.convert = true};
  const auto bad = [&](const std::string& type, const Tensor& tensor, std::string_view words) {
    check_bad_array(graph_of_inputs({"x: " + type}), tensor, words, convert);
  };
  const auto doubles = [](double a, double b) {
    return tensor_of<double>(ElementType::float64, {1, 2}, {a, b});
  };
  const auto whole = [](std::int64_t value) { return integer(value); };
  bad("tensor<1x2xi64>", doubles(1, 0.5), "0.5 at [0, 1] cannot be kept as i64");
  bad("tensor<1x2xu8>", doubles(256, 0), "256 at [0, 0] cannot be kept as u8");
  bad("tensor<1x2xu8>", doubles(0, -1), "-1 at [0, 1]");
  bad("tensor<1x2xi32>", doubles(0, not_a_number), "nan at [0, 1]");
  bad("tensor<1x2xi1>", doubles(2, 0), "2 at [0, 0]");
  bad("tensor<1x2xi64>", doubles(0, 1e300), "at [0, 1]");
  bad("tensor<1x2xf32>", doubles(0, 1e300), "cannot be kept as f32");
  bad("tensor<1x2xf16>", doubles(0, 65520), "65520 at [0, 1] cannot be kept as f16");
  bad("tensor<1xf32>", whole((1 << 24) + 1), "16777217 at [0]");
  bad("tensor<1xi4>", whole(8), "8 at [0]");
  // Doubles do not tell it from its neighbour.
  bad("tensor<1xf64>", whole((std::int64_t{1} << 53) + 1), "at [0] cannot be kept as f64");
  bad("tensor<1xu64>", whole(INT64_MAX), "at [0] cannot be kept as u64");
}

TEST_CASE("another rank") {
  check_bad_array(one_input(), floats({2}, {1, 2}),
                  "its shape is [2], the model takes [1x2]: it lacks the first axis");
  check_bad_array(graph_of_inputs({"x: tensor<?x2xf32>"}), floats({2}, {1, 2}),
                  "lacks the first axis");
  check_bad_array(one_input(), floats({1, 1, 2}, {1, 2}), "3 axes instead of 2");
  check_bad_array(one_input(), floats(Shape::scalar(), {1}), "0 axes instead of 2");
}

TEST_CASE("other extents") {
  check_bad_array(one_input(), floats({1, 3}, {1, 2, 3}), "is [1x3], the model takes [1x2]");
  check_bad_array(graph_of_inputs({"x: tensor<?x2xf32>"}), floats({4, 1}, {1, 2, 3, 4}),
                  "is [4x1], the model takes [?x2]");
}

TEST_CASE("several samples in one array") {
  const Tensor two = floats({2, 2}, {1, 2, 3, 4});
  check_bad_array(one_input(), two, "these are 2 samples in one array");
  CHECK(same(taken(graph_of_inputs({"x: tensor<?x2xf32>"}), two), two));
  CHECK(same(taken(graph_of_inputs({"x: tensor<*xf32>"}), two), two));
}

TEST_CASE("numbers that are not finite") {
  check_bad_array(one_input(), numbers(0, not_a_number), "NaN at [0, 1]: mend the data");
  check_bad_array(one_input(), numbers(-infinity, 0), "an infinity at [0, 0]");
  check_bad_array(graph_of_inputs({"x: tensor<1xf64>"}),
                  tensor_of<double>(ElementType::float64, {1}, {not_a_number}), "NaN at [0]");
  check_bad_array(graph_of_inputs({"x: tensor<1xf16>"}),
                  tensor_of<std::uint16_t>(ElementType::float16, {1}, {0x7c00}), "an infinity");
  const Files files;
  const std::string path =
      files.raw("a.raw", tensor_of<std::uint16_t>(ElementType::bfloat16, {1}, {0x7fc0}));
  check_bad(path, graph_of_inputs({"x: tensor<1xbf16>"}), path, "x", "NaN");
  const Tensor strange = numbers(infinity, not_a_number);
  CHECK(same(taken(one_input(), strange, {.allow_non_finite = true}), strange));
}

TEST_CASE("raw files of another size") {
  const Files files;
  const std::string path = files.raw("a.raw", floats({3}, {1, 2, 3}));
  check_bad(path, one_input(), path, "x", "12 bytes, where the model takes f32 [1x2], 8 bytes");
  check_bad(path, graph_of_inputs({"x: tensor<?x2xf32>"}), path, "x",
            "12 bytes, where the model takes f32 [?x2], 8 bytes or a multiple of that");
  check_bad(path, graph_of_inputs({"x: tensor<?x?xf32>"}), path, "x", "does not settle");
  check_bad(path, graph_of_inputs({"x: tensor<*xf32>"}), path, "x", "does not settle");
  files.write("b.raw", "");
  check_bad(files / "b.raw", graph_of_inputs({"x: tensor<?x2xf32>"}), files / "b.raw", "x",
            "0 bytes");
  files.write("c.raw", "1234567");
  check_bad(files / "c.raw", one_input(), files / "c.raw", "x", "7 bytes");
}

// --- files that are damaged, or cannot be read ---------------------------------------------------

TEST_CASE("damaged files") {
  const Files files;
  const std::string npz = files.write("a.npz", "PK, but no zip archive");
  const auto data = open(npz, one_input());
  const auto sample = data->sample(0);
  REQUIRE_FALSE(sample.has_value());
  CHECK(sample.error().code == ErrorCode::invalid_model);
  CHECK(sample.error().place.file == npz);
  check_says(sample.error(), "not a zip archive");

  files.npz("b.npz", {{"x", numbers(1, 2)}});
  std::string bytes = files.read("b.npz");
  bytes[bytes.find("\x80\x3f")] = '\x7f';
  const std::string changed = files.write("c.npz", bytes);
  check_bad(changed, one_input(), changed, "x", "checksum");

  const std::string npy = files.write("d.npy", "no array");
  check_bad(npy, one_input(), npy, "x", "not an array of NumPy");
  const std::string pb = files.write("e.pb", "\x08");
  const auto tensor = open(pb, one_input())->sample(0);
  REQUIRE_FALSE(tensor.has_value());
  CHECK(tensor.error().code == ErrorCode::invalid_model);
  CHECK(tensor.error().place.file == pb);
  CHECK(tensor.error().place.tensor == "x");
}

TEST_CASE("a bad sample does not spoil the others") {
  const Files files;
  files.npz("1.npz", {{"x", numbers(1, 0)}});
  files.write("2.npz", "");
  files.npz("3.npz", {{"x", numbers(3, 0)}});
  const auto data = open(files.path(), one_input());
  REQUIRE(data->size() == 3);
  CHECK(data->sample(0).has_value());
  CHECK_FALSE(data->sample(1).has_value());
  CHECK(data->sample(2).has_value());
}

TEST_CASE("files that are gone, or that nobody may read") {
  const Files files;
  const std::string path = files.npz("a.npz", {{"x", numbers(1, 2)}});
  const auto data = open(files.path(), one_input());
  std::filesystem::remove(path);
  const auto gone = data->sample(0);
  REQUIRE_FALSE(gone.has_value());
  CHECK(gone.error().code == ErrorCode::io);
  CHECK(gone.error().place.file == path);
  // A link to nothing is in the folder, and cannot be read.
  std::filesystem::create_symlink(files / "nothing", files / "b.npz");
  const auto link = open(files.path(), one_input())->sample(0);
  REQUIRE_FALSE(link.has_value());
  CHECK(link.error().code == ErrorCode::io);
  CHECK(link.error().place.file == files / "b.npz");

  const auto listed = open(files.write("list.txt", "none.raw\n"), one_input())->sample(0);
  REQUIRE_FALSE(listed.has_value());
  CHECK(listed.error().code == ErrorCode::io);
  CHECK(listed.error().place.file == files / "none.raw");
}
