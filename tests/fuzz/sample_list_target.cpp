// Lists of samples: what is read has a path for each input, all of them words of the text, and
// reads back the same when it is written in the other form; each path is opened beside the list, or
// from the working directory.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/data_set_inputs.hpp"
#include "calibration/data_set_list.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "require.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace quadrant;

using Samples = std::vector<std::vector<std::string>>;

// make_corpus.py has lists for these inputs.
constexpr std::array<std::string_view, 3> graph_texts{
    "%x: tensor<2xf32> = input()\noutput(%x)\n",
    "%x: tensor<2xf32> = input()\n%ids: tensor<?xi64> = input()\noutput(%x)\n",
    "%a: tensor<1x2xf16> = input()\n%\"a:b/c\": tensor<u8> = input()\n"
    "%\"=\": tensor<2xi1> = input()\noutput(%a)\n",
};

const test::TemporaryFolder& folder() {
  static const test::TemporaryFolder folder;
  static const bool made = [] {
    for (const std::string_view name : {"x.raw", "deep/x.raw", "y.bin"}) {
      folder.write(name, std::string("\0\0\x80\x3f\0\0\0\x40", 8));
    }
    folder.write("ids.raw", std::string(24, '\1'));
    folder.write("nan.raw", std::string(8, '\xff'));
    folder.write("none.npy", "");
    return true;
  }();
  (void)made;
  return folder;
}

std::string in_other_form(const Samples& samples, const std::vector<data_set::Input>& inputs,
                          bool by_name) {
  std::string text;
  for (const std::vector<std::string>& paths : samples) {
    for (std::size_t i = 0; i < paths.size(); ++i) {
      text += (by_name ? inputs[i].name + ":=" : "") + paths[i] + ' ';
    }
    text += '\n';
  }
  return text;
}

void check_reading(const Samples& samples, const std::vector<data_set::Input>& inputs,
                   std::string_view text) {
  const auto text_of_it = [&] { return std::string(text); };
  bool has_names = false;
  bool has_marks = false;
  for (const std::vector<std::string>& paths : samples) {
    fuzz::require(paths.size() == inputs.size(), "not a path for each input", text_of_it);
    for (const std::string& path : paths) {
      fuzz::require(!path.empty() && path.find_first_of(" \t\r\n") == std::string::npos &&
                        text.find(path) != std::string_view::npos,
                    "no word of the list", text_of_it);
      has_names |= path.find(":=") != std::string::npos;
    }
    has_marks |= !paths.empty() && (paths[0].front() == '#' || paths[0].front() == '%');
  }
  if (inputs.empty()) return;
  // A path that looks like a comment, or like a path with a name, needs the form with names.
  for (const bool by_name : {true, false}) {
    if (!by_name && (has_names || has_marks)) continue;
    const std::string list = folder().write("other.txt", in_other_form(samples, inputs, by_name));
    const auto again = data_set::read_list(list, inputs);
    fuzz::require_value(again, "the other form cannot be read", text_of_it);
    fuzz::require(*again == samples, "the other form says something else", text_of_it);
  }
}

void check_place(const std::string& list, const std::string& path) {
  const std::string opened = data_set::listed_path(list, path);
  const bool is_beside = opened == (std::filesystem::path(folder().path()) / path).string();
  fuzz::require(is_beside || opened == path, "a path leads elsewhere", [&] { return opened; });
}

// Others are not for a fuzzer to open: a device, say.
bool stays_in_folder(const std::vector<std::string>& paths) {
  return std::ranges::none_of(paths, [](const std::string& path) {
    return path.front() == '/' || path.find("..") != std::string::npos;
  });
}

void check(const Graph& graph, std::string_view text) {
  const std::string list = folder().write("input_list.txt", text);
  const std::vector<data_set::Input> inputs = data_set::inputs_of(graph);
  const auto samples = data_set::read_list(list, inputs);
  const auto data = open_data_set(list, graph);
  const auto text_of_it = [&] { return std::string(text); };
  if (!samples) {
    fuzz::require(!data, "a list that cannot be read makes samples", text_of_it);
    return;
  }
  check_reading(*samples, inputs, text);
  for (const std::vector<std::string>& paths : *samples) {
    for (const std::string& path : paths) check_place(list, path);
  }
  if (!data) return;
  fuzz::require((*data)->size() == samples->size(), "samples were lost", text_of_it);
  for (std::size_t i = 0; i < std::min<std::size_t>((*data)->size(), 4); ++i) {
    fuzz::require(!(*data)->name(i).empty(), "a sample without a name", text_of_it);
    if (!stays_in_folder((*samples)[i])) continue;
    const auto sample = (*data)->sample(i);
    if (!sample) continue;
    fuzz::require_value(check_inputs(graph, sample->inputs), "a sample does not fit", text_of_it);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<Graph> graphs = [] {
    std::vector<Graph> graphs;
    for (const std::string_view text : graph_texts) graphs.push_back(parse_graph(text).value());
    return graphs;
  }();
  if (size == 0) return 0;
  check(graphs[data[0] % graphs.size()], {reinterpret_cast<const char*>(data + 1), size - 1});
  return 0;
}
