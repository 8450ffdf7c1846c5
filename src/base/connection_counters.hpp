// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/connection_event.hpp"
#include "base/result.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zlink {

/// Why a handshake failed.
enum class handshake_failure_reason : std::uint8_t {
    closed,             ///< The connection ended.
    timeout,            ///< ZMQ_HANDSHAKE_IVL has passed.
    refused,            ///< The peer refused: an ERROR command, or an HTTP status.
    denied,             ///< ZAP, on this side, or the mechanism denied the peer.
    mechanism_mismatch, ///< The peers have different mechanisms.
    cryptographic,      ///< A box did not open: a wrong key.
    metadata,           ///< For example, socket types that do not go together.
    protocol,           ///< Other faults of the peer, TLS among them.
    zap,                ///< The application's ZAP handler gave no valid reply.
    other,
};
constexpr std::array<std::string_view, 10> handshake_failure_names{
    "closed",        "timeout",  "refused",  "denied", "mechanism_mismatch",
    "cryptographic", "metadata", "protocol", "zap",    "other"};

/// Why an established connection ended.
enum class disconnect_reason : std::uint8_t {
    closed,    ///< By either side, in order.
    reset,     ///< The peer, or the network, cut it off.
    timeout,   ///< No heartbeat, or no progress, in time.
    too_large, ///< A message exceeded ZMQ_MAXMSGSIZE.
    protocol,  ///< The peer broke its protocol.
    shortage,  ///< Memory or descriptors ran out.
    other,
};
constexpr std::array<std::string_view, 7> disconnect_names{
    "closed", "reset", "timeout", "message_too_large", "protocol", "shortage", "other"};

/// @param what   One of handshake_failed_*.
/// @param value  As connection_event documents.
handshake_failure_reason reason_of_failure(connection_event what, std::int32_t value) noexcept;
disconnect_reason reason_of_disconnect(errc ended) noexcept;

/// Totals of connections.
template<class Number>
struct basic_connection_totals {
    Number opened_count{0}; ///< Connections accepted, or made by connecting.
    Number ended_count{0};
    Number established_count{0};   ///< Handshakes that succeeded.
    Number reconnected_count{0};   ///< Of those, by a connect call that had succeeded before.
    Number retry_count{0};         ///< Further attempts to connect that were scheduled.
    Number accept_failed_count{0}; ///< Including connections beyond a limit.
    Number interrupted_count{0};   ///< Messages dropped: two connections ended within them.
    Number lingered_count{0};      ///< Messages dropped: the socket's linger period was over.
    Number malformed_count{0};     ///< Datagrams dropped: not of their form, or too large.
    Number unsendable_count{0};    ///< Datagrams dropped: the system refused to send them.
    std::array<Number, handshake_failure_names.size()> failed_counts{};
    std::array<Number, disconnect_names.size()> disconnected_counts{};
};

using connection_totals = basic_connection_totals<std::uint64_t>;

/// Counts what happens to the connections of one bind or connect call.
///
/// @threads Any.
class connection_counters {
public:
    void on_opened() noexcept { count(totals_.opened_count); }
    void on_ended() noexcept { count(totals_.ended_count); }
    void on_reconnected() noexcept { count(totals_.reconnected_count); }
    void on_established() noexcept { count(totals_.established_count); }
    void on_interrupted() noexcept { count(totals_.interrupted_count); }
    void on_lingered(std::uint64_t messages) noexcept { count(totals_.lingered_count, messages); }
    void on_malformed() noexcept { count(totals_.malformed_count); }
    void on_unsendable() noexcept { count(totals_.unsendable_count); }
    void on_disconnected(errc reason) noexcept {
        count(totals_.disconnected_counts[static_cast<std::size_t>(reason_of_disconnect(reason))]);
    }

    /// Counts those events that are counted as such.
    /// @param value  As connection_event documents.
    void on_event(connection_event what, std::int32_t value) noexcept;

    connection_totals totals() const noexcept;

private:
    using number = std::atomic<std::uint64_t>;

    static void count(number& in, std::uint64_t added = 1) noexcept {
        in.fetch_add(added, std::memory_order_relaxed);
    }

    basic_connection_totals<number> totals_;
};

} // namespace zlink
