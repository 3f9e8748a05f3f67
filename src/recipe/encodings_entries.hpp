// Entries of encodings files for one tensor, in the form of each version.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "quadrant/recipe/encodings.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "recipe/json_reader.hpp"

namespace quadrant::inline v0::encodings_json {

/// Tells the source's sink, if there is one.
void say(const EncodingsSource& source, Severity severity, std::string message,
         std::string tensor = {});

/// Entries as they are read, before `check`. `name` is the tensor's, for warnings. Errors are
/// `invalid_model`, with the JSON path.
///
/// In version 0.6.1, a list of encodings that lies at `path`: one, or those of channels.
[[nodiscard]] Expected<TensorEncoding> entry_of_0_6_1(const nlohmann::json& json,
                                                      const std::string& path,
                                                      const std::string& name,
                                                      const EncodingsSource& source);
[[nodiscard]] Expected<TensorEncoding> entry_of_1_0_0(ObjectReader& reader, const std::string& name,
                                                      const EncodingsSource& source);
[[nodiscard]] Expected<TensorEncoding> entry_of_2_0_0(ObjectReader& reader);

}  // namespace quadrant::inline v0::encodings_json
