// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace zlink::api {

// Reasons why an option cannot be set or read, stored by set_error_text() with the option's name as
// prefix. All of these return errc::invalid_argument.

errc refuse(int option, std::string_view why);

/// @param wanted, given  Bytes.
errc refuse_size(int option, std::size_t wanted, std::size_t given);

/// The number `given` is outside `least` to `most`.
errc refuse_range(int option, std::int64_t given, std::int64_t least, std::int64_t most);

/// The length of a text, `given` bytes, is outside `least` to `most`.
errc refuse_length(int option, std::size_t given, std::int64_t least, std::int64_t most);

/// A required pointer is null.
errc refuse_null(int option);

/// The option cannot be set, or read, or does not exist.
errc refuse_setting(int option);
errc refuse_reading(int option);

/// "ZLINK_SNDHWM", or the number of an unknown option.
std::string option_name(int option);

/// Reports that setting or reading an option failed with `error`, unless that is invalid_argument
/// or concerns files: then an explanation is already stored.
void tell_option_failure(int option, errc error);

/// Reports the endpoint or group that failed with `error`, as a prefix of an explanation that is
/// already stored. An explanation of an option is left unchanged.
void tell_failure(std::string_view name, errc error);

} // namespace zlink::api
