// SPDX-License-Identifier: MPL-2.0
//
// The numbers that monitors report are written twice: where they arise, far below src/api, and in
// the public header. Here the compiler compares them. It rejects a number that differs, and a new
// one below that has no line here.
#include "base/connection_event.hpp"
#include "zlink.h"

#define EVERY_EVENT(IS)                                                                            \
    IS(connected, CONNECTED)                                                                       \
    IS(connect_delayed, CONNECT_DELAYED)                                                           \
    IS(connect_retried, CONNECT_RETRIED)                                                           \
    IS(listening, LISTENING)                                                                       \
    IS(bind_failed, BIND_FAILED)                                                                   \
    IS(accepted, ACCEPTED)                                                                         \
    IS(accept_failed, ACCEPT_FAILED)                                                               \
    IS(closed, CLOSED)                                                                             \
    IS(close_failed, CLOSE_FAILED)                                                                 \
    IS(disconnected, DISCONNECTED)                                                                 \
    IS(monitor_stopped, MONITOR_STOPPED)                                                           \
    IS(handshake_failed_no_detail, HANDSHAKE_FAILED_NO_DETAIL)                                     \
    IS(handshake_succeeded, HANDSHAKE_SUCCEEDED)                                                   \
    IS(handshake_failed_protocol, HANDSHAKE_FAILED_PROTOCOL)                                       \
    IS(handshake_failed_auth, HANDSHAKE_FAILED_AUTH)                                               \
    IS(certificate_expires, CERTIFICATE_EXPIRES)                                                   \
    IS(message_dropped, MESSAGE_DROPPED)                                                           \
    IS(pipe_statistics, PIPES_STATS)

#define EVERY_FAULT(IS)                                                                            \
    IS(zmtp_unspecified, ZMTP_UNSPECIFIED)                                                         \
    IS(unexpected_command, ZMTP_UNEXPECTED_COMMAND)                                                \
    IS(invalid_sequence, ZMTP_INVALID_SEQUENCE)                                                    \
    IS(key_exchange, ZMTP_KEY_EXCHANGE)                                                            \
    IS(malformed_command, ZMTP_MALFORMED_COMMAND_UNSPECIFIED)                                      \
    IS(malformed_message, ZMTP_MALFORMED_COMMAND_MESSAGE)                                          \
    IS(malformed_hello, ZMTP_MALFORMED_COMMAND_HELLO)                                              \
    IS(malformed_initiate, ZMTP_MALFORMED_COMMAND_INITIATE)                                        \
    IS(malformed_error, ZMTP_MALFORMED_COMMAND_ERROR)                                              \
    IS(malformed_ready, ZMTP_MALFORMED_COMMAND_READY)                                              \
    IS(malformed_welcome, ZMTP_MALFORMED_COMMAND_WELCOME)                                          \
    IS(invalid_metadata, ZMTP_INVALID_METADATA)                                                    \
    IS(cryptographic, ZMTP_CRYPTOGRAPHIC)                                                          \
    IS(mechanism_mismatch, ZMTP_MECHANISM_MISMATCH)                                                \
    IS(zap_unspecified, ZAP_UNSPECIFIED)                                                           \
    IS(zap_malformed_reply, ZAP_MALFORMED_REPLY)                                                   \
    IS(zap_bad_request_id, ZAP_BAD_REQUEST_ID)                                                     \
    IS(zap_bad_version, ZAP_BAD_VERSION)                                                           \
    IS(zap_invalid_status_code, ZAP_INVALID_STATUS_CODE)                                           \
    IS(zap_invalid_metadata, ZAP_INVALID_METADATA)                                                 \
    IS(websocket_unspecified, WS_UNSPECIFIED)

namespace zlink {

#define IS_SAME_EVENT(name, in_header)                                                             \
    static_assert(static_cast<int>(connection_event::name) == ZLINK_EVENT_##in_header);
#define IS_SAME_FAULT(name, in_header)                                                             \
    static_assert(static_cast<int>(protocol_fault::name) == ZLINK_PROTOCOL_ERROR_##in_header);
EVERY_EVENT(IS_SAME_EVENT)
EVERY_FAULT(IS_SAME_FAULT)

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
#define IS_LISTED(name, in_header) case listed::name:
[[maybe_unused]] constexpr void require_all_listed(connection_event what) noexcept {
    using listed = connection_event;
    switch (what) {
        EVERY_EVENT(IS_LISTED)
        break;
    }
}
[[maybe_unused]] constexpr void require_all_listed(protocol_fault what) noexcept {
    using listed = protocol_fault;
    switch (what) {
        EVERY_FAULT(IS_LISTED)
        break;
    }
}
#pragma GCC diagnostic pop

} // namespace zlink
