// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <zlib.h>

namespace zlink::testing {

/// Compresses messages as a WebSocket peer does (RFC 7692), with zlib only. Each message may refer
/// to earlier ones.
class web_compressor {
public:
    explicit web_compressor(int window_bits = 15, int level = Z_DEFAULT_COMPRESSION) {
        if (::deflateInit2(&stream_, level, Z_DEFLATED, -window_bits, 8, Z_DEFAULT_STRATEGY) !=
            Z_OK) {
            std::abort();
        }
    }
    web_compressor(const web_compressor&) = delete;
    web_compressor& operator=(const web_compressor&) = delete;
    ~web_compressor() { ::deflateEnd(&stream_); }

    /// @return The payload of a message.
    std::string compress(std::string_view message) {
        std::string payload = run(message, Z_SYNC_FLUSH);
        payload.resize(payload.size() - 4);
        return payload;
    }

    /// The same, by a deflate stream that ends (7.2.3.4).
    std::string compress_to_end(std::string_view message) {
        std::string payload = run(message, Z_FINISH);
        ::deflateReset(&stream_);
        return payload;
    }

private:
    std::string run(std::string_view message, int flush) {
        std::string out(::deflateBound(&stream_, message.size()) + 16, '\0');
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(message.data()));
        stream_.avail_in = static_cast<unsigned>(message.size());
        stream_.next_out = reinterpret_cast<Bytef*>(out.data());
        stream_.avail_out = static_cast<unsigned>(out.size());
        ::deflate(&stream_, flush);
        out.resize(out.size() - stream_.avail_out);
        return out;
    }

    z_stream stream_{};
};

/// The payload of a message that refers to no other one.
inline std::string web_compressed(std::string_view message, int window_bits = 15) {
    return web_compressor{window_bits}.compress(message);
}

/// Inflates the messages of a web_compressor of the same window.
class web_decompressor {
public:
    explicit web_decompressor(int window_bits = 15) {
        if (::inflateInit2(&stream_, -window_bits) != Z_OK) {
            std::abort();
        }
    }
    web_decompressor(const web_decompressor&) = delete;
    web_decompressor& operator=(const web_decompressor&) = delete;
    ~web_decompressor() { ::inflateEnd(&stream_); }

    /// @return The message, or "corrupt".
    std::string decompress(std::string payload) {
        payload.append("\0\0\xff\xff", 4);
        stream_.next_in = reinterpret_cast<Bytef*>(payload.data());
        stream_.avail_in = static_cast<unsigned>(payload.size());
        std::string message;
        do {
            char room[4096];
            stream_.next_out = reinterpret_cast<Bytef*>(room);
            stream_.avail_out = sizeof room;
            const int outcome = ::inflate(&stream_, Z_SYNC_FLUSH);
            if (outcome != Z_OK && outcome != Z_BUF_ERROR) {
                return "corrupt";
            }
            message.append(room, sizeof room - stream_.avail_out);
        } while (stream_.avail_out == 0);
        return message;
    }

private:
    z_stream stream_{};
};

} // namespace zlink::testing
