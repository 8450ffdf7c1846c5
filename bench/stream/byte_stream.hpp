// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace stream_bench {

/// A connected non-blocking socket, with or without TLS. Owns both.
class byte_stream {
public:
    /// Returned by read and write when they would block.
    static constexpr long would_block = 0;
    static constexpr long is_gone = -1;

    byte_stream() = default;
    byte_stream(int descriptor, SSL_CTX* context) : descriptor_{descriptor} {
        if (context != nullptr) {
            tls_ = SSL_new(context);
            SSL_set_fd(tls_, descriptor);
            SSL_set_connect_state(tls_);
        }
    }
    byte_stream(byte_stream&& other) noexcept
        : descriptor_{std::exchange(other.descriptor_, -1)}, tls_{std::exchange(other.tls_,
                                                                                nullptr)} {}
    byte_stream& operator=(byte_stream&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        std::swap(tls_, other.tls_);
        return *this;
    }
    ~byte_stream() { close(); }

    /// @return Positive when TLS is established, or not used.
    long handshake() {
        if (tls_ == nullptr) {
            return 1;
        }
        const int status = SSL_do_handshake(tls_);
        return status == 1 ? 1 : outcome(status);
    }

    /// Reads the available bytes, as far as there is room: a short read means that none are left.
    long read(unsigned char* room, std::size_t room_bytes) {
        if (tls_ == nullptr) {
            const ssize_t count = ::recv(descriptor_, room, room_bytes, 0);
            if (count > 0) {
                return count;
            }
            return count < 0 && (errno == EAGAIN || errno == EINTR) ? would_block : is_gone;
        }
        std::size_t total = 0;
        while (total < room_bytes) {
            const std::size_t left = std::min<std::size_t>(room_bytes - total, INT_MAX);
            const int count = SSL_read(tls_, room + total, static_cast<int>(left));
            if (count <= 0) {
                const long why = outcome(count);
                return total > 0 ? static_cast<long>(total) : why;
            }
            total += static_cast<std::size_t>(count);
        }
        return static_cast<long>(total);
    }

    /// After would_block the caller must pass the same bytes again: TLS has encrypted some of them.
    long write(const unsigned char* data, std::size_t count) {
        if (tls_ == nullptr) {
            const ssize_t written = ::send(descriptor_, data, count, MSG_NOSIGNAL);
            if (written >= 0) {
                return written;
            }
            return errno == EAGAIN || errno == EINTR ? would_block : is_gone;
        }
        const std::size_t most = std::min<std::size_t>(count, INT_MAX);
        const int written = SSL_write(tls_, data, static_cast<int>(most));
        return written > 0 ? written : outcome(written);
    }

    /// Resets the connection: a client that closes first would leave ten thousand ports in
    /// TIME_WAIT.
    void close() {
        if (tls_ != nullptr) {
            SSL_free(std::exchange(tls_, nullptr));
        }
        if (descriptor_ >= 0) {
            const linger abort{1, 0};
            setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
            ::close(std::exchange(descriptor_, -1));
        }
    }

    [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

private:
    long outcome(int status) {
        const int reason = SSL_get_error(tls_, status);
        ERR_clear_error(); // Otherwise the next call on this thread, for any connection, would seem
                           // to fail.
        return reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE ? would_block
                                                                               : is_gone;
    }

    int descriptor_ = -1;
    SSL* tls_ = nullptr;
};

} // namespace stream_bench
