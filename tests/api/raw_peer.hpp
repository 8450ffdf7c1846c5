// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "fixture.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

namespace api_test {

/// Whether the other end of a connection, a socket of this process, has read all bytes sent through
/// `descriptor`.
bool is_read(int descriptor);

/// A program at the other end of a connection that uses the system's sockets. Calls that wait run
/// the I/O of `owner`.
class raw_peer {
public:
    /// Connects to a socket of `owner`, over tcp or ipc.
    raw_peer(const context& owner, const std::string& endpoint);
    /// @param descriptor  A connection, which it takes over.
    raw_peer(const context& owner, int descriptor) noexcept
        : owner_(owner), descriptor_(descriptor) {}
    raw_peer(const raw_peer&) = delete;
    raw_peer& operator=(const raw_peer&) = delete;
    ~raw_peer() { close(); }

    void send(std::string_view data);
    /// Waits until the library has read all bytes sent: later bytes come with another read.
    void await_read() const;
    /// The next `bytes` bytes; the test ends if they do not come.
    std::string recv(std::size_t bytes);
    /// Whether the connection ends before more bytes come; the test ends if nothing happens.
    bool is_disconnected();
    /// Discards bytes until the other side ends the connection; the test ends if it does not.
    void await_end();
    /// Whether the other side has kept the connection open.
    bool is_connected() const;
    int descriptor() const noexcept { return descriptor_; }
    void close() noexcept;
    /// Ends the connection by a reset, so that the other side's next write fails.
    void reset() noexcept;

private:
    std::ptrdiff_t read(char* to, std::size_t bytes);

    const context& owner_;
    int descriptor_;
};

/// A program that listens at a tcp port.
class raw_listener {
public:
    raw_listener();
    raw_listener(const raw_listener&) = delete;
    raw_listener& operator=(const raw_listener&) = delete;
    ~raw_listener();

    const std::string& endpoint() const noexcept { return endpoint_; }

    /// The descriptor of the next connection; the test ends if there is none.
    int accept(const context& owner);

private:
    int descriptor_;
    std::string endpoint_;
};

/// Sends a message `count` times, or until the thread is told to stop, and never reads.
std::jthread send_messages(const raw_peer& from, const std::string& data,
                           std::size_t count = SIZE_MAX);

} // namespace api_test
