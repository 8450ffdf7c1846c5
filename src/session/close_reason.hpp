// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "wire/websocket/close.hpp"

#include <cerrno>

namespace zlink::session {

/// What a close frame says of why a connection ends.
/// @param otherwise  Where `reason` has no code of its own.
constexpr wire::websocket::close_code
close_code_of(errc reason, wire::websocket::close_code otherwise) noexcept {
    using wire::websocket::close_code;
    switch (static_cast<int>(reason)) {
    case 0:
        return close_code::normal;
    case EPROTO:
        return close_code::protocol_error;
    case EMSGSIZE:
    case ENOBUFS: // Of compressed messages.
        return close_code::too_large;
    case EILSEQ:
    case EBADMSG:
        return close_code::invalid_payload;
    case ENOMSG:
        return close_code::unsupported_data;
    case ENOMEM:
        return close_code::internal_error;
    default:
        return otherwise;
    }
}

} // namespace zlink::session
