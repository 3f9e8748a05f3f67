// What the command offers to a scheme is what it takes, whoever wrote the scheme.
#include "cli/schemes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/run.hpp"
#include "own_schemes.hpp"
#include "quadrant/command.hpp"
#include "quadrant/io/npy.hpp"
#include "quadrant/quadrant.hpp"
#include "temporary_folder.hpp"

namespace quadrant::test {
namespace {

constexpr std::string_view model = R"(graph {}
%x: tensor<1x4xf32> = input()
%w: tensor<4x4xf32> = constant() [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 9]
%v: tensor<4x2xf32> = constant() [1, -2, 3, -4, 5, -6, 7, -8]
%h: tensor<1x4xf32> = matmul(%x, %w)
%r: tensor<1x4xf32> = onnx.Relu(%h)
%y: tensor<1x2xf32> = matmul(%r, %v)
output(%y)
)";

using Words = std::vector<std::string>;

struct Done {
  int code = 0;
  std::string out;
  std::string err;
};

std::string contents_of(std::FILE* file) {
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::fseek(file, 0, SEEK_SET);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

struct Workplace {
  Workplace() {
    add_own_schemes(schemes);
    folder.write("m.qd", model);
    std::filesystem::create_directory(folder / "s");
    for (int i = 0; i < 8; ++i) {
      std::vector<float> x;
      for (int k = 0; k < 4; ++k) x.push_back(static_cast<float>((i * 5 + k * 3) % 7) - 3);
      REQUIRE(write_npy(folder / ("s/" + std::to_string(i) + ".npy"),
                        Tensor::from_values<float>(ElementType::float32, Shape{1, 4}, x))
                  .has_value());
    }
    succeeds({"calibrate", "./m.qd", "--data", "./s", "--moments", "-o", "./moments"});
    succeeds({"quantize", "./m.qd", "-o", "./q.onnx", "--scheme", "static-affine", "--calibration",
              "./s"});
    succeeds({"encodings", "./q.onnx", "-o", "./e.json"});
  }

  // `./name` is a file here.
  [[nodiscard]] Done run(const Words& arguments) const {
    Words words{"quadrant"};
    for (const std::string& argument : arguments) {
      words.push_back(argument.starts_with("./") ? folder / argument.substr(2) : argument);
    }
    std::vector<const char*> pointers;
    for (const std::string& word : words) pointers.push_back(word.c_str());
    std::FILE* const out = std::tmpfile();
    std::FILE* const err = std::tmpfile();
    Done done;
    done.code = cli::run(static_cast<int>(pointers.size()), pointers.data(), out, err, &schemes);
    done.out = contents_of(out);
    done.err = contents_of(err);
    return done;
  }
  void succeeds(const Words& arguments) const {
    const Done done = run(arguments);
    REQUIRE_MESSAGE(done.code == 0, done.err);
  }

  TemporaryFolder folder;
  SchemeTable schemes;
};

/// Something that runs share, and how a help text shows it.
struct Shared {
  std::string shown;
  Words given;
  bool is_data = false;  // in place of the samples that a scheme may need
};

const Words samples{"--calibration", "./s"};

std::vector<Shared> shared_options() {
  std::vector<Shared> all{{"--moments FILE", {"--moments", "./moments"}},
                          {"--encodings FILE", {"--encodings", "./e.json"}, true},
                          {"--sequential", {"--sequential"}},
                          {"--low-rank RANK", {"--low-rank", "1"}},
                          {"--relu6 exact|relu", {"--optimize", "cle", "--relu6", "relu"}},
                          {"--calibration PATH", {"--optimize", "bc"}}};
  for (const char* const word : {"rotate", "cle", "hba", "migrate", "bc", "bc-analytic"}) {
    all.push_back({std::string(" ") + word + ": ", {"--optimize", word}});
  }
  for (const char* const word : {"fast", "balanced", "best"}) {
    all.push_back({"--effort fast|balanced|best", {"--effort", word}});
  }
  return all;
}

// With line breaks as spaces.
std::string in_one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c != '\n' && c != ' ') line += c;
    if ((c == '\n' || c == ' ') && !line.ends_with(' ')) line += ' ';
  }
  return line;
}

// Whether samples are to be given besides: where what is given says nothing in their place.
bool wants_samples(const SchemeEntry& scheme, const Shared& option) {
  const std::string& word = option.given.back();
  const bool looks = word == "migrate" || word == "bc" || word == "balanced" || word == "best" ||
                     word == "--sequential" || option.shown.starts_with("--calibration");
  return looks || (scheme.needs_data && !option.is_data);
}

}  // namespace

