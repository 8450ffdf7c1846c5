// SPDX-License-Identifier: MPL-2.0
//
// Sockets, one type for each pattern.
#pragma once

#include <zlink/message.hpp>
#include <zlink/option.hpp>

#include <array>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <ranges>

namespace zlink {

/// How to send or receive. Combined with |.
enum class flags : int {
    none = 0,
    dont_wait = ZLINK_DONTWAIT, ///< Fail with EAGAIN instead of blocking.
    more = ZLINK_SNDMORE,       ///< More frames of the same message follow.
    text = ZLINK_SNDTEXT,       ///< STREAM: as a text message, to WebSocket peers.
};
constexpr flags operator|(flags one, flags other) noexcept {
    return static_cast<flags>(static_cast<int>(one) | static_cast<int>(other));
}

/// The calls that would not block now.
struct readiness {
    bool can_receive;
    bool can_send;
};

/// A peer of a socket, as zlink_socket_peers describes it.
struct peer {
    std::string endpoint;
    std::string routing_id; ///< Bytes.
    std::uint64_t messages; ///< Queued for it.
    std::uint64_t bytes;
    std::uint64_t dropped; ///< Messages.
};

namespace detail {

constexpr bool sends(pattern type) noexcept {
    return type != pattern::sub && type != pattern::pull && type != pattern::stream &&
           type != drafts::dish && type != drafts::gather;
}
/// Whether it sends bytes alone. A SERVER or PEER needs to know to which peer.
constexpr bool sends_bytes(pattern type) noexcept {
    return sends(type) && type != drafts::server && type != drafts::peer;
}
constexpr bool receives(pattern type) noexcept {
    return type != pattern::pub && type != pattern::push && type != pattern::stream &&
           type != drafts::radio && type != drafts::scatter;
}
/// Whether its messages may have several frames.
constexpr bool has_frames(pattern type) noexcept {
    return type < drafts::server || type > drafts::channel || type == drafts::dgram;
}
constexpr bool subscribes(pattern type) noexcept {
    return type == pattern::sub || type == pattern::xpub;
}

inline peer describe(const zlink_peer_t& from) {
    return {from.endpoint,
            std::string(reinterpret_cast<const char*>(from.routing_id), from.routing_id_size),
            from.messages, from.bytes, from.dropped};
}

/// Closes the handle of a socket.
class socket_owner {
public:
    socket_owner() noexcept = default;
    explicit socket_owner(void* handle) noexcept : handle_(handle) {}
    socket_owner(socket_owner&& from) noexcept : handle_(from.take()) {}
    socket_owner& operator=(socket_owner&& from) noexcept {
        if (this != &from) {
            close();
            handle_.store(from.take(), std::memory_order_relaxed);
        }
        return *this;
    }
    ~socket_owner() { close(); }

    void close() noexcept {
        if (void* const closing = take()) {
            zlink_close(closing);
        }
    }
    void* get() const noexcept { return handle_.load(std::memory_order_relaxed); }

private:
    void* take() noexcept {
        return get() == nullptr ? nullptr : handle_.exchange(nullptr, std::memory_order_relaxed);
    }

    // Atomic because one thread may close a socket that others use. They see null, or the handle of
    // a socket that is closed, which the library knows.
    std::atomic<void*> handle_{nullptr};
};

} // namespace detail

namespace detail {

/// @param has_end  It is read with a zero byte at its end.
inline result<std::string> read_text(void* from, int number, bool has_end) {
    constexpr std::size_t room_bytes_max = std::size_t{1} << 20U;
    for (std::size_t room = 256; room <= room_bytes_max; room *= 4) {
        std::string made(room, '\0');
        std::size_t bytes = room;
        if (zlink_getsockopt(from, number, made.data(), &bytes) == 0) {
            made.resize(has_end && bytes != 0 ? bytes - 1 : bytes);
            return made;
        }
        if (errno != EINVAL) {
            break;
        }
    }
    return last_error();
}

} // namespace detail

/// The functions of every socket. Each returns an error, or, called with `throws` as the last
/// argument, throws std::system_error. A closed socket, or one that was moved from, gives ENOTSOCK.
///
/// @threads One at a time, with a full fence when another one takes over; with option::thread_safe
///          any number, in every function but the constructors, the assignment and the destructor.
class any_socket {
public:
    any_socket(any_socket&&) noexcept = default;
    any_socket& operator=(any_socket&&) noexcept = default;

