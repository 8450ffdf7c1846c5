// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "byte_stream.hpp"
#include "framing.hpp"

#include <cstring>
#include <string>
#include <string_view>

namespace stream_bench {

/// The client's side of the WebSocket upgrade, with the key of RFC 6455's example (1.3), whose
/// correct answer is known.
class upgrade_client {
public:
    explicit upgrade_client(const std::string& path)
        : request_{"GET " + path +
                   " HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                   "Sec-WebSocket-Version: 13\r\n\r\n"} {}

    /// @return Positive when frames may be sent.
    long advance(byte_stream& stream) {
        while (written_ < request_.size()) {
            const long count =
                stream.write(reinterpret_cast<const unsigned char*>(request_.data()) + written_,
                             request_.size() - written_);
            if (count <= 0) {
                return count;
            }
            written_ += static_cast<std::size_t>(count);
        }
        std::size_t head_bytes = answer_.find(head_end);
        while (head_bytes == std::string::npos) {
            unsigned char room[answer_bytes_max];
            const long count = stream.read(room, sizeof room);
            if (count <= 0) {
                return count;
            }
            answer_.append(reinterpret_cast<const char*>(room), static_cast<std::size_t>(count));
            head_bytes = answer_.find(head_end);
            if (head_bytes == std::string::npos && answer_.size() >= answer_bytes_max) {
                return byte_stream::is_gone;
            }
        }
        surplus_ = answer_.substr(head_bytes + head_end.size());
        const bool is_accepted = answer_.starts_with("HTTP/1.1 101") &&
                                 answer_.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") != std::string::npos;
        return is_accepted ? 1 : byte_stream::is_gone;
    }

    /// The bytes behind the response: the first bytes of frames.
    [[nodiscard]] const std::string& surplus() const noexcept { return surplus_; }

private:
    static constexpr std::size_t answer_bytes_max = 4096;
    static constexpr std::string_view head_end = "\r\n\r\n";

    std::string request_;
    std::size_t written_ = 0;
    std::string answer_;
    std::string surplus_;
};

inline std::string make_pong(std::string_view payload) {
    const mask_key key{0x11, 0x22, 0x33, 0x44};
    std::string frame(2 + key.size() + payload.size(), '\0');
    auto* const out = reinterpret_cast<unsigned char*>(frame.data());
    out[0] = final_flag | opcode_pong;
    out[1] = static_cast<unsigned char>(mask_flag | payload.size());
    std::memcpy(out + 2, key.data(), key.size());
    copy_masked(out + 2 + key.size(), reinterpret_cast<const unsigned char*>(payload.data()),
                payload.size(), key, 0);
    return frame;
}

} // namespace stream_bench
