// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <array>
#include <openssl/evp.h>
#include <string>
#include <string_view>

namespace zlink::testing {

/// A WebSocket client's request, with the key of the example in RFC 6455, 1.3.
/// @param fields  Other fields of the header, each with its end of line.
inline std::string upgrade_request(std::string_view target = "/", std::string_view fields = "") {
    return "GET " + std::string(target) +
           " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n" +
           std::string(fields) + "\r\n";
}

/// The server's answer to it.
inline std::string upgrade_response(std::string_view fields = "") {
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" +
           std::string(fields) + "\r\n";
}

/// A server's answer to the request `asked`.
/// @param fields  As upgrade_request().
inline std::string upgrade_response_to(const std::string& asked, std::string_view fields = "") {
    constexpr std::string_view name = "Sec-WebSocket-Key: ";
    const std::size_t begin = asked.find(name) + name.size();
    const std::string proven = asked.substr(begin, asked.find("\r\n", begin) - begin) +
                               "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned bytes = 0;
    EVP_Digest(proven.data(), proven.size(), digest.data(), &bytes, EVP_sha1(), nullptr);
    std::array<unsigned char, 64> encoded{};
    EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(bytes));
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Accept: " +
           std::string(reinterpret_cast<const char*>(encoded.data())) + "\r\n" +
           std::string(fields) + "\r\n";
}

} // namespace zlink::testing