    /// Closes the socket; messages that were sent are written in the background, for as long as
    /// option::linger says. May be called again.
    void close() noexcept { owner_.close(); }
    bool is_open() const noexcept { return owner_.get() != nullptr; }

    result<void> bind(const std::string& endpoint) {
        return detail::with_texts({endpoint},
                                  [&] { return zlink_bind(handle(), endpoint.c_str()); });
    }
    void bind(const std::string& endpoint, throws_t) { detail::unwrap(bind(endpoint), true); }

    result<void> connect(const std::string& endpoint) {
        return detail::with_texts({endpoint},
                                  [&] { return zlink_connect(handle(), endpoint.c_str()); });
    }
    void connect(const std::string& endpoint, throws_t) { detail::unwrap(connect(endpoint), true); }

    result<void> unbind(const std::string& endpoint) {
        return detail::with_texts({endpoint},
                                  [&] { return zlink_unbind(handle(), endpoint.c_str()); });
    }
    void unbind(const std::string& endpoint, throws_t) { detail::unwrap(unbind(endpoint), true); }

    result<void> disconnect(const std::string& endpoint) {
        return detail::with_texts({endpoint},
                                  [&] { return zlink_disconnect(handle(), endpoint.c_str()); });
    }
    void disconnect(const std::string& endpoint, throws_t) {
        detail::unwrap(disconnect(endpoint), true);
    }

    /// Disconnects all peers in good order: zlink_socket_drain.
    /// @param longest  no_limit: none.
    result<void> drain(std::chrono::milliseconds longest) noexcept {
        return detail::with_int(longest.count(),
                                [&](int ms) { return zlink_socket_drain(handle(), ms); });
    }
    void drain(std::chrono::milliseconds longest, throws_t) { detail::unwrap(drain(longest)); }

    /// Where it was bound or connected last, with the port that the system chose.
    result<std::string> last_endpoint() const {
        return detail::read_text(handle(), ZLINK_LAST_ENDPOINT, true);
    }
    std::string last_endpoint(throws_t) const { return detail::unwrap(last_endpoint()); }

    /// The calls that would not block. Allows the next call of the function of notify().
    result<readiness> ready() noexcept {
        int events = 0;
        std::size_t bytes = sizeof events;
        if (zlink_getsockopt(handle(), ZLINK_EVENTS, &events, &bytes) != 0) {
            return last_error();
        }
        return readiness{(events & ZLINK_POLLIN) != 0, (events & ZLINK_POLLOUT) != 0};
    }

    /// Calls `notified` when ready() may have changed: zlink_socket_notify.
    result<void> notify(zlink_notify_fn* notified, void* hint) noexcept {
        return detail::checked(zlink_socket_notify(handle(), notified, hint));
    }

    /// @throws std::bad_alloc
    result<std::vector<peer>> peers() const {
        std::vector<zlink_peer_t> raw;
        int count = zlink_socket_peers(handle(), nullptr, 0);
        while (count > static_cast<int>(raw.size())) {
            raw.resize(static_cast<std::size_t>(count));
            count = zlink_socket_peers(handle(), raw.data(), raw.size());
        }
        if (count < 0) {
            return last_error();
        }
        std::vector<peer> made;
        made.reserve(static_cast<std::size_t>(count));
        for (int index = 0; index < count; ++index) {
            made.push_back(detail::describe(raw[static_cast<std::size_t>(index)]));
        }
        return made;
    }
    std::vector<peer> peers(throws_t) const { return detail::unwrap(peers()); }

    /// For functions of zlink.h. Null: closed, or moved from.
    void* native_handle() const noexcept { return owner_.get(); }

protected:
    any_socket() noexcept = default;
    explicit any_socket(void* handle) noexcept : owner_(handle) {}
    ~any_socket() = default;

    void* handle() const noexcept { return owner_.get(); }

private:
    detail::socket_owner owner_;
};

/// A socket of one pattern. What the pattern cannot do does not compile.
template<pattern Type>
class socket_of : public any_socket {
public:
    static constexpr pattern type = Type;

