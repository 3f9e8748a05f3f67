// The graphs of a file, each with names of its own: the model's, and those of bodies.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "io/onnx/names.hpp"
#include "io/onnx/source.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0::onnx {

/// Where the parts of the graph are, in the order in which each kind comes.
struct Outline {
  std::vector<Range> nodes;
  std::vector<Range> initializers;
  std::vector<Range> sparse_initializers;
  std::vector<Range> inputs;
  std::vector<Range> outputs;
  struct Entry {
    Range payload;
    Range whole;  // with its tag
  };
  std::vector<Entry> value_infos;
  std::optional<std::string_view> name;
  std::vector<Range> extra;
};

struct LocalFunction;
struct Scope;

/// A name, and where it is looked up: nowhere for an operand that a call leaves out.
struct Reference {
  std::string_view name;
  const Scope* scope = nullptr;
};

/// A graph whose names are its own: the model's, or that of a body, or of a function where it is
/// called.
struct Scope {
  const Scope* outer = nullptr;
  const LocalFunction* function = nullptr;  // whose operations see no names around
  std::string path;                         // of the region; empty for the model
  std::string prefix;                       // of names in the region
  NodeId owner;  // keeps what is said of the graph; not valid for the model
  std::string_view body;
  std::size_t first_yield = 0;
  Outline outline;
  std::unordered_map<std::string_view, Value> values;  // absent until they are made
  std::unordered_set<std::string_view> initializers;
  /// Those of a body that are called as a value that it sees around it, which ONNX forbids.
  std::vector<std::string_view> ambiguous;
  std::unordered_map<std::string_view, Reference> aliases;  // what calls take and give
  std::unordered_map<std::string_view, std::string> names;  // of what a function gives
  Attributes bound;                                         // a function's, of this call

  [[nodiscard]] bool defines(std::string_view name) const { return values.contains(name); }
  /// A key that the graph's own attributes have, for the graph of this scope.
  [[nodiscard]] std::string key(std::string_view key) const {
    return outer == nullptr ? std::string(key) : body_key(key, body);
  }
};

/// Adds the parts of a GraphProto: a file may hold one in several pieces.
void add_to(Outline& outline, Source& source, Range part);

/// All names that the outlined graph defines, before any are made up for results that have none.
/// Throws `Failure`: `invalid_model` for names that are missing, or defined twice.
void define_names(Scope& scope, Source& source);

/// What a sparse initializer is called.
[[nodiscard]] std::string_view sparse_name(Source& source, Range range);

}  // namespace quadrant::inline v0::onnx
