// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/connection_event.hpp"
#include "wire/zap.hpp"

#include <cstdint>

namespace zlink::security {

/// The monitor event for a failed handshake.
struct handshake_failure {
    connection_event what; ///< One of handshake_failed_*.
    std::int32_t value;    ///< As connection_event says.

    bool operator==(const handshake_failure&) const = default;
};

constexpr protocol_fault fault_of(wire::zap_fault found) noexcept {
    switch (found) {
    case wire::zap_fault::malformed_reply:
        return protocol_fault::zap_malformed_reply;
    case wire::zap_fault::bad_request_id:
        return protocol_fault::zap_bad_request_id;
    case wire::zap_fault::bad_version:
        return protocol_fault::zap_bad_version;
    case wire::zap_fault::invalid_status_code:
        return protocol_fault::zap_invalid_status_code;
    case wire::zap_fault::invalid_metadata:
        return protocol_fault::zap_invalid_metadata;
    case wire::zap_fault::unspecified:
        break;
    }
    return protocol_fault::zap_unspecified;
}

constexpr handshake_failure failure_of(protocol_fault found) noexcept {
    return {connection_event::handshake_failed_protocol, static_cast<std::int32_t>(found)};
}

/// @param status  Other than accepted.
constexpr handshake_failure failure_of(wire::zap_status status) noexcept {
    return {connection_event::handshake_failed_auth, static_cast<std::int32_t>(status)};
}

} // namespace zlink::security
