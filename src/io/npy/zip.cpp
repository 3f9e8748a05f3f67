#include "io/npy/zip.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

namespace quadrant::inline v0::npy {

std::unique_lock<std::mutex> lock_opening() {
  static std::mutex opening;
  return std::unique_lock(opening);
}

namespace {

// Whether it is the system's, not the archive's. A place in front of the file, which EINVAL is, is
// one that the archive names.
bool is_of_system(zip_error_t* error) {
  return zip_error_code_zip(error) == ZIP_ER_MEMORY ||
         (zip_error_system_type(error) == ZIP_ET_SYS && zip_error_code_system(error) != EINVAL);
}

}  // namespace

tl::unexpected<Error> unreadable(zip_error_t* error, Place place) {
  if (is_of_system(error)) {
    return fail(ErrorCode::io, fmt::format("cannot read the file: {}", zip_error_strerror(error)),
                std::move(place));
  }
  switch (zip_error_code_zip(error)) {
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
