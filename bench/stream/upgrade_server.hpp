// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

#include <openssl/evp.h>

namespace stream_bench {

/// The server's side of the WebSocket upgrade. The client's request is assumed to be correct.
class upgrade_server {
public:
    /// Takes bytes up to the end of the request.
    /// @return The number of bytes taken.
    std::size_t take(const unsigned char* data, std::size_t count) {
        std::size_t taken = 0;
        while (taken < count && !is_whole()) {
            request_ += static_cast<char>(data[taken++]);
        }
        return taken;
    }

    [[nodiscard]] bool is_whole() const noexcept { return request_.ends_with("\r\n\r\n"); }

    [[nodiscard]] std::string answer() const {
        return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Accept: " +
               accept_value() + "\r\n\r\n";
    }

private:
    // RFC 6455, 4.2.2.
    [[nodiscard]] std::string accept_value() const {
        const std::string text = key() + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
        unsigned char digest[EVP_MAX_MD_SIZE];
        unsigned digest_bytes = 0;
        EVP_Digest(text.data(), text.size(), digest, &digest_bytes, EVP_sha1(), nullptr);
        unsigned char encoded[2 * EVP_MAX_MD_SIZE];
        const int encoded_bytes = EVP_EncodeBlock(encoded, digest, static_cast<int>(digest_bytes));
        return {reinterpret_cast<const char*>(encoded), static_cast<std::size_t>(encoded_bytes)};
    }

    [[nodiscard]] std::string key() const {
        constexpr std::string_view name = "\r\nSec-WebSocket-Key:";
        const auto is_same = [](char left, char right) {
            return std::tolower(left) == std::tolower(right);
        };
        auto begin =
            std::search(request_.begin(), request_.end(), name.begin(), name.end(), is_same);
        begin += std::min<std::ptrdiff_t>(request_.end() - begin, name.size());
        begin = std::find_if(begin, request_.end(), [](char byte) { return byte != ' '; });
        return {begin, std::find(begin, request_.end(), '\r')};
    }

    std::string request_;
};

} // namespace stream_bench
