// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "zmtp_peer.hpp"

#include <array>
#include <sodium.h>
#include <string>
#include <string_view>

namespace robustness {

struct key_pair {
    key_pair() { crypto_box_keypair(open.data(), hidden.data()); }

    std::string_view open_text() const { return {reinterpret_cast<const char*>(open.data()), 32}; }
    std::string_view hidden_text() const {
        return {reinterpret_cast<const char*>(hidden.data()), 32};
    }

    std::array<unsigned char, crypto_box_PUBLICKEYBYTES> open;
    std::array<unsigned char, crypto_box_SECRETKEYBYTES> hidden;
};

/// A frame of any size.
std::string long_frame(int flags, std::string_view body);

/// A client of CURVE (26/CURVEZMQ) that the server does not know. It knows the server's public key,
/// which is no secret. It sends any content, in valid boxes.
class curve_attacker {
public:
    curve_attacker(const std::string& endpoint, const key_pair& server);

    /// Sends the greeting and HELLO, and receives the server's WELCOME.
    void begin();
    /// Sends INITIATE with such metadata.
    void initiate(std::string_view metadata) const;
    /// Whether the server accepts it: READY comes, not the end of the connection.
    bool is_taken_in() const;

private:
    std::string boxed(std::string_view content, std::string_view nonce, std::string_view to,
                      const key_pair& from) const;

    api_test::zmtp_peer peer_;
    std::string server_;
    key_pair long_term_;
    key_pair transient_;
    std::string server_transient_;
    std::string cookie_;
};

} // namespace robustness