    /// A closed one.
    socket_of() noexcept = default;

    /// @throws std::system_error  There are too many sockets, or the context was shut down.
    explicit socket_of(context& owner) : socket_of(detail::unwrap(open(owner))) {}

    static result<socket_of> open(context& owner) noexcept {
        void* const opened = zlink_socket(owner.native_handle(), static_cast<int>(Type));
        if (opened == nullptr) {
            return last_error();
        }
        return socket_of(opened);
    }

    // Options: socket.set(zlink::option::linger, 100ms).

    template<int Number, class Value, bool IsRead, unsigned Patterns>
    requires((Patterns & detail::bit_of(Type)) !=
             0) result<void> set(detail::socket_option<Number, Value, IsRead, true, Patterns>,
                                 const std::type_identity_t<Value>& value) {
        if constexpr (std::is_same_v<Value, std::string>) {
            return write(Number, value.data(), value.size());
        } else if constexpr (requires { value.count(); }) {
            return detail::with_int(value.count(), [&](int number) {
                return zlink_setsockopt(handle(), Number, &number, sizeof number);
            });
        } else if constexpr (std::is_same_v<Value, bool>) {
            const int number = value ? 1 : 0;
            return write(Number, &number, sizeof number);
        } else {
            return write(Number, &value, sizeof value);
        }
    }
    template<int Number, bool IsRead, unsigned Patterns>
    requires((Patterns & detail::bit_of(Type)) != 0) result<void> set(
        detail::socket_option<Number, detail::octets, IsRead, true, Patterns>, const_bytes value) {
        return write(Number, value.data(), value.size());
    }
    template<class Option, class Value>
    void set(Option which, const Value& value, throws_t) requires requires {
        this->set(which, value);
    }
    { detail::unwrap(set(which, value), true); }

    template<int Number, class Value, bool IsWritten, unsigned Patterns>
    requires((Patterns & detail::bit_of(Type)) !=
             0) auto get(detail::socket_option<Number, Value, true, IsWritten, Patterns>) const {
        if constexpr (std::is_same_v<Value, std::string> || std::is_same_v<Value, detail::octets>) {
            return detail::read_text(handle(), Number, std::is_same_v<Value, std::string>);
        } else if constexpr (requires { Value{}.count(); } || std::is_same_v<Value, bool>) {
            const result<int> number = read<int>(Number);
            return number ? result<Value>{static_cast<Value>(*number)}
                          : result<Value>{number.error()};
        } else {
            return read<Value>(Number);
        }
    }
    template<class Option>
    auto get(Option which, throws_t) const requires requires {
        this->get(which);
    }
    { return detail::unwrap(get(which), true); }

    // Subscriptions.

    /// Receive messages that begin with `prefix`; of an XPUB with option::xpub_manual: the peer
    /// from which it received last shall.
    result<void> subscribe(const_bytes prefix) requires(detail::subscribes(Type)) {
        return write(ZLINK_SUBSCRIBE, prefix.data(), prefix.size());
    }
    void subscribe(const_bytes prefix, throws_t) requires(detail::subscribes(Type)) {
        detail::unwrap(subscribe(prefix), true);
    }
    result<void> unsubscribe(const_bytes prefix) requires(detail::subscribes(Type)) {
        return write(ZLINK_UNSUBSCRIBE, prefix.data(), prefix.size());
    }
    void unsubscribe(const_bytes prefix, throws_t) requires(detail::subscribes(Type)) {
        detail::unwrap(unsubscribe(prefix), true);
    }

    // Sending.

    /// Sends a copy of `content` as a frame.
    /// @return Its size.
    /// @error  As zlink_send.
    result<std::size_t> send(const_bytes content, flags how = flags::none) noexcept
        requires(detail::sends_bytes(Type)) {
        return detail::counted(
            zlink_send(handle(), content.data(), content.size(), static_cast<int>(how)));
    }
    std::size_t send(const_bytes content, flags how, throws_t) requires(detail::sends_bytes(Type)) {
        return detail::unwrap(send(content, how));
    }
    std::size_t send(const_bytes content, throws_t) requires(detail::sends_bytes(Type)) {
        return detail::unwrap(send(content));
    }

