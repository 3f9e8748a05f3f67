// Graphs of every operation as text, each with something wrong, through every command: what
// commands read keeps the verifier's rules, so none of them meets what it does not expect. A crash
// ends the program; t.qd in the newest temporary folder is what it crashed on.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/run.hpp"
#include "shortened.hpp"
#include "temporary_folder.hpp"

namespace quadrant::test {
namespace {

using Lines = std::vector<std::string>;

// The first graph of a file of cases of the interpreter, as a model: what is compared is an output.
Lines first_graph(const std::filesystem::path& path) {
  static const std::regex compared(R"(expect\((%[^,]+), %[^,)]+\).*)");
  Lines lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("graph") && !lines.empty()) break;
    if (line.empty() || line.starts_with('#')) continue;
    std::smatch found;
    if (std::regex_match(line, found, compared)) {
      line = fmt::format("output({}) {{name = \"o{}\"}}", found[1].str(), lines.size());
    }
    lines.push_back(line);
  }
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("refused("); });
  return lines;
}

std::vector<Lines> graphs_of_all_operations() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(QUADRANT_SOURCE_DIR "/tests/runtime/ops")) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<Lines> graphs;
  for (const auto& path : paths) graphs.push_back(first_graph(path));
  return graphs;
}

// Spoils graphs.
class Spoiler {
 public:
  explicit Spoiler(unsigned seed) : random_(seed) {}

  std::string spoiled(Lines lines) {
    const std::size_t count = 1 + below(3);
    for (std::size_t i = 0; i < count && !lines.empty(); ++i) spoil(lines, below(lines.size()));
    return fmt::format("{}\n", fmt::join(lines, "\n"));
  }

  std::size_t below(std::size_t bound) { return random_() % bound; }

 private:
  void spoil(Lines& lines, std::size_t at) {
    std::string& line = lines[at];
    switch (below(9)) {
      case 0:
        return (void)lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
      case 1:
        return lines.push_back(line);
      case 2:  // no results
        return (void)line.erase(0,
                                line.find(" = ") == std::string::npos ? 0 : line.find(" = ") + 3);
      case 3:
        return replace(line, R"(\([^()]*\))",
                       one_of({"()", "(_)", "(_, _)", "(%x)", "(%x, %x, %x)"}));
      case 4:  // an operand twice, or absent
        return replace(line, R"(\((%[^,()]+))", one_of({"($1, $1", "(_", "(_, $1"}));
      case 5:
        return replace(
            line, R"(\b(f32|f64|f16|i8|u8|i32|i64|i1)\b)",
            one_of({"f64", "i4", "u4", "i8", "i1", "undefined", "opaque", "f8e4m3", "i2"}));
      case 6:
        return replace(line, R"(\d+x)", one_of({"0x", "1x", "?x", "7x", "9223372036854775807x"}));
      case 7:
        return replace(line, R"(= constant\(\).*)",
                       one_of({"= constant()", "= constant() tensor<>", "= input()",
                               "= constant() tensor<2xf32>[1, 2]", "= constant() base64(\"\")"}));
      default:
        return replace(line, R"( = (-?[\d.]+|\[[^\]]*\]|"[^"]*")(?=[,}]))",
                       one_of({" = -1", " = \"x\"", " = []", " = [1, 2, 3]", " = 1.5",
                               " = 9223372036854775807", " = tensor<>", " = opaque(\"a\", 0x00)"}));
    }
  }

  std::string one_of(std::initializer_list<const char*> choices) {
    return *(choices.begin() + below(choices.size()));
  }

  static void replace(std::string& line, const std::string& pattern, const std::string& with) {
    line = std::regex_replace(line, std::regex(pattern), with,
                              std::regex_constants::format_first_only);
  }

  std::mt19937 random_;
};

// The exit code of a command in `folder`, whose arguments name files there as `./name`.
int exit_code_of(const TemporaryFolder& folder, const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"quadrant"};
  for (const std::string& argument : arguments) {
    words.push_back(argument.starts_with("./") ? folder / argument.substr(2) : argument);
  }
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  std::FILE* const nowhere = std::fopen("/dev/null", "w");
  const int code = cli::run(static_cast<int>(pointers.size()), pointers.data(), nowhere, nowhere);
  std::fclose(nowhere);
  return code;
}

const std::vector<std::vector<std::string>> commands{
    {"inspect", "./t.qd"},
    {"inspect", "./t.qd", "--text"},
    {"convert", "./t.qd", "./o.onnx"},
    {"convert", "./t.qd", "./o.tflite"},
    {"convert", "./t.qd", "./o.xml"},
    {"convert", "./t.qd", "./o.mlir"},
    {"convert", "./t.qd", "./o.qd"},
    {"run", "./t.qd", "--random", "1", "-o", "./r"},
    {"transform", "./t.qd", "-o", "./o.onnx", "--optimize", "cle,hba"},
    {"quantize", "./t.qd", "-o", "./o.onnx", "--scheme", "weight-only"},
    {"quantize", "./t.qd", "-o", "./o.onnx", "--scheme", "weight-only", "--bits", "4",
     "--block-size", "16", "--format", "matmulnbits"},
    {"explain", "./t.qd", "--scheme", "weight-only", "--all"},
    {"calibrate", "./t.qd", "--random", "1", "-o", "./s.json"},
    {"compare", "./t.qd", "./t.qd", "--random", "1"},
    {"placement", "./t.qd"},
    {"sensitivity", "./t.qd", "--scheme", "weight-only", "--random", "1"},
    {"encodings", "./t.qd", "-o", "./e.json"},
    {"pareto", "./t.qd", "--scheme", "weight-only"},
};

TEST_CASE("texts with something wrong are refused, or handled, by every command") {
  const TemporaryFolder folder;
  const std::vector<Lines> graphs = graphs_of_all_operations();
  CHECK(graphs.size() > 150);
  Spoiler spoiler(1);
  std::size_t accepted = 0;
  const std::size_t rounds = shortened(graphs.size() * 3);
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::string text = spoiler.spoiled(graphs[round % graphs.size()]);
    CAPTURE(text);
    folder.write("t.qd", text);
    const int read = exit_code_of(folder, {"inspect", "./t.qd"});
    REQUIRE((read == 0 || read == static_cast<int>(cli::ExitCode::bad_input)));
    if (read != 0) continue;
    ++accepted;
    for (int i = 0; i < 3; ++i) {
      const auto& command = commands[spoiler.below(commands.size())];
      CAPTURE(command.front());
      const int code = exit_code_of(folder, command);
      // Some have nothing to do, which is the caller's mistake.
      const std::set<int> expected{0, 2, 3, 4};
      CHECK(expected.contains(code));
    }
  }
  CHECK(accepted > rounds / 8);
}

}  // namespace
}  // namespace quadrant::test
