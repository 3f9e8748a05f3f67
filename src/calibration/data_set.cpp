// Which files are the samples; what is in them is read in data_set_read.cpp.
#include "quadrant/calibration/data_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "calibration/data_set_folder.hpp"
#include "calibration/data_set_inputs.hpp"
#include "calibration/data_set_list.hpp"
#include "calibration/data_set_read.hpp"
#include "quadrant/io/npy.hpp"

namespace quadrant::inline v0 {
namespace data_set {
namespace {

/// Where one sample is.
struct Source {
  enum class Form : std::uint8_t { archive, folder, file, listed };
  Form form = Form::file;
  std::string path;                ///< of all forms but `listed`
  std::vector<std::string> paths;  ///< of a line of a list, for each input
};

using Form = Source::Form;

class FileDataSet final : public DataSet {
 public:
  FileDataSet(std::vector<Input> inputs, const DataSetOptions& options)
      : inputs_(std::move(inputs)), options_(options) {
    options_.sink = nullptr;  // they need not live
    options_.files = nullptr;
  }

  Expected<void> find(const std::string& path);
  /// Tells of all files that samples are in.
  Expected<void> announce(FileTransaction& files) const;
  /// Says once which folders beside the samples and, of the first sample, which arrays are of no
  /// use.
  void report_ignored(Sink& sink) const;

  [[nodiscard]] std::size_t size() const override { return sources_.size(); }

  [[nodiscard]] std::string name(std::size_t i) const override {
    const Source& source = sources_[i];
    return source.form == Form::listed ? source.paths.front() : source.path;
  }

  [[nodiscard]] Expected<Sample> sample(std::size_t i) const override {
    const Source& source = sources_[i];
    switch (source.form) {
      case Form::archive:
        return read_archive(source.path, inputs_, options_);
      case Form::folder:
        return read_folder(source.path);
      case Form::file:
        return read_files({&source.path, 1}, inputs_, options_);
      case Form::listed:
        break;
    }
    return read_files(listed_paths(source), inputs_, options_);
  }

 private:
  Expected<void> find_in_folder(const std::string& folder);
  Expected<void> add_files(const std::string& folder, std::span<const std::string> names);
  Expected<void> add_file(const std::string& path);
  Expected<void> add_folders(const std::string& folder, std::span<const std::string> names);
  Expected<void> add_list(const std::string& path);

  [[nodiscard]] Expected<std::vector<std::string>> paths_in(const std::string& folder) const {
    QUADRANT_TRY(const Entries entries, entries_of(folder));
    QUADRANT_TRY(InputFiles files, input_files(folder, entries, inputs_));
    for (std::string& name : files.used) name = path_in(folder, name);
    return std::move(files.used);
  }

  [[nodiscard]] std::vector<std::string> listed_paths(const Source& source) const {
    std::vector<std::string> paths = source.paths;
    for (std::string& path : paths) path = listed_path(list_, path);
    return paths;
  }

  [[nodiscard]] Expected<Sample> read_folder(const std::string& folder) const {
    QUADRANT_TRY(const std::vector<std::string> paths, paths_in(folder));
    return read_files(paths, inputs_, options_);
  }

