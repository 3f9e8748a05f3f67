#include "recipe/json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "support/near_names.hpp"

namespace quadrant::inline v0 {
namespace {

using nlohmann::json;

// `$.key`, or `$["strange key"]`, on one line whatever the key holds.
std::string member_path(const std::string& path, std::string_view key) {
  const bool plain = !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (plain) return fmt::format("{}.{}", path, key);
  return fmt::format("{}[{}]", path,
                     json(std::string(key)).dump(-1, ' ', true, json::error_handler_t::replace));
}

// What values take, of the usual implementations of the standard library: an allocation costs 16
// bytes besides what it is for. A list has twice the places that it needs at most, and lies in half
// as many more while it grows. When a list or an object is let go, its values move to such a list.
constexpr std::size_t allocation_bytes = 16;
constexpr std::size_t place_bytes = 3 * sizeof(json);
constexpr std::size_t member_bytes =
    sizeof(json::object_t::value_type) + 4 * sizeof(void*) + allocation_bytes + place_bytes;
constexpr std::size_t array_bytes = sizeof(json::array_t) + allocation_bytes;
constexpr std::size_t object_bytes = sizeof(json::object_t) + allocation_bytes;
constexpr std::size_t string_bytes = sizeof(json::string_t) + allocation_bytes;

// Short ones lie in the string itself.
std::size_t text_bytes(const std::string& text) {
  return text.capacity() <= std::string().capacity() ? 0 : text.capacity() + allocation_bytes;
}

constexpr const char* count_expected = "an integer that is not negative";

// What a message says was found: its type, or which number where another would do.
std::string found_instead(const json& element, std::string_view expected) {
  return element.is_number() && expected == count_expected ? element.dump() : element.type_name();
}

bool read_count(const json& element, std::uint64_t& value) {
  if (!element.is_number_unsigned()) return false;
  value = element.get_ref<const std::uint64_t&>();
  return true;
}

bool read_real(const json& element, double& value) {
  if (!element.is_number()) return false;
  value = element.get<double>();
  return true;
}

bool read_string(const json& element, std::string& value) {
  if (!element.is_string()) return false;
  value = element.get_ref<const std::string&>();
  return true;
}

// Builds the document from parse events. The library's own builder throws where this one stops, has
// no limit on depth, and keeps the last of repeated keys without a word.
class Builder final : public nlohmann::json_sax<json> {
 public:
  explicit Builder(std::size_t memory_limit) : memory_limit_(memory_limit) {}

  [[nodiscard]] Expected<json> finish(bool complete) && {
    if (!error_.message.empty()) return fail(std::move(error_));
    if (!complete) return fail(ErrorCode::invalid_model, "not JSON");
    return std::move(root_);
  }

  bool null() override { return add(json(nullptr)); }
  bool boolean(bool value) override { return add(json(value)); }
  bool number_integer(number_integer_t value) override { return add(json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(json(value)); }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return add(json(value));
  }
  bool string(string_t& value) override {
    return take(string_bytes + text_bytes(value)) && add(json(std::move(value)));
  }
  bool binary(binary_t& /*value*/) override { return false; }  // not in JSON text

  bool start_object(std::size_t /*size*/) override {
    return take(object_bytes) && open(json::object());
  }
  bool start_array(std::size_t /*size*/) override {
    return take(array_bytes) && open(json::array());
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (open_.back()->contains(name)) {
      return stop(fmt::format("{}: given twice", member_path(path(), name)));
    }
    key_ = std::move(name);
    return take(member_bytes + text_bytes(key_));
  }

  bool parse_error(std::size_t position, const std::string& /*last_token*/,
                   const json::exception& exception) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ...": what
    // follows the exception's name, and the position where there is one, is for people.
    std::string message = exception.what();
    const bool has_position = message.find("] parse error at ") != std::string::npos;
    const std::size_t start = message.find(has_position ? ": " : "] ");
    if (start != std::string::npos) message.erase(0, start + 2);
    error_.place.offset = position;
    return stop(fmt::format("not JSON: {}", message));
  }

 private:
  bool stop(std::string message) {
    error_.code = ErrorCode::invalid_model;
    error_.message = std::move(message);
    return false;
  }

  bool take(std::size_t bytes) {
    if (bytes > memory_limit_ - taken_) {
      return stop(fmt::format("{}: up to here, the document takes more than {} bytes of memory",
                              path(), memory_limit_));
    }
    taken_ += bytes;
    return true;
  }