    /// Sends a frame without copying a large one.
    /// @param content  Empty afterwards; unchanged if the call fails.
    /// @return Its size.
    /// @error  As zlink_msg_send.
    result<std::size_t> send(message&& content, flags how = flags::none) noexcept
        requires(detail::sends(Type)) {
        return detail::counted(
            zlink_msg_send(content.native_handle(), handle(), static_cast<int>(how)));
    }
    std::size_t send(message&& content, flags how, throws_t) requires(detail::sends(Type)) {
        return detail::unwrap(send(std::move(content), how));
    }
    std::size_t send(message&& content, throws_t) requires(detail::sends(Type)) {
        return detail::unwrap(send(std::move(content)));
    }

    /// Sends all frames as one message.
    /// @param frames  Frames that were sent are empty afterwards. If the call fails none was sent,
    ///                except where a later frame needs memory that is lacking.
    /// @error EINVAL  There is no frame. Otherwise as zlink_msg_send.
    result<void> send(multipart&& frames, flags how = flags::none) noexcept
        requires(detail::sends(Type) && detail::has_frames(Type)) {
        if (frames.empty()) {
            return std::error_code{EINVAL, category()};
        }
        for (message& each : frames) {
            const flags more = &each != &frames.back() ? flags::more : flags::none;
            if (const auto sent = send(std::move(each), how | more); !sent) {
                return sent.error();
            }
        }
        return {};
    }
    void send(multipart&& frames,
              throws_t) requires(detail::sends(Type) && detail::has_frames(Type)) {
        detail::unwrap(send(std::move(frames)));
    }

    // Receiving.

    /// Receives a frame into `into`, in place of its content.
    /// @return Its size.
    /// @error  As zlink_msg_recv.
    result<std::size_t> recv(message& into, flags how = flags::none) noexcept
        requires(detail::receives(Type)) {
        return detail::counted(
            zlink_msg_recv(into.native_handle(), handle(), static_cast<int>(how)));
    }

    /// Receives a frame.
    result<message> recv(flags how = flags::none) noexcept requires(detail::receives(Type)) {
        message into;
        if (const auto received = recv(into, how); !received) {
            return received.error();
        }
        return into;
    }
    message recv(flags how, throws_t) requires(detail::receives(Type)) {
        return detail::unwrap(recv(how));
    }
    message recv(throws_t) requires(detail::receives(Type)) { return detail::unwrap(recv()); }

    /// Receives a frame as bytes; those that `into` has no room for are dropped.
    /// @return Its size, which may be larger than `into`.
    result<std::size_t> recv(std::span<std::byte> into, flags how = flags::none) noexcept
        requires(detail::receives(Type)) {
        return detail::counted(
            zlink_recv(handle(), into.data(), into.size(), static_cast<int>(how)));
    }
    std::size_t recv(std::span<std::byte> into, flags how,
                     throws_t) requires(detail::receives(Type)) {
        return detail::unwrap(recv(into, how));
    }

    /// Receives all frames of a message.
    /// @throws std::bad_alloc
    result<multipart> recv_multipart(flags how = flags::none) requires(detail::receives(Type) &&
                                                                       detail::has_frames(Type)) {
        multipart made;
        do {
            message next;
            if (const auto received = recv(next, how); !received) {
                return received.error();
            }
            made.push_back(std::move(next));
        } while (made.back().more());
        return made;
    }
    multipart recv_multipart(throws_t) requires(detail::receives(Type) &&
                                                detail::has_frames(Type)) {
        return detail::unwrap(recv_multipart());
    }

#ifdef ZLINK_BUILD_DRAFT_API
    // Draft types.

    /// Receive the messages of `group`, too.
    /// @error EINVAL  It is longer than ZLINK_GROUP_MAX_LENGTH, or the socket has joined it.
    result<void> join(const std::string& group) requires(Type == pattern::dish) {
        return detail::with_texts({group}, [&] { return zlink_join(handle(), group.c_str()); });
    }
    void join(const std::string& group, throws_t) requires(Type == pattern::dish) {
        detail::unwrap(join(group));
    }
    /// Undoes join(), also for messages that have arrived.
    /// @error EINVAL  The socket has not joined it.
    result<void> leave(const std::string& group) requires(Type == pattern::dish) {
        return detail::with_texts({group}, [&] { return zlink_leave(handle(), group.c_str()); });
    }
    void leave(const std::string& group, throws_t) requires(Type == pattern::dish) {
        detail::unwrap(leave(group));
    }

