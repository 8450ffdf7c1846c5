// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/connection_counters.hpp"
#include "base/endpoint.hpp"
#include "base/relaxed.hpp"
#include "base/socket_type.hpp"
#include "pipe/message_queue.hpp"
#include "web/http_counters.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::socket {

class pattern;
class peer;

/// Why a message was dropped.
enum class drop_reason : std::uint8_t {
    full,         ///< The queue of its receiver was full, and the pattern does not wait.
    replaced,     ///< By a newer one: ZMQ_CONFLATE.
    unreachable,  ///< Its receiver is unknown, or gone.
    disconnected, ///< It was in the queue of a peer whose connection ended for good.
    interrupted,  ///< Two connections ended while it was being sent.
    linger,       ///< The socket was closed, and its linger period was over.
    malformed,    ///< A datagram that was received is not of its form, or too large.
    unsendable,   ///< The system refused to send a datagram.
};
constexpr std::array<std::string_view, 8> drop_names{"full",         "replaced",    "unreachable",
                                                     "disconnected", "interrupted", "linger",
                                                     "malformed",    "unsendable"};

/// Totals of the queues of one direction.
struct direction_measures {
    std::uint64_t message_count = 0;
    std::uint64_t bytes = 0; ///< Of frames with their headers.
    pipe::queue_backlog waiting{};
    std::uint64_t highest_count = 0; ///< The largest number of messages waiting in one queue.

    void add(const direction_measures& other) noexcept;
};

/// Totals of a peer, or of all peers of an endpoint, a socket or a context.
struct measures {
    direction_measures sent;
    direction_measures received;
    std::array<std::uint64_t, drop_names.size()> dropped_counts{};
    std::uint64_t peer_count = 0;

    // Not of a peer.
    connection_totals connections{};

    // Neither of a peer nor of an endpoint.
    std::uint64_t blocked_count = 0; ///< Sending calls that waited.
    std::uint64_t blocked_nanoseconds = 0;
    std::uint64_t refused_count = 0; ///< Sending calls that failed with EAGAIN.

    void add(const measures& other) noexcept;
    void drop(drop_reason why, std::uint64_t count) noexcept {
        dropped_counts[static_cast<std::size_t>(why)] += count;
    }
};

/// What is known of a socket at one time.
struct socket_sample {
    struct endpoint {
        std::string address;
        bool listens;
        measures of;
    };
    struct peer {
        std::uint64_t number;   ///< Differs for each connection of the context.
        std::string endpoint;   ///< The address of the bind or connect call; may be empty.
        std::string address;    ///< The peer's; empty: it has none.
        std::string routing_id; ///< In a STREAM, hexadecimal; otherwise as announced.
        measures of;
    };

    std::uint64_t number;
    socket_type type;
    std::string name;
    measures of;
    std::optional<web::http_totals> http; ///< Only if it is bound to http or https.
    std::vector<endpoint> endpoints;      ///< At most limits::metrics_endpoints_max.
    std::optional<endpoint> others;       ///< The sum of further ones, if there were any.
    std::vector<peer> peers;              ///< Only if asked for.
};

/// One bind or connect call, as far as it is measured.
struct endpoint_meter {
    std::uint64_t call_id;
    std::string address;
    scheme via;
    bool listens;
    std::shared_ptr<connection_counters> counters; ///< Null: it has no connections.
    measures departed{};                           ///< Of peers that are gone.
    bool is_undone = false;
    bool is_listed = false;            ///< By itself; else among others.
    std::uint64_t told_sent_bytes = 0; ///< So that a total never decreases.
    std::uint64_t told_received_bytes = 0;
};

/// Measures one socket, for threads that do not own it. What the queues count anyway is read where
/// it is; this object adds what would be lost with peers and endpoints, so that no total ever
/// decreases.
///
/// The lock is held for the time of a walk over the peers, which is about a microsecond for each
/// four of them, and by the socket's thread when a peer comes, is announced, or goes.
///
/// @threads Any, except where it says otherwise.
class socket_meter {
public:
    using peer_list = std::vector<std::unique_ptr<peer>>;

    /// @param peers, rules  The socket's, until close().
    socket_meter(std::uint64_t number, socket_type type, const peer_list& peers,
                 const pattern& rules) noexcept
        : number_(number), type_(type), peers_(&peers), rules_(&rules) {}

