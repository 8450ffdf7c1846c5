// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "api/option_room.hpp"
#include "base/result.hpp"
#include "base/socket_options.hpp"

#include <cstddef>

namespace zlink::api {

// The options of PLAIN and CURVE. They are no plain fields: setting a name, a password or a key
// also chooses the mechanism, and the role in it.

/// Whether `option` is one of them.
bool is_security_option(int option) noexcept;

/// @param option  One of them.
/// @error invalid_argument  The value has the wrong size or is out of range.
/// @throws std::bad_alloc  Nothing changed.
result<void> set_security_option(socket_options& target, int option, const void* value,
                                 std::size_t size);

/// @param option  One of them.
/// @param to      Of a key its size says which form is wanted: 32 bytes, or 41 for Z85 and a zero.
/// @error invalid_argument  The room is not right.
result<void> read_security_option(const socket_options& source, int option, const room& to);

} // namespace zlink::api
