// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace api_test {

std::string data(std::initializer_list<int> values);

/// A peer over tcp that speaks ZMTP by hand: a bare connection whose bytes the test sends and
/// inspects.
class zmtp_peer {
public:
    /// Connects, and sends nothing yet.
    /// @param endpoint  A tcp endpoint that is bound on this machine.
    explicit zmtp_peer(const std::string& endpoint);
    /// @param descriptor  A connection, which it takes over.
    explicit zmtp_peer(int descriptor);
    zmtp_peer(const zmtp_peer&) = delete;
    zmtp_peer& operator=(const zmtp_peer&) = delete;
    ~zmtp_peer();

    /// Greeting and handshake of mechanism NULL; receives the other side's part.
    /// @param type      "PUSH", ...
    /// @param metadata  Further properties, in wire format.
    void shake_hands(std::string_view type, std::string_view metadata = {});

    /// @return Whether everything was sent; if not, the other side has ended the connection.
    bool send(std::string_view all) const;
    /// Sends a frame of at most 65535 bytes.
    bool send_frame(int flags, std::string_view body) const;

    /// The next `bytes` bytes; the test ends if they do not come.
    std::string recv(std::size_t bytes) const;
    /// The flags and the body of the next frame, which must have a short header.
    struct frame {
        int flags;
        std::string body;
    };
    frame recv_frame() const;

    /// Whether bytes can be received now.
    bool has_bytes() const;

    /// Whether a byte comes before the end of the connection; the test ends if nothing happens.
    bool answers() const;

    /// Discards bytes until the other side ends the connection; the test ends if it does not.
    void await_end() const;

    /// Ends the connection by a reset, so that the other side's next write fails.
    void reset();

    int descriptor() const noexcept { return descriptor_; }

private:
    int descriptor_;
};

} // namespace api_test
