// libzip's handles, owned; and what it says, as errors.
#pragma once

#include <zip.h>

#include <memory>
#include <mutex>
#include <string>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::npy {

struct CloseZip {
  void operator()(zip_t* archive) const noexcept { zip_discard(archive); }
  void operator()(zip_file_t* member) const noexcept { zip_fclose(member); }
  void operator()(zip_source_t* source) const noexcept { zip_source_free(source); }
};

/// Changes to an archive are lost with it, unless `zip_close` has had it.
using ZipArchive = std::unique_ptr<zip_t, CloseZip>;
using ZipMember = std::unique_ptr<zip_file_t, CloseZip>;
using ZipSource = std::unique_ptr<zip_source_t, CloseZip>;

/// To be held while an archive is opened, for reading or writing. The first call that opens one
/// finds out what libzip needs of a source, in two variables that all threads see one by one: up to
/// version 1.7.3 at least, a second thread may take an archive for one that cannot be written.
[[nodiscard]] std::unique_lock<std::mutex> lock_opening();

/// What libzip found wrong with an archive that it reads.
[[nodiscard]] tl::unexpected<Error> unreadable(zip_error_t* error, Place place);

/// What kept it from making one.
[[nodiscard]] tl::unexpected<Error> unwritable(zip_error_t* error, Place place);

}  // namespace quadrant::inline v0::npy