    /// Connects, and tells the peer's number, for message::set_routing_id().
    /// @error As zlink_connect_peer.
    result<std::uint32_t> connect_peer(const std::string& endpoint) requires(Type ==
                                                                             pattern::peer) {
        std::uint32_t number = 0;
        const auto connected = detail::with_texts({endpoint}, [&] {
            number = zlink_connect_peer(handle(), endpoint.c_str());
            return number != 0 ? 0 : -1;
        });
        return connected ? result<std::uint32_t>{number} : result<std::uint32_t>{connected.error()};
    }
    std::uint32_t connect_peer(const std::string& endpoint,
                               throws_t) requires(Type == pattern::peer) {
        return detail::unwrap(connect_peer(endpoint), true);
    }
    /// Disconnects one peer, once the messages sent to it are written.
    /// @error EHOSTUNREACH  There is no such peer, or not any more.
    result<void> disconnect_peer(std::uint32_t number) noexcept
        requires(Type == pattern::peer || Type == pattern::server) {
        return detail::checked(zlink_disconnect_peer(handle(), number));
    }
    void disconnect_peer(std::uint32_t number,
                         throws_t) requires(Type == pattern::peer || Type == pattern::server) {
        detail::unwrap(disconnect_peer(number));
    }

    /// Whether there is room for a message to the peer with that routing id.
    /// @error EHOSTUNREACH  There is no such peer.
    result<bool> can_send_to(const_bytes routing_id) noexcept requires(Type == pattern::router) {
        const int events =
            zlink_socket_get_peer_state(handle(), routing_id.data(), routing_id.size());
        return events < 0 ? result<bool>{last_error()}
                          : result<bool>{(events & ZLINK_POLLOUT) != 0};
    }
    bool can_send_to(const_bytes routing_id, throws_t) requires(Type == pattern::router) {
        return detail::unwrap(can_send_to(routing_id));
    }
#endif

protected:
    explicit socket_of(void* handle) noexcept : any_socket(handle) {}

private:
    result<void> write(int number, const void* value, std::size_t bytes) noexcept {
        return detail::checked(zlink_setsockopt(handle(), number, value, bytes));
    }

    template<class Value>
    result<Value> read(int number) const noexcept {
        Value value{};
        std::size_t bytes = sizeof value;
        if (zlink_getsockopt(handle(), number, &value, &bytes) != 0) {
            return last_error();
        }
        return value;
    }
};

using pair_socket = socket_of<pattern::pair>;
using pub_socket = socket_of<pattern::pub>;
using sub_socket = socket_of<pattern::sub>;
using req_socket = socket_of<pattern::req>;
using rep_socket = socket_of<pattern::rep>;
using dealer_socket = socket_of<pattern::dealer>;
using router_socket = socket_of<pattern::router>;
using pull_socket = socket_of<pattern::pull>;
using push_socket = socket_of<pattern::push>;
using xpub_socket = socket_of<pattern::xpub>;
using xsub_socket = socket_of<pattern::xsub>;
using raw_stream_socket = socket_of<pattern::raw_stream>;

#ifdef ZLINK_BUILD_DRAFT_API
/// libzmq's draft types. Several threads may use such a socket, as one with option::thread_safe,
/// but for a dgram_socket.
using server_socket = socket_of<pattern::server>;
using client_socket = socket_of<pattern::client>;
using radio_socket = socket_of<pattern::radio>;
using dish_socket = socket_of<pattern::dish>;
using gather_socket = socket_of<pattern::gather>;
using scatter_socket = socket_of<pattern::scatter>;
using dgram_socket = socket_of<pattern::dgram>;
using peer_socket = socket_of<pattern::peer>;
using channel_socket = socket_of<pattern::channel>;
#endif

} // namespace zlink
