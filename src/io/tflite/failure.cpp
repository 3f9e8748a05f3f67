#include "io/tflite/failure.hpp"

#include <fmt/format.h>

#include <new>
#include <stdexcept>

namespace quadrant::inline v0::tflite {

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 1000;
  std::string shown;
  for (const char character : text) {
    if (shown.size() >= longest) return shown + "...";
    if (character < 0x20 || character > 0x7e) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(character));
    } else {
      shown += character;
    }
  }
  return shown;
}

Error error_of(std::exception_ptr failure, const std::string& file) {
  Error error;
  try {
    std::rethrow_exception(std::move(failure));
  } catch (Failure& thrown) {
    error = std::move(thrown.error);
  } catch (const std::bad_alloc&) {
    error = {ErrorCode::io, "not enough memory", {}};
  } catch (const std::length_error&) {
    error = {ErrorCode::io, "not enough memory", {}};
  } catch (const std::exception& exception) {
    error = {ErrorCode::io, exception.what(), {}};
  }
  if (error.place.file.empty()) error.place.file = file;
  error.message = printable(error.message);
  error.place.node = printable(error.place.node);
  error.place.tensor = printable(error.place.tensor);
  return error;
}

}  // namespace quadrant::inline v0::tflite
