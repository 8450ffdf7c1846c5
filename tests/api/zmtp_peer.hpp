// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace api_test {

std::string data(std::initializer_list<int> values);

/// A peer over tcp that speaks ZMTP by hand: a bare connection whose bytes the test sends and
/// looks at.
class zmtp_peer {
public:
    /// Connects, and says nothing yet.
    /// @param endpoint  Where a socket is bound on this machine, over tcp.
    explicit zmtp_peer(const std::string& endpoint);
    /// @param descriptor  Of a connection; taken over.
    explicit zmtp_peer(int descriptor);
    zmtp_peer(const zmtp_peer&) = delete;
    zmtp_peer& operator=(const zmtp_peer&) = delete;
    ~zmtp_peer();

    /// Greeting and handshake of mechanism NULL; takes what the other side says meanwhile.
    /// @param type      "PUSH", ...
    /// @param metadata  Further properties, as they are on the wire.
    void shake_hands(std::string_view type, std::string_view metadata = {});

    /// @return Whether the connection took everything; if not, the other side has ended it.
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

    /// Whether there are bytes to be received, now.
    bool has_bytes() const;

    /// Whether a byte comes, not the end of the connection; the test ends if neither does.
    bool answers() const;

    /// Takes what still comes until the other side ends the connection; the test ends if it does
    /// not.
    void await_end() const;

    /// Ends the connection so that the other side's next write fails.
    void reset();

    int descriptor() const noexcept { return descriptor_; }

private:
    int descriptor_;
};

} // namespace api_test