  // Path of the innermost open container. Containers are never empty where this is asked, except
  // the innermost.
  [[nodiscard]] std::string path() const {
    std::string text = "$";
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      const json& container = *open_[i];
      text = container.is_array() ? fmt::format("{}[{}]", text, container.size() - 1)
                                  : member_path(text, keys_[i]);
    }
    return text;
  }

  json* place(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[key_] = std::move(value));
  }

  [[nodiscard]] bool take_place() {
    return open_.empty() || !open_.back()->is_array() || take(place_bytes);
  }

  bool add(json value) {
    if (!take_place()) return false;
    place(std::move(value));
    return true;
  }

  bool open(json container) {
    if (open_.size() == json_depth) {
      return stop(fmt::format("{}: nested deeper than {} levels", path(), json_depth));
    }
    if (!take_place()) return false;
    if (!open_.empty()) keys_.push_back(key_);
    open_.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    if (!keys_.empty()) keys_.pop_back();
    return true;
  }

  std::size_t memory_limit_;
  std::size_t taken_ = 0;
  json root_;
  std::vector<json*> open_;        // an open container's parent is not touched before it is closed
  std::vector<std::string> keys_;  // the key in open_[i] under which open_[i + 1] lies
  std::string key_;
  Error error_;
};

}  // namespace

Expected<json> parse_json(std::string_view text, std::size_t memory_limit) {
  Builder builder(memory_limit);
  const bool complete = json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder).finish(complete);
}

ObjectReader::ObjectReader(const json& object, std::string path)
    : object_(&object), path_(std::move(path)) {
  if (!object.is_object()) {
    mistake(path_, fmt::format("expected an object, found {}", object.type_name()));
  }
}

void ObjectReader::note(Expected<void> status) {
  if (status_) status_ = std::move(status);
}

void ObjectReader::mistake(const std::string& path, const std::string& message) {
  note(fail(ErrorCode::invalid_model, fmt::format("{}: {}", path, message)));
}

void ObjectReader::refuse(const char* key, const std::string& message) {
  mistake(member_path(path_, key), message);
}

void ObjectReader::check_format(std::string_view name, std::int64_t version) {
  const std::string actual_name = string("format");
  const std::int64_t actual_version = integer("version");
  if (actual_name != name) {
    refuse("format", fmt::format("expected \"{}\", found {}", name, json(actual_name).dump()));
  } else if (actual_version != version) {
    refuse("version", fmt::format("this program reads version {}, the file is of version {}",
                                  version, actual_version));
  }
}

const json* ObjectReader::find(const char* key) {
  asked_.emplace(key);
  if (!status_) return nullptr;
  const auto found = object_->find(key);
  if (found != object_->end()) return &*found;
  mistake(path_, fmt::format("'{}' is missing", key));
  missing_ = key;
  return nullptr;
}

// What may have been meant by it: a key that is near and that nobody asked for.
std::string ObjectReader::instead_of(std::string_view key) const {
  std::vector<std::string_view> others;
  for (const auto& [name, value] : object_->items()) {
    if (!asked_.contains(name)) others.emplace_back(name);
  }
  const std::vector<std::string> near = near_names(key, others);
  if (near.empty()) return {};
  return fmt::format("; there is {}",
                     json(near.front()).dump(-1, ' ', true, json::error_handler_t::replace));
}

const json* ObjectReader::member(const char* key, Type type, const char* expected) {
  const json* found = find(key);
  if (found == nullptr || found->type() == type) return found;
  refuse(key, fmt::format("expected {}, found {}", expected, found->type_name()));
  return nullptr;
}

template <class T>
std::vector<T> ObjectReader::elements(const json& array, const std::string& path,
                                      const char* expected, bool (*read)(const json&, T&)) {
  std::vector<T> result;
  result.reserve(array.size());
  for (const json& element : array) {
    T value{};
    if (!read(element, value)) {
      mistake(fmt::format("{}[{}]", path, result.size()),
              fmt::format("expected {}, found {}", expected, found_instead(element, expected)));
      break;
    }
    result.push_back(std::move(value));
  }
  return result;
}

std::string ObjectReader::string(const char* key) {
  const json* found = member(key, Type::string, "a string");
  return found ? found->get_ref<const std::string&>() : std::string();
}