TEST_CASE("what the list of a scheme shows is accepted, and nothing else is") {
  const Workplace here;
  std::size_t offered = 0;
  std::size_t refused = 0;
  for (const SchemeEntry& scheme : here.schemes) {
    const std::string shown = in_one_line(here.run({"list", std::string(scheme.name)}).out);
    CAPTURE(shown);
    for (const Shared& option : shared_options()) {
      CAPTURE(scheme.name);
      CAPTURE(option.shown);
      Words call{"quantize", "./m.qd", "--dry-run", "--scheme", std::string(scheme.name)};
      call.insert(call.end(), option.given.begin(), option.given.end());
      if (wants_samples(scheme, option)) call.insert(call.end(), samples.begin(), samples.end());
      const Done done = here.run(call);
      CAPTURE(done.err);
      const bool is_offered = shown.find(option.shown) != std::string::npos;
      CHECK(done.code == static_cast<int>(is_offered ? cli::ExitCode::done : cli::ExitCode::usage));
      if (!is_offered) {
        CHECK(done.err.find(scheme.name) != std::string::npos);  // the reason says whose
      }
      ++(is_offered ? offered : refused);
    }
  }
  CHECK(offered > 40);
  CHECK(refused > 10);
}

TEST_CASE("data that nobody looks at is refused, with what is taken") {
  const Workplace here;
  const Done plain =
      here.run({"quantize", "./m.qd", "--dry-run", "--scheme", "plain", "--calibration", "./s"});
  CHECK(plain.code == static_cast<int>(cli::ExitCode::usage));
  CHECK(plain.err.find("no scheme of this run uses samples") != std::string::npos);
  here.succeeds({"calibrate", "./m.qd", "--data", "./s", "-o", "./stats.json"});
  for (const char* const scheme : {"stored", "weight-only"}) {
    const Done done = here.run(
        {"quantize", "./m.qd", "--dry-run", "--scheme", scheme, "--calibration", "./stats.json"});
    CHECK(done.code == static_cast<int>(cli::ExitCode::usage));
    CHECK(done.err.find("needs samples") != std::string::npos);
  }
}

TEST_CASE("what a scheme of one's own rounds by moments is told, each weight by its name") {
  const Workplace here;
  const Words call{"quantize", "./m.qd", "--dry-run", "--json", "--scheme"};
  const auto with = [&](std::initializer_list<std::string> more) {
    Words words = call;
    words.insert(words.end(), more);
    return here.run(words).out;
  };
  const std::string rounded = with({"stored", "--moments", "./moments"});
  CHECK(rounded.find(R"("weight": "w")") != std::string::npos);
  CHECK(rounded.find(R"("error_nearest")") != std::string::npos);
  CHECK(with({"stored"}).find(R"("rounding": null)") != std::string::npos);
}

TEST_CASE("a scheme whose option is called as one of the command's is refused") {
  static const std::array recipe{OptionSpec{.key = "recipe", .summary = "none"}};
  Workplace here;
  REQUIRE(here.schemes
              .add({.name = "save",
                    .summary = "none",
                    .gain = "bytes",
                    .options = recipe,
                    .make =
                        [](const OptionValues&, const SchemeData& data) {
                          return weight_only_registry(data.weights("int4"));
                        }})
              .has_value());
  const Done done = here.run({"list"});
  CHECK(done.code == static_cast<int>(cli::ExitCode::usage));
  CHECK(done.err.find("save-recipe") != std::string::npos);
}

TEST_CASE("whatever a scheme throws becomes an exit code") {
  const std::array<const char*, 2> call{"quadrant", "list"};
  const auto code_of = [&](auto make) {
    return run_command(2, call.data(),
                       {{.name = "own", .summary = "throws", .gain = "bytes", .make = make}});
  };
  using Made = Expected<Registry>;
  CHECK(code_of([](const OptionValues&, const SchemeData&) -> Made { throw 42; }) ==
        static_cast<int>(cli::ExitCode::defect));
  CHECK(code_of([](const OptionValues&, const SchemeData&) -> Made {
          throw std::runtime_error("no");
        }) == static_cast<int>(cli::ExitCode::defect));
  CHECK(code_of([](const OptionValues&, const SchemeData&) -> Made { throw std::bad_alloc(); }) ==
        static_cast<int>(cli::ExitCode::input_output));
  CHECK(code_of([](const OptionValues&, const SchemeData&) -> Made {
          return fail(ErrorCode::usage, "no");
        }) == static_cast<int>(cli::ExitCode::usage));
}

}  // namespace quadrant::test