    /// To be held while the list of peers changes, or what they announce.
    [[nodiscard]] std::unique_lock<std::mutex> lock() noexcept {
        return std::unique_lock<std::mutex>{mutex_};
    }

    /// @throws std::bad_alloc
    void set_name(std::string_view name);
    std::string name() const;

    /// Makes room for one more endpoint, so that the next add() cannot fail.
    /// @throws std::bad_alloc
    void reserve_one();
    void add(endpoint_meter made) noexcept;
    /// The endpoint is unbound or disconnected. It stays until its connections have ended.
    void remove(std::uint64_t call_id) noexcept;

    /// Adds up a peer that is about to be removed. Needs lock(). The socket's thread.
    /// @param lost_count  Messages to it that are lost.
    void add_departed(const peer& gone, std::uint64_t lost_count) noexcept;

    /// Counts messages of a peer that are dropped before it is removed. The socket's thread.
    void count_dropped(const peer& of, drop_reason why, std::uint64_t count) noexcept;

    /// The socket is closed: its peers and pattern are not used any more.
    void close() noexcept;

    /// The HTTP counters of the socket, made when they are first needed.
    /// @throws std::bad_alloc
    web::http_counters_ptr http();

    /// @throws std::bad_alloc
    socket_sample sample(bool with_peers);

    /// All measures of a closed socket; nothing while connections of it last.
    std::optional<measures> final_measures() noexcept;

    std::uint64_t number() const noexcept { return number_; }

    /// A sending call waits until it ends, or ends waiting. The socket's thread.
    void begin_blocking() noexcept;
    void end_blocking() noexcept;
    void count_refused() noexcept { ++refused_count_; }

private:
    measures& departed_of(const peer& asked) noexcept;
    endpoint_meter* find(std::uint64_t call_id) noexcept;
    void forget(const endpoint_meter& ended) noexcept;
    void forget_undone() noexcept;
    void add_own(measures& to) noexcept;

    const std::uint64_t number_;
    const socket_type type_;

    // Written by the socket's thread.
    relaxed<std::uint64_t> blocked_count_{0};
    relaxed<std::uint64_t> blocked_nanoseconds_{0};
    std::uint32_t blocked_call_count_ = 0;   ///< Of the calls that wait now.
    relaxed<std::int64_t> blocked_since_{0}; ///< On the steady clock; 0: no call waits.
    relaxed<std::uint64_t> refused_count_{0};

    mutable std::mutex mutex_; ///< Guards the rest.
    const peer_list* peers_;   ///< Null once closed.
    const pattern* rules_;
    std::string name_;
    std::vector<endpoint_meter> endpoints_; ///< By ascending call_id.
    std::size_t listed_count_ = 0;
    bool has_others_ = false;  ///< There was an endpoint that is not listed.
    measures departed_others_; ///< Of those that are gone.
    measures departed_;        ///< Of endpoints that are gone, and of peers without one.
    std::uint64_t told_blocked_nanoseconds_ = 0;
    web::http_counters_ptr http_;
};
using socket_meter_ptr = std::shared_ptr<socket_meter>;

/// What is known of a context at one time.
struct context_sample {
    measures of; ///< Of all sockets, closed ones included.
    std::uint64_t opened_count = 0;
    std::size_t io_thread_count = 0;
    std::vector<socket_sample> sockets; ///< The open ones, in the order in which they were opened.
};

/// The meters of a context's sockets.
///
/// @threads Any.
class meter_registry {
public:
    /// @throws std::bad_alloc
    socket_meter_ptr open(socket_type type, const socket_meter::peer_list& peers,
                          const pattern& rules);
    /// The socket is closed. Further calls have no effect.
    void close(const socket_meter_ptr& closed) noexcept;

    /// @throws std::bad_alloc
    context_sample sample(bool with_peers);

private:
    void forget_closed() noexcept;

    std::mutex mutex_;
    std::vector<socket_meter_ptr> open_;
    std::vector<socket_meter_ptr> closed_; ///< Connections of them last.
    measures forgotten_;
    std::uint64_t opened_count_ = 0;
};

} // namespace zlink::socket
