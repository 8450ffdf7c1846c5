// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "wire/websocket/close.hpp"

#include <cerrno>
#include <cstring>
#include <string_view>

namespace zlink::session {

/// The code that a close frame gives for `reason`.
/// @param otherwise  The result if `reason` has no code of its own.
constexpr wire::websocket::close_code
close_code_of(errc reason, wire::websocket::close_code otherwise) noexcept {
    using wire::websocket::close_code;
    switch (static_cast<int>(reason)) {
    case 0:
        return close_code::normal;
    case EPROTO:
        return close_code::protocol_error;
    case EMSGSIZE:
    case ENOBUFS: // For compressed messages.
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

/// The text that describes the end of a connection to the peer and to the application.
inline std::string_view text_of(errc reason) noexcept {
    switch (static_cast<int>(reason)) {
    case 0:
        return "closed by the peer";
    case EPROTO:
        return "protocol violation";
    case EMSGSIZE:
        return "message too large";
    case EILSEQ:
        return "text is no UTF-8";
    case EBADMSG:
        return "compressed data is corrupt";
    case ENOBUFS:
        return "no memory for what compressed data comes to";
    case ENOMSG:
        return "text where only binary is taken";
    default:
        break;
    }
    const char* const known = ::strerrordesc_np(static_cast<int>(reason));
    return known != nullptr ? known : "unknown error";
}

} // namespace zlink::session
