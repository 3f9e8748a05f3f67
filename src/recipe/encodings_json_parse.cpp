// Reading: the file around the entries of each version.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/recipe/encodings.hpp"
#include "recipe/encodings_entries.hpp"
#include "recipe/encodings_fields.hpp"
#include "recipe/json_reader.hpp"
#include "support/input_file.hpp"

namespace quadrant::inline v0 {
namespace encodings_json {

void say(const EncodingsSource& source, Severity severity, std::string message,
         std::string tensor) {
  if (source.sink == nullptr) return;
  Diagnostic diagnostic{severity, std::move(message), {}};
  diagnostic.place.file = source.file;
  diagnostic.place.tensor = std::move(tensor);
  source.sink->report(diagnostic);
}

namespace {

using Role = TensorEncoding::Role;

constexpr std::size_t most_tensors = std::size_t{1} << 20U;
constexpr std::size_t most_sections = 64;

class EncodingsParser {
 public:
  explicit EncodingsParser(const EncodingsSource& source) : source_(source) {}

  [[nodiscard]] Expected<EncodingsFile> parse(const nlohmann::json& document) {
    ObjectReader reader(document, "$");
    // Each that is not known is a warning.
    if (document.is_object() && document.size() > most_sections) {
      return fail_at("$", fmt::format("more than {} sections", most_sections));
    }
    QUADRANT_TRY(file_.version, version_of(document, reader));
    if (file_.version == EncodingsVersion::v2_0_0) {
      QUADRANT_CHECK(read_entries(reader, "encodings", Role::unknown));
    } else {
      QUADRANT_CHECK(read_section(reader, "activation_encodings", Role::activation));
      QUADRANT_CHECK(read_section(reader, "param_encodings", Role::parameter));
    }
    if (std::optional<ObjectReader> arguments = reader.optional_object("quantizer_args")) {
      QUADRANT_TRY(file_.quantizer_arguments, read_arguments(*arguments));
    }
    if (is_present(reader, "excluded_layers")) {
      file_.excluded_layers = reader.strings("excluded_layers");
    }
    for (const std::string& section : reader.take_unknown()) {
      say(source_, Severity::warning,
          fmt::format("{}: the section is not known, and was not read", reader.path_of(section)));
    }
    QUADRANT_CHECK(reader.finish());
    return std::move(file_);
  }

 private:
  [[nodiscard]] Expected<EncodingsVersion> version_of(const nlohmann::json& document,
                                                      ObjectReader& reader) const {
    const auto has_object = [&document](const char* key) {
      const auto found = document.find(key);
      return found != document.end() && found->is_object();
    };
    if (document.is_object() && !document.contains("version") &&
        (has_object("activation_encodings") || has_object("param_encodings"))) {
      say(source_, Severity::note, "the file does not say its version: it is read as 0.6.1");
      return EncodingsVersion::v0_6_1;
    }
    const std::string text = reader.string("version");
    if (!reader.status()) return fail(reader.finish().error());
    for (const EncodingsVersion version :
         {EncodingsVersion::v0_6_1, EncodingsVersion::v1_0_0, EncodingsVersion::v2_0_0}) {
      if (text == to_string(version)) return version;
    }
    return fail_at("$.version", fmt::format(R"(expected "0.6.1", "1.0.0" or "2.0.0", found {})",
                                            nlohmann::json(text).dump()));
  }

  // A missing one has no tensors, if the other is there.
  Expected<void> read_section(ObjectReader& reader, const char* key, Role role) {
    const nlohmann::json* section = reader.optional_member(key);
    if (section == nullptr) {
      if (role == Role::parameter && file_.tensors.empty()) {
        if (reader.optional_member("activation_encodings") == nullptr) {
          return fail_at("$", "neither 'activation_encodings' nor 'param_encodings' is there");
        }
      }
      return {};
    }
    if (file_.version == EncodingsVersion::v1_0_0) return read_entries(reader, key, role);
    if (!section->is_object()) {
      return fail_at(reader.path_of(key),
                     fmt::format("expected an object, found {}", section->type_name()));
    }
    const ObjectReader names(*section, reader.path_of(key));
    for (const auto& [name, list] : section->items()) {
      QUADRANT_CHECK(add(name, role, names.path_of(name),
                         entry_of_0_6_1(list, names.path_of(name), name, source_)));
    }
    return {};
  }

