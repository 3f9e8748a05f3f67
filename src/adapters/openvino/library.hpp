// OpenVINO's C interface, from a shared library that is loaded when it is first asked for: programs
// start, and are installed, where it is not.
#pragma once

#include <openvino/c/openvino.h>

#include <memory>
#include <string_view>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::openvino {

/// Owns what OpenVINO made, and gives it back to the function that frees it.
template <class T>
using Handle = std::unique_ptr<T, void (*)(T*)>;

// The functions that are used, as releases from 2024.6 on have them.
#define QUADRANT_OPENVINO_FUNCTIONS(DO)           \
  DO(ov_get_last_err_msg)                         \
  DO(ov_get_error_info)                           \
  DO(ov_free)                                     \
  DO(ov_core_create)                              \
  DO(ov_core_free)                                \
  DO(ov_core_read_model)                          \
  DO(ov_core_compile_model)                       \
  DO(ov_model_free)                               \
  DO(ov_compiled_model_inputs_size)               \
  DO(ov_compiled_model_outputs_size)              \
  DO(ov_compiled_model_create_infer_request)      \
  DO(ov_compiled_model_free)                      \
  DO(ov_infer_request_set_input_tensor_by_index)  \
  DO(ov_infer_request_get_output_tensor_by_index) \
  DO(ov_infer_request_infer)                      \
  DO(ov_infer_request_free)                       \
  DO(ov_shape_free)                               \
  DO(ov_tensor_create)                            \
  DO(ov_tensor_data)                              \
  DO(ov_tensor_get_byte_size)                     \
  DO(ov_tensor_get_element_type)                  \
  DO(ov_tensor_get_shape)                         \
  DO(ov_tensor_free)

/// The loaded functions, under their own names. Stays loaded until the process ends: OpenVINO's
/// threads do.
class Library {
 public:
  /// The same for all callers. `impossible` when it cannot be loaded.
  [[nodiscard]] static Expected<const Library*> get();

  /// `impossible`, with OpenVINO's words, for a status that is no success. `what` was to be done:
  /// "read the model".
  [[nodiscard]] Expected<void> check(ov_status_e status, std::string_view what) const;

  /// Calls `function(arguments..., &made)` and owns what it made.
  template <class T, class... Parameters, class... Arguments>
  [[nodiscard]] Expected<Handle<T>> make(std::string_view what, void (*release)(T*),
                                         ov_status_e (*function)(Parameters...),
                                         Arguments... arguments) const {
    T* made = nullptr;
    QUADRANT_CHECK(check(function(arguments..., &made), what));
    return Handle<T>(made, release);
  }

// NOLINTNEXTLINE(bugprone-macro-parentheses): what it declares is called so
#define QUADRANT_OPENVINO_MEMBER(name) decltype(&::name) name = nullptr;
  QUADRANT_OPENVINO_FUNCTIONS(QUADRANT_OPENVINO_MEMBER)
#undef QUADRANT_OPENVINO_MEMBER

 private:
  [[nodiscard]] static Expected<Library> load();
};

}  // namespace quadrant::inline v0::openvino
