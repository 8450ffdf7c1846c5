// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "fixture.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

namespace api_test {

/// Whether the other end of a connection, a socket of this process, has read all that was sent
/// through `descriptor`.
bool is_read(int descriptor);

/// A program at the other end of a connection that uses the system's sockets. What takes time lets
/// the I/O of `owner` happen.
class raw_peer {
public:
    /// Connects to a socket of `owner`, over tcp or ipc.
    raw_peer(const context& owner, const std::string& endpoint);
    /// @param descriptor  Of a connection; taken over.
    raw_peer(const context& owner, int descriptor) noexcept
        : owner_(owner), descriptor_(descriptor) {}
    raw_peer(const raw_peer&) = delete;
    raw_peer& operator=(const raw_peer&) = delete;
    ~raw_peer() { close(); }

    void send(std::string_view data);
    /// Waits until the library has read all that was sent: what is sent next is another read.
    void await_read() const;
    /// The next `bytes` bytes; the test ends if they do not come.
    std::string recv(std::size_t bytes);
    /// Whether what comes next is the end of the connection; the test ends if nothing comes.
    bool is_parted_from();
    /// Takes what still comes until the other side ends the connection; the test ends if it does
    /// not.
    void await_end();
    /// Whether the other side has not ended the connection.
    bool is_connected() const;
    int descriptor() const noexcept { return descriptor_; }
    void close() noexcept;
    /// Ends the connection so that the other side's next write fails.
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

    /// The descriptor of the next connection; the test ends if none comes.
    int accept(const context& owner);

private:
    int descriptor_;
    std::string endpoint_;
};

/// Sends a message `count` times, or until the thread is told to stop, and never reads.
std::jthread send_messages(const raw_peer& from, const std::string& data,
                           std::size_t count = SIZE_MAX);

} // namespace api_test
