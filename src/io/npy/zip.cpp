#include "io/npy/zip.hpp"

#include <fmt/format.h>

#include <utility>

namespace quadrant::inline v0::npy {

std::unique_lock<std::mutex> lock_opening() {
  static std::mutex opening;
  return std::unique_lock(opening);
}

tl::unexpected<Error> unreadable(zip_error_t* error, Place place) {
  switch (zip_error_code_zip(error)) {
    case ZIP_ER_OPEN:
    case ZIP_ER_READ:
    case ZIP_ER_MEMORY:
      return fail(ErrorCode::io, fmt::format("cannot read the file: {}", zip_error_strerror(error)),
                  std::move(place));
    case ZIP_ER_NOZIP:
#ifdef ZIP_ER_TRUNCATED_ZIP  // newer versions tell the two apart
    case ZIP_ER_TRUNCATED_ZIP:
#endif
      return fail(ErrorCode::invalid_model, "not a zip archive, or one that is cut off",
                  std::move(place));
    case ZIP_ER_CRC:
      return fail(ErrorCode::invalid_model,
                  "its contents do not have the checksum that the zip "
                  "archive states: the file is damaged",
                  std::move(place));
    default:
      return fail(ErrorCode::invalid_model,
                  fmt::format("damaged zip archive: {}", zip_error_strerror(error)),
                  std::move(place));
  }
}

tl::unexpected<Error> unwritable(zip_error_t* error, Place place) {
  return fail(ErrorCode::io,
              fmt::format("cannot make the zip archive: {}", zip_error_strerror(error)),
              std::move(place));
}

}  // namespace quadrant::inline v0::npy
