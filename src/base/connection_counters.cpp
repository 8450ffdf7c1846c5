// SPDX-License-Identifier: MPL-2.0
#include "base/connection_counters.hpp"

#include <algorithm>
#include <cerrno>

namespace zlink {

namespace {

handshake_failure_reason reason_of_fault(protocol_fault found) noexcept {
    using enum handshake_failure_reason;
    switch (found) {
    case protocol_fault::mechanism_mismatch:
        return mechanism_mismatch;
    case protocol_fault::cryptographic:
    case protocol_fault::key_exchange:
        return cryptographic;
    case protocol_fault::invalid_metadata:
        return metadata;
    case protocol_fault::zap_unspecified:
    case protocol_fault::zap_malformed_reply:
    case protocol_fault::zap_bad_request_id:
    case protocol_fault::zap_bad_version:
    case protocol_fault::zap_invalid_status_code:
    case protocol_fault::zap_invalid_metadata:
        return zap;
    default:
        return protocol;
    }
}

} // namespace

handshake_failure_reason reason_of_failure(connection_event what, std::int32_t value) noexcept {
    using enum handshake_failure_reason;
    if (what == connection_event::handshake_failed_protocol) {
        return reason_of_fault(static_cast<protocol_fault>(value));
    }
    if (what == connection_event::handshake_failed_auth) {
        return denied;
    }
    constexpr std::int32_t http_status_min = 200; // Above errno's.
    switch (value) {
    case 0:
    case EPIPE:
    case ECONNRESET:
    case ECONNABORTED:
        return closed;
    case EAGAIN:
    case ETIMEDOUT:
        return timeout;
    case EACCES:
        return refused;
    case EPROTO:
    case EMSGSIZE:
        return protocol;
    case EFAULT: // The ZAP handler is gone.
        return zap;
    default:
        return value >= http_status_min ? refused : other;
    }
}

disconnect_reason reason_of_disconnect(errc ended) noexcept {
    using enum disconnect_reason;
    switch (static_cast<int>(ended)) {
    case 0:
        return closed;
    case EPIPE:
    case ECONNRESET:
    case ECONNABORTED:
        return reset;
    case EAGAIN:
    case ETIMEDOUT:
        return timeout;
    case EMSGSIZE:
        return too_large;
    case EPROTO:
    case EILSEQ:
    case EBADMSG:
    case ENOMSG:
        return protocol;
    case ENOMEM:
    case ENOBUFS:
    case EMFILE:
    case ENFILE:
        return shortage;
    default:
        return other;
    }
}

void connection_counters::on_event(connection_event what, std::int32_t value) noexcept {
    switch (what) {
    case connection_event::connect_retried:
        return count(totals_.retry_count);
    case connection_event::accept_failed:
        return count(totals_.accept_failed_count);
    case connection_event::handshake_failed_no_detail:
    case connection_event::handshake_failed_protocol:
    case connection_event::handshake_failed_auth:
        return count(
            totals_.failed_counts[static_cast<std::size_t>(reason_of_failure(what, value))]);
    default:
        return;
    }
}

connection_totals connection_counters::totals() const noexcept {
    connection_totals made;
    made.ended_count = totals_.ended_count; // First: it is never ahead of those opened.
    made.opened_count = totals_.opened_count;
    made.established_count = totals_.established_count;
    made.reconnected_count = totals_.reconnected_count;
    made.retry_count = totals_.retry_count;
    made.accept_failed_count = totals_.accept_failed_count;
    made.interrupted_count = totals_.interrupted_count;
    made.lingered_count = totals_.lingered_count;
    made.malformed_count = totals_.malformed_count;
    made.unsendable_count = totals_.unsendable_count;
    std::ranges::copy(totals_.failed_counts, made.failed_counts.begin());
    std::ranges::copy(totals_.disconnected_counts, made.disconnected_counts.begin());
    return made;
}

} // namespace zlink