  std::vector<Input> inputs_;
  DataSetOptions options_;
  std::vector<Source> sources_;
  std::vector<std::string> passed_over_;  ///< folders
  std::string list_;                      ///< that named the samples of form `listed`
};

constexpr std::string_view list_name = "input_list.txt";
constexpr std::string_view known_forms =
    "samples are .npz, .npy, .pb, .raw or .bin files, folders with one of the last four for each "
    "input, or lines of input_list.txt";

/// `2 .bin files ('a.bin', ...) and 1 .npz file ('b.npz')`.
std::string listed_by_kind(std::span<const std::string> names) {
  std::map<std::string_view, std::vector<std::string_view>> kinds;
  for (const std::string_view name : names) kinds[name.substr(name.rfind('.'))].push_back(name);
  std::string text;
  std::size_t left = kinds.size();
  for (const auto& [ending, of_kind] : kinds) {
    if (!text.empty()) text += left == 1 ? " and " : ", ";
    text += fmt::format("{} ('{}'{})", counted(of_kind.size(), fmt::format("{} file", ending)),
                        of_kind.front(), of_kind.size() == 1 ? "" : ", ...");
    --left;
  }
  return text;
}

/// Whether a folder holds samples, or parts of one, in such a file.
bool is_data(const std::string& name) {
  const FileKind kind = kind_of(name);
  return kind == FileKind::npz || is_array(kind) || name == list_name;
}

Expected<void> FileDataSet::find(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return fail(ErrorCode::io, fmt::format("cannot read the samples: {}", error.message()),
                {.file = path});
  }
  QUADRANT_CHECK(std::filesystem::is_directory(status) ? find_in_folder(path) : add_file(path));
  if (sources_.empty()) {
    return fail(ErrorCode::usage, fmt::format("there are no samples here: {}", known_forms),
                {.file = path});
  }
  return {};
}

Expected<void> FileDataSet::find_in_folder(const std::string& folder) {
  QUADRANT_TRY(Entries entries, entries_of(folder));
  std::erase_if(entries.files, [](const std::string& name) { return !is_data(name); });
  if (entries.files.empty()) return add_folders(folder, entries.folders);
  // Those beside a list hold the files that it names.
  if (std::ranges::find(entries.files, list_name) == entries.files.end()) {
    for (const std::string& name : entries.folders) passed_over_.push_back(path_in(folder, name));
  }
  // A sample of its own: of several files, or as ONNX's tests have them.
  const bool is_onnx = std::ranges::find(entries.files, first_onnx_input) != entries.files.end();
  if (is_onnx || (inputs_.size() > 1 && has_input_file(entries, inputs_))) {
    sources_.push_back({Form::folder, folder, {}});
    return {};
  }
  return add_files(folder, entries.files);
}

Expected<void> FileDataSet::add_files(const std::string& folder,
                                      std::span<const std::string> names) {
  std::set<FileKind> kinds;
  for (const std::string& name : names) kinds.insert(kind_of(name));
  if (kinds.size() > 1) {
    const bool has_list = kinds.contains(FileKind::list);
    return fail(
        ErrorCode::usage,
        fmt::format(
            "files of several kinds, {}: name {}, or a folder of one kind", listed_by_kind(names),
            has_list ? fmt::format("the list itself, {}", path_in(folder, std::string(list_name)))
                     : "one of them"),
        {.file = folder});
  }
  for (const std::string& name : names) QUADRANT_CHECK(add_file(path_in(folder, name)));
  return {};
}

Expected<void> FileDataSet::add_file(const std::string& path) {
  const FileKind kind = kind_of(path);
  if (kind == FileKind::list) return add_list(path);
  if (kind == FileKind::npz) {
    sources_.push_back({Form::archive, path, {}});
    return {};
  }
  if (!is_array(kind)) {
    return fail(ErrorCode::usage, fmt::format("no kind of data that is known: {}", known_forms),
                {.file = path});
  }
  if (inputs_.size() != 1) {
    return fail(
        ErrorCode::usage,
        fmt::format("a file of one array, where the model has {} inputs, {}: use a .npz, or "
                    "a folder with a file for each",
                    inputs_.size(), listed(inputs_)),
        {.file = path});
  }
  sources_.push_back({Form::file, path, {}});
  return {};
}

/// Of a folder among samples, which is none.
tl::unexpected<Error> refuse_folder(const std::string& path, const Entries& entries) {
  std::vector<std::string> names = entries.files;
  names.insert(names.end(), entries.folders.begin(), entries.folders.end());
  const bool has_archives = std::ranges::any_of(
      names, [](const std::string& name) { return kind_of(name) == FileKind::npz; });
  return fail(
      ErrorCode::usage,
      fmt::format("no sample: a folder beside others has a .npy, .pb, .raw or .bin file for "
                  "each input; there is {}{}",
                  listed(names),
                  has_archives ? ", but .npz files are samples only in the folder that is "
                                 "named"
                               : ""),
      {.file = path});
}

Expected<void> FileDataSet::add_folders(const std::string& folder,
                                        std::span<const std::string> names) {
  for (const std::string& name : names) {
    std::string path = path_in(folder, name);
    QUADRANT_TRY(const Entries entries, entries_of(path));
    const bool has_arrays = std::ranges::any_of(
        entries.files, [](const std::string& file) { return is_array(kind_of(file)); });
    if (!has_arrays) return refuse_folder(path, entries);
    sources_.push_back({Form::folder, std::move(path), {}});
  }
  return {};
}

Expected<void> FileDataSet::add_list(const std::string& path) {
  list_ = path;
  QUADRANT_TRY(auto lines, read_list(path, inputs_));
  for (auto& paths : lines) sources_.push_back({Form::listed, {}, std::move(paths)});
  return {};
}

Expected<void> FileDataSet::announce(FileTransaction& files) const {
  if (!list_.empty()) QUADRANT_CHECK(files.read(list_));
  for (const Source& source : sources_) {
    std::vector<std::string> paths{source.path};
    if (source.form == Form::listed) paths = listed_paths(source);
    if (source.form == Form::folder) {
      paths =
          paths_in(source.path).value_or(std::vector<std::string>());  // an error when it is read
    }
    for (const std::string& path : paths) QUADRANT_CHECK(files.read(path));
  }
  return {};
}

void FileDataSet::report_ignored(Sink& sink) const {
  if (!passed_over_.empty()) {
    sink.report({Severity::warning,
                 fmt::format("folders beside files that are samples are passed over: {}",
                             listed(passed_over_)),
                 {}});
  }
  const Source& first = sources_.front();
  std::vector<std::string> ignored;
  if (first.form == Form::archive) {
    const auto archive = NpzReader::open(first.path);
    if (!archive) return;  // an error when it is read
    for (const std::string& name : archive->names()) {
      if (std::ranges::find(inputs_, name, &Input::name) == inputs_.end()) ignored.push_back(name);
    }
  } else if (first.form == Form::folder) {
    const auto entries = entries_of(first.path);
    const auto files = entries ? input_files(first.path, *entries, inputs_) : InputFiles{};
    if (files) ignored = files->ignored;
  }
  if (ignored.empty()) return;
  sink.report({Severity::note,
               fmt::format("ignored, here and in other samples, since the model has no such "
                           "inputs: {}",
                           listed(ignored)),
               {.file = first.path}});
}

}  // namespace
}  // namespace data_set

Expected<std::unique_ptr<DataSet>> open_data_set(const std::string& path, const Graph& graph,
                                                 const DataSetOptions& options) {
  auto data = std::make_unique<data_set::FileDataSet>(data_set::inputs_of(graph), options);
  QUADRANT_CHECK(data->find(path));
  if (options.files != nullptr) QUADRANT_CHECK(data->announce(*options.files));
  if (options.sink != nullptr) data->report_ignored(*options.sink);
  return data;
}

}  // namespace quadrant::inline v0
