// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/secret.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zlink {

/// How the two ends of a connection authenticate each other. The numbers are those of
/// zmq_getsockopt(3), ZMQ_MECHANISM.
enum class security_mechanism : std::uint8_t {
    null = 0,  ///< Not at all.
    plain = 1, ///< 24/ZMTP-PLAIN: a name and a password, in clear.
    curve = 2, ///< 26/CURVEZMQ: keys, and everything encrypted.
};

/// Its name in the greeting.
constexpr std::string_view mechanism_name(security_mechanism named) noexcept {
    switch (named) {
    case security_mechanism::null:
        break;
    case security_mechanism::plain:
        return "PLAIN";
    case security_mechanism::curve:
        return "CURVE";
    }
    return "NULL";
}

inline constexpr std::size_t curve_key_bytes = 32;
using curve_public_key = std::array<std::byte, curve_key_bytes>;
using curve_secret_key = secret<curve_key_bytes>;

} // namespace zlink
