// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <string>
#include <string_view>

namespace zlink::testing {

/// What a WebSocket client begins with, with the key of the example in RFC 6455, 1.3.
/// @param fields  Other fields of the header, each with its end of line.
inline std::string upgrade_request(std::string_view target = "/", std::string_view fields = "") {
    return "GET " + std::string(target) +
           " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n" +
           std::string(fields) + "\r\n";
}

/// What the server answers to it.
inline std::string upgrade_response(std::string_view fields = "") {
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" +
           std::string(fields) + "\r\n";
}

} // namespace zlink::testing
