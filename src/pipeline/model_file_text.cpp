#include "pipeline/model_file_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "quadrant/ir/text.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/support/files.hpp"
#include "report/terminal_text.hpp"
#include "support/input_file.hpp"

namespace quadrant::inline v0 {
namespace {

// The first line of a file, which is a comment to the language: files without it are of version 1.
constexpr std::string_view mark = "# quadrant text ";
constexpr int text_version = 1;

Expected<void> check_version(std::string_view text) {
  if (!text.starts_with(mark)) return {};
  const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
  const std::string_view said = text.substr(mark.size(), end - mark.size());
  int found = 0;
  const auto [rest, error] = std::from_chars(said.data(), said.data() + said.size(), found);
  const bool is_number = error == std::errc() && rest == said.data() + said.size();
  if (is_number && 0 < found && found <= text_version) return {};
  return fail(ErrorCode::invalid_model,
              fmt::format("this program reads text of version {}, the file is of version {}",
                          text_version, printable(said)));
}

Expected<Graph> parse(std::string_view text) {
  QUADRANT_CHECK(check_version(text));
  return parse_model(text);
}

tl::unexpected<Error> too_large_for_text(const std::string& path) {
  return fail(ErrorCode::impossible,
              fmt::format("the model is too large for text, of which at most {} are read: write "
                          ".onnx",
                          format_bytes(largest_text)),
              {.file = path});
}

}  // namespace

// Text has all contents, whichever file they are in so far.
Expected<WrittenModel> write_text_model(const Graph& graph, const std::string& path,
                                        const RunContext& context) {
  std::uint64_t contents = 0;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    const Constant* constant = node.is_valid() ? graph.constant(node) : nullptr;
    if (constant != nullptr && *constant) contents += constant->byte_size();
  }
  if (contents > largest_text) return too_large_for_text(path);
  QUADRANT_TRY(const std::string model, print_model(graph));
  const std::string text = fmt::format("{}{}\n{}", mark, text_version, model);
  if (text.size() > largest_text) return too_large_for_text(path);
  FilesOrOwn files(context.files);
  QUADRANT_TRY(NewFile file, files->create(path));
  QUADRANT_CHECK(file.write(std::as_bytes(std::span(text))));
  QUADRANT_CHECK(files->add(std::move(file)));
  QUADRANT_CHECK(files.finish());
  return WrittenModel{text.size(), {}, {}};
}

Expected<Graph> read_text_model(const std::string& path, const RunContext& context) {
  if (context.files != nullptr) QUADRANT_CHECK(context.files->read(path));
  QUADRANT_TRY(const std::string text, read_text(path));
  return in_file(parse(text), path);
}

}  // namespace quadrant::inline v0