  Expected<void> read_entries(ObjectReader& reader, const char* key, Role role) {
    // Their readers take more memory than they.
    const nlohmann::json* const list = reader.optional_member(key);
    if (list != nullptr && list->size() > most_tensors) {
      return fail_at(reader.path_of(key), fmt::format("more than {} tensors", most_tensors));
    }
    std::vector<ObjectReader> entries = reader.objects(key);
    if (!reader.status()) return fail(reader.finish().error());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string path = fmt::format("{}[{}]", reader.path_of(key), i);
      const std::string name = entries[i].string("name");
      if (!entries[i].status()) return entries[i].finish();
      QUADRANT_CHECK(add(name, role, path,
                         file_.version == EncodingsVersion::v1_0_0
                             ? entry_of_1_0_0(entries[i], name, source_)
                             : entry_of_2_0_0(entries[i])));
    }
    return {};
  }

  Expected<void> add(const std::string& name, Role role, const std::string& path,
                     Expected<TensorEncoding> encoding) {
    Expected<void> status;
    if (!encoding) {
      status = fail(std::move(encoding).error());
    } else if (status = check(*encoding); !status) {
      status = fail_at(path, status.error().message);
    } else if (name.empty()) {
      status = fail_at(path, "the tensor has no name");
    } else if (file_.tensors.size() == most_tensors) {
      status = fail_at(path, fmt::format("more than {} tensors", most_tensors));
    } else {
      encoding->role = role;
      if (!file_.tensors.emplace(name, *std::move(encoding)).second) {
        status = fail_at(path, "this tensor is there already");
      }
    }
    if (!status) status.error().place.tensor = name;
    return status;
  }

  [[nodiscard]] static Expected<QuantizerArguments> read_arguments(ObjectReader& reader) {
    QuantizerArguments arguments;
    const auto bits = [&reader](const char* key, std::optional<std::int64_t>& value) {
      if (is_present(reader, key)) value = reader.integer(key);
    };
    const auto text = [&reader](const char* key, std::optional<std::string>& value) {
      if (is_present(reader, key)) value = reader.string(key);
    };
    const auto flag = [&reader](const char* key, std::optional<bool>& value) {
      if (is_present(reader, key)) value = read_flag(reader, key);
    };
    bits("activation_bitwidth", arguments.activation_bits);
    bits("param_bitwidth", arguments.parameter_bits);
    text("dtype", arguments.dtype);
    text("quant_scheme", arguments.scheme);
    flag("is_symmetric", arguments.symmetric);
    flag("per_channel_quantization", arguments.per_channel);
    QUADRANT_CHECK(reader.finish());
    return arguments;
  }

  const EncodingsSource& source_;
  EncodingsFile file_;
};

}  // namespace
}  // namespace encodings_json

namespace {

// Version 0.6.1 needs most: of each channel 150 to 310 bytes of text, by the indentation, and 1200
// of a document. A language model of 7 billion parameters, each weight with a scale for each of its
// outputs, has 1.4 million of them: 420 MB of text, 1.7 GB of a document.
constexpr std::uint64_t largest_encodings = std::uint64_t{1} << 29U;
constexpr std::size_t encodings_memory = std::size_t{1} << 31U;

}  // namespace

Expected<EncodingsFile> parse_encodings(std::string_view text, const EncodingsSource& source) {
  const auto parse = [&]() -> Expected<EncodingsFile> {
    QUADRANT_TRY(const nlohmann::json document, parse_json(text, encodings_memory));
    return encodings_json::EncodingsParser(source).parse(document);
  };
  Expected<EncodingsFile> file = parse();
  if (!file) file.error().place.file = source.file;
  return file;
}

Expected<EncodingsFile> read_encodings(const std::string& path, Sink* sink,
                                       FileTransaction* files) {
  QUADRANT_TRY(const InputFile input, InputFile::open(path, files));
  QUADRANT_TRY(const std::string text, input.text(largest_encodings, "encodings"));
  return parse_encodings(text, {.file = path, .sink = sink});
}

}  // namespace quadrant::inline v0
