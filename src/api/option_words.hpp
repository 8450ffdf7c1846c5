// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace zlink::api {

// Why an option cannot be set or read, said to set_error_text() with the option's name before it.
// All of these return errc::invalid_argument.

errc refuse(int option, std::string_view why);

/// @param wanted, given  Bytes.
errc refuse_size(int option, std::size_t wanted, std::size_t given);

/// The number `given` is not in `least` to `most`.
errc refuse_range(int option, std::int64_t given, std::int64_t least, std::int64_t most);

/// A text of `given` bytes is not of `least` to `most`.
errc refuse_length(int option, std::size_t given, std::int64_t least, std::int64_t most);

/// A null pointer stands where there should be something.
errc refuse_null(int option);

/// It cannot be set, or read, if there is such an option at all.
errc refuse_setting(int option);
errc refuse_reading(int option);

/// "ZLINK_SNDHWM", or the number of what is no option.
std::string option_name(int option);

/// Says that setting or reading an option failed with `error`, unless that is invalid_argument or
/// comes of files, which those who found it have explained.
void tell_option_failure(int option, errc error);

/// Says which endpoint it was that failed with `error`, before what was said of it, if anything
/// was; what was said of an option stands as it is.
void tell_failure(std::string_view endpoint, errc error);

} // namespace zlink::api
