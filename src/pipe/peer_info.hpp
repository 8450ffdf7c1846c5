// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/ref_counted.hpp"
#include "pipe/block.hpp"
#include "pipe/property_list.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace zlink::pipe {

// Properties that only the local side states.
inline constexpr std::string_view user_id_property = "User-Id";
inline constexpr std::string_view peer_address_property = "Peer-Address";

// Of WebSocket: from the upgrade request.
inline constexpr std::string_view path_property = "Path";
inline constexpr std::string_view origin_property = "Origin";
inline constexpr std::string_view subprotocol_property = "Subprotocol";
inline constexpr std::string_view extensions_property = "Extensions";

// Of a STREAM's peers: for the messages that report a connect and a disconnect.
inline constexpr std::string_view detail_property = "Detail";
inline constexpr std::string_view reason_property = "Reason";

/// The prefix of all properties from TLS.
inline constexpr std::string_view tls_property_prefix = "Tls-";

/// Whether a property of that name is set by the library itself. Neither the peer nor a ZAP handler
/// may state one, in any spelling: names that differ in case only are the same in ZMTP (37/ZMTP,
/// "Metadata").
inline bool is_own_property(std::string_view name) noexcept {
    constexpr auto lower = [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    };
    const auto is_same = [&](std::string_view one, std::string_view other) {
        return std::ranges::equal(one, other, {}, lower, lower);
    };
    if (is_same(name.substr(0, tls_property_prefix.size()), tls_property_prefix)) {
        return true;
    }
    constexpr std::array names{user_id_property, peer_address_property, path_property,
                               origin_property,  subprotocol_property,  extensions_property,
                               detail_property,  reason_property};
    return std::ranges::any_of(names, [&](std::string_view own) { return is_same(name, own); });
}

/// The data of a connection once its handshake is done. It passes through the inbound rope ahead of
/// the connection's first message; received messages share it.
///
/// Until the reader takes it out of the rope, the sender may replace it by a newer one: a peer that
/// reconnects again and again costs no more than one that stays, whether or not the socket reads.
///
/// @threads Any; nothing else changes after it was published.
struct peer_info : block {
    std::string routing_id;   ///< As the peer announced it; may be empty.
    property_list properties; ///< Metadata.
    std::uint16_t port = 0;   ///< Of the peer's address, if it has one; 0 otherwise.
    int descriptor = -1;      ///< Of the connection, for ZMQ_SRCFD; -1 if it has none.

    peer_info() noexcept {
        kind = origin::object;
        destroy = [](block* self) { delete static_cast<peer_info*>(self); };
    }
    ~peer_info() {
        if (peer_info* const untaken = newest_.load(std::memory_order_acquire);
            untaken != nullptr && untaken != this) {
            untaken->drop();
        }
    }

    /// The newest replacement of this one, or this one. Called by the reader that takes it out of
    /// the rope, once.
    /// @owns  Takes over one reference to this one; gives one to the result.
    peer_info* take_newest() noexcept {
        peer_info* const newest = newest_.exchange(this, std::memory_order_acq_rel);
        if (newest == nullptr) {
            return this;
        }
        drop();
        return newest;
    }

    /// Replaces this one by `newer`. Called by the sender that put this one into the rope.
    /// @param newer  Takes over one reference if it returns true.
    /// @return Whether it was replaced; otherwise this one was taken.
    bool replace(peer_info* newer) noexcept {
        peer_info* former = newest_.load(std::memory_order_relaxed);
        if (former == this ||
            !newest_.compare_exchange_strong(former, newer, std::memory_order_acq_rel,
                                             std::memory_order_relaxed)) {
            return false;
        }
        if (former != nullptr) {
            former->drop();
        }
        return true;
    }

    friend void intrusive_ptr_add_ref(peer_info* held) noexcept { held->add_reference(); }
    friend void intrusive_ptr_release(peer_info* held) noexcept { held->drop(); }

private:
    std::atomic<peer_info*> newest_{nullptr}; ///< Null: not replaced. This one: it was taken.
};

using peer_info_ptr = boost::intrusive_ptr<peer_info>;

/// The number of a socket's disconnects that its application has not received yet, and of messages
/// that were dropped because two connections ended while they were sent.
struct departures final : ref_counted<departures> {
    std::atomic<std::uint32_t> unreported_count{0};
    std::atomic<std::uint64_t> dropped_message_count{0};
};
using departures_ptr = boost::intrusive_ptr<departures>;

/// Reports that a peer of a STREAM has gone. Counted until it was received, or dropped by its last
/// holder.
struct departure final : peer_info {
    /// @param counted_among  Null: not counted.
    explicit departure(departures_ptr counted_among) noexcept
        : counted_among_(std::move(counted_among)) {
        destroy = &destroy_departure;
        if (counted_among_) {
            counted_among_->unreported_count.fetch_add(1, std::memory_order_relaxed);
        }
    }
    departure(const departure&) = delete;
    departure& operator=(const departure&) = delete;
    ~departure() { count_told(); }

    /// The application has received `news`, if that is a departure. @threads the socket's
    static void tell(peer_info& news) noexcept {
        if (news.destroy == &destroy_departure) {
            static_cast<departure&>(news).count_told();
        }
    }

private:
    static void destroy_departure(block* self) { delete static_cast<departure*>(self); }

    void count_told() noexcept {
        if (const departures_ptr told = std::exchange(counted_among_, nullptr)) {
            told->unreported_count.fetch_sub(1, std::memory_order_relaxed);
        }
    }

    departures_ptr counted_among_;
};

/// The peer_info of a peer in the same process.
/// @throws std::bad_alloc
inline peer_info* make_peer_info(const std::string& routing_id) {
    auto made = std::make_unique<peer_info>();
    made->routing_id = routing_id;
    return made.release();
}

} // namespace zlink::pipe
