// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "api/option_room.hpp"
#include "base/result.hpp"
#include "base/socket_options.hpp"

#include <cstddef>

namespace zlink::api {

// The options of PLAIN and CURVE. They are not plain fields: setting a name, a password or a key
// also selects the mechanism and the role.

/// Whether `option` is one of them.
bool is_security_option(int option) noexcept;

/// @param option  One of them.
/// @error invalid_argument  The value has the wrong size or is out of range.
/// @throws std::bad_alloc  Nothing changed.
result<void> set_security_option(socket_options& target, int option, const void* value,
                                 std::size_t size);

/// @param option  One of them.
/// @param to      For a key its size selects the form: 32 bytes, or 41 for Z85 and a null.
/// @error invalid_argument  The room has the wrong size.
result<void> read_security_option(const socket_options& source, int option, const room& to);

} // namespace zlink::api
