// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "socket/socket.hpp"

#include <cstddef>

namespace zlink::api {

/// Sets the option numbered `option` to the `size` bytes at `value` (zmq_setsockopt(3)).
/// @error invalid_argument  There is no such option, or not for this type of socket, it is
///                          read-only, or the value has the wrong size or is out of range;
///                          error_text() gives the reason.
/// @error terminated        The context was shut down.
result<void> set_option(socket::socket& target, int option, const void* value, std::size_t size);

/// Writes the value of the option numbered `option` to `value` (zmq_getsockopt(3)).
/// @param size  The room at `value`, for a number exactly its size; set to the bytes written. The
///              rest of the room is filled with zeros.
/// @error invalid_argument  There is no such option, it cannot be read, or the room has the wrong
///                          size; error_text() gives the reason.
/// @error terminated        The context was shut down.
result<void> read_option(socket::socket& source, int option, void* value, std::size_t* size);

} // namespace zlink::api