std::int64_t ObjectReader::integer(const char* key) {
  const json* found = find(key);
  if (found == nullptr) return 0;
  if (!found->is_number()) {
    refuse(key, fmt::format("expected an integer, found {}", found->type_name()));
    return 0;
  }
  // Three kinds of number: text such as 1e400 or 99999999999999999999 arrives as a float.
  const bool fits = found->is_number_unsigned()
                        ? std::in_range<std::int64_t>(found->get_ref<const std::uint64_t&>())
                        : found->is_number_integer();
  if (fits) return found->get<std::int64_t>();
  refuse(key, "expected an integer of 64 bits");
  return 0;
}

std::int64_t ObjectReader::whole_number(const char* key) {
  const json* found = find(key);
  if (found == nullptr || !found->is_number_float()) return integer(key);
  const double real = found->get<double>();
  constexpr double exact = 0x1p53;
  if (std::fabs(real) > exact) return integer(key);
  if (real != std::trunc(real)) refuse(key, fmt::format("expected an integer, found {}", real));
  return static_cast<std::int64_t>(real);
}

std::uint64_t ObjectReader::count(const char* key) {
  const json* found = find(key);
  std::uint64_t value = 0;
  if (found == nullptr || read_count(*found, value)) return value;
  refuse(key, fmt::format("expected {}, found {}", count_expected,
                          found_instead(*found, count_expected)));
  return 0;
}

bool ObjectReader::boolean(const char* key) {
  const json* found = member(key, Type::boolean, "true or false");
  return found != nullptr && found->get<bool>();
}

double ObjectReader::real(const char* key) {
  const json* found = find(key);
  double value = 0;
  if (found == nullptr || read_real(*found, value)) return value;
  refuse(key, fmt::format("expected a number, found {}", found->type_name()));
  return 0;
}

std::vector<std::string> ObjectReader::strings(const char* key) {
  const json* found = member(key, Type::array, "an array");
  if (found == nullptr) return {};
  return elements(*found, member_path(path_, key), "a string", read_string);
}

std::vector<std::uint64_t> ObjectReader::counts(const char* key) {
  const json* found = member(key, Type::array, "an array");
  if (found == nullptr) return {};
  return elements(*found, member_path(path_, key), count_expected, read_count);
}

std::vector<double> ObjectReader::reals(const char* key) {
  const json* found = member(key, Type::array, "an array");
  if (found == nullptr) return {};
  return elements(*found, member_path(path_, key), "a number", read_real);
}

std::vector<std::vector<std::uint64_t>> ObjectReader::lists_of_counts(const char* key) {
  std::vector<std::vector<std::uint64_t>> result;
  const json* found = member(key, Type::array, "an array");
  if (found == nullptr) return result;
  for (const json& list : *found) {
    const std::string path = fmt::format("{}[{}]", member_path(path_, key), result.size());
    if (!list.is_array()) {
      mistake(path, fmt::format("expected an array, found {}", list.type_name()));
      break;
    }
    result.push_back(elements(list, path, count_expected, read_count));
  }
  return result;
}

std::vector<ObjectReader> ObjectReader::objects(const char* key) {
  std::vector<ObjectReader> result;
  const json* found = member(key, Type::array, "an array");
  if (found == nullptr) return result;
  result.reserve(found->size());
  for (const json& element : *found) {
    result.emplace_back(element, fmt::format("{}[{}]", member_path(path_, key), result.size()));
  }
  return result;
}

const json* ObjectReader::optional_member(const char* key) {
  asked_.emplace(key);
  if (!status_) return nullptr;
  const auto found = object_->find(key);
  return found == object_->end() ? nullptr : &*found;
}

std::optional<ObjectReader> ObjectReader::optional_object(const char* key) {
  const json* found = optional_member(key);
  if (found == nullptr) return std::nullopt;
  return ObjectReader(*found, member_path(path_, key));
}

std::string ObjectReader::path_of(std::string_view key) const { return member_path(path_, key); }

std::vector<std::string> ObjectReader::take_unknown() {
  std::vector<std::string> unknown;
  if (!status_) return unknown;
  for (const auto& [key, value] : object_->items()) {
    if (asked_.insert(key).second) unknown.push_back(key);
  }
  return unknown;
}

Expected<void> ObjectReader::finish() {
  // Only now it is known which keys nobody asks for.
  if (missing_) {
    status_.error().message += instead_of(*missing_);
    missing_.reset();
  }
  if (status_) {
    for (const auto& [key, value] : object_->items()) {
      if (asked_.contains(key)) continue;
      mistake(member_path(path_, key),
              "unknown key" +
                  did_you_mean(key, std::vector<std::string_view>(asked_.begin(), asked_.end())));
      break;
    }
  }
  return status_;
}

}  // namespace quadrant::inline v0
