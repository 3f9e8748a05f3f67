// Names of CLI11 for headers: the library itself is large.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
class Option;
class Validator;
}  // namespace CLI
