// SPDX-License-Identifier: MPL-2.0
//
// STREAM: peers that do not speak ZMTP, such as browsers and game clients; files and requests.
#pragma once

#include <zlink/http.hpp>
#include <zlink/socket.hpp>

#include <charconv>
#include <compare>
#include <functional>
#include <variant>

namespace zlink {

/// Names a connection of a STREAM: its routing id.
struct peer_id {
    std::array<unsigned char, 4> bytes{};

    /// They count up from 1.
    std::uint32_t number() const noexcept {
        return std::uint32_t{bytes[0]} << 24U | std::uint32_t{bytes[1]} << 16U |
               std::uint32_t{bytes[2]} << 8U | std::uint32_t{bytes[3]};
    }
    friend auto operator<=>(const peer_id&, const peer_id&) = default;
};

/// Reasons to end a connection (RFC 6455, 7.4.1). The application defines 3000 to 4999.
enum class close_code : int {
    normal = 1000,
    going_away = 1001,
    policy_violation = 1008,
    message_too_big = 1009,
    internal_error = 1011,
};

/// The peer has connected.
struct connected {
    peer_id peer;
    std::string text; ///< Its address, and lines "Name: value".

    std::string_view address() const noexcept {
        return std::string_view(text).substr(0, text.find('\n'));
    }
    /// "Path", "Origin", "Subprotocol" or "Extensions", over ws and wss. Nothing: there is none.
    std::optional<std::string_view> line(std::string_view name) const noexcept {
        std::string_view rest = text;
        while (!rest.empty()) {
            const std::string_view each = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(each.size() + 1, rest.size()));
            if (each.starts_with(name) && each.substr(name.size()).starts_with(": ")) {
                return each.substr(name.size() + 2);
            }
        }
        return std::nullopt;
    }
};

/// The peer has disconnected; everything that it sent has been received before.
struct disconnected {
    peer_id peer;
    close_code code;
    std::string reason;
};

/// The peer has sent a message.
struct received {
    peer_id peer;
    message content;
};

/// The client waits for an answer: stream_socket::reply() and its likes.
struct requested {
    peer_id peer;
    http_request request;
};

using stream_event = std::variant<received, connected, disconnected, requested>;

/// A message of a batch. One that was received may be read until the next call, or asynchronous
/// operation, that receives from the socket, waits until it is ready, polls it, reads ready(), or
/// closes it.
class stream_message {
public:
    stream_message() noexcept : raw_{} {}
    /// @param content  Stays the caller's, and unchanged until the batch is sent.
    stream_message(peer_id to, const_bytes content, flags how = flags::none) noexcept
        : raw_{{to.bytes[0], to.bytes[1], to.bytes[2], to.bytes[3]},
               static_cast<int>(how),
               content.data(),
               content.size()} {}

    peer_id peer() const noexcept {
        return {{raw_.routing_id[0], raw_.routing_id[1], raw_.routing_id[2], raw_.routing_id[3]}};
    }
    std::span<const std::byte> bytes() const noexcept {
        return {static_cast<const std::byte*>(raw_.data), raw_.size};
    }
    std::string_view text() const noexcept {
        return {static_cast<const char*>(raw_.data), raw_.size};
    }
    bool is_text() const noexcept { return (raw_.flags & ZLINK_SNDTEXT) != 0; }
    /// Whether it is the event that the peer has connected; bytes() is then its text.
    bool is_connect() const noexcept { return (raw_.flags & ZLINK_PEER_CAME) != 0; }
    bool is_disconnect() const noexcept { return (raw_.flags & ZLINK_PEER_WENT) != 0; }
    bool is_request() const noexcept { return (raw_.flags & ZLINK_HTTP_REQUEST) != 0; }
    bool is_event() const noexcept { return is_connect() || is_disconnect(); }

private:
    zlink_stream_message_t raw_;
};
static_assert(sizeof(stream_message) == sizeof(zlink_stream_message_t));

/// A socket of ZLINK_STREAM.
class stream_socket : public socket_of<pattern::stream> {
public:
    stream_socket() noexcept = default;
    /// @throws std::system_error
    explicit stream_socket(context& owner) : socket_of(owner) {}
    static result<stream_socket> open(context& owner) noexcept {
        auto opened = socket_of::open(owner);
        return opened ? result<stream_socket>{stream_socket(std::move(*opened))}
                      : result<stream_socket>{opened.error()};
    }

    // Messages.

    /// Sends a copy of `content` to a peer.
    /// @error  As zlink_stream_send.
    result<std::size_t> send(peer_id to, const_bytes content, flags how = flags::none) noexcept {
        return detail::counted(zlink_stream_send(handle(), to.bytes.data(), content.data(),
                                                 content.size(), static_cast<int>(how)));
    }
    std::size_t send(peer_id to, const_bytes content, flags how, throws_t) {
        return detail::unwrap(send(to, content, how));
    }
    std::size_t send(peer_id to, const_bytes content, throws_t) {
        return detail::unwrap(send(to, content));
    }
    /// Without copying a large one.
    /// @param content  Empty afterwards; unchanged if the call fails.
    result<std::size_t> send(peer_id to, message&& content, flags how = flags::none) noexcept {
        return detail::counted(zlink_stream_msg_send(content.native_handle(), handle(),
                                                     to.bytes.data(), static_cast<int>(how)));
    }
    std::size_t send(peer_id to, message&& content, flags how, throws_t) {
        return detail::unwrap(send(to, std::move(content), how));
    }
    std::size_t send(peer_id to, message&& content, throws_t) {
        return detail::unwrap(send(to, std::move(content)));
    }

    /// Sends one payload to many peers, which share it.
    /// @return The number of peers that it was sent to: zlink_stream_send_many.
    result<std::size_t> send_many(std::span<const peer_id> to, message&& content,
                                  flags how = flags::none) noexcept {
        static_assert(sizeof(peer_id) == 4);
        return detail::counted(zlink_stream_send_many(
            handle(), to.data(), to.size(), content.native_handle(), static_cast<int>(how)));
    }
    std::size_t send_many(std::span<const peer_id> to, message&& content, flags how, throws_t) {
        return detail::unwrap(send_many(to, std::move(content), how));
    }
    /// The same, and reports what came of each.
    /// @param outcomes  As many as `to`: zlink_stream_send_each.
    result<std::size_t> send_each(std::span<const peer_id> to, message&& content,
                                  std::span<int> outcomes, flags how = flags::none) noexcept {
        if (outcomes.size() < to.size()) {
            return std::error_code{EINVAL, category()};
        }
        return detail::counted(zlink_stream_send_each(handle(), to.data(), to.size(),
                                                      content.native_handle(),
                                                      static_cast<int>(how), outcomes.data()));
    }

    /// Sends a region of a file as one binary message: zlink_stream_send_file.
    result<void> send_file(peer_id to, int file, std::uint64_t offset, std::uint64_t bytes,
                           flags how = flags::none) noexcept {
        return detail::checked(zlink_stream_send_file(handle(), to.bytes.data(), file, offset,
                                                      bytes, static_cast<int>(how)));
    }
    void send_file(peer_id to, int file, std::uint64_t offset, std::uint64_t bytes, throws_t) {
        detail::unwrap(send_file(to, file, offset, bytes));
    }

    /// Receives a message, event or request.
    /// @throws std::bad_alloc
    result<stream_event> recv(flags how = flags::none) {
        peer_id from;
        message content;
        if (zlink_stream_msg_recv(content.native_handle(), handle(), from.bytes.data(),
                                  static_cast<int>(how)) < 0) {
            return last_error();
        }
        if (!content.more()) {
            if (content.is_request()) {
                return stream_event{requested{from, http_request(std::move(content))}};
            }
            return stream_event{received{from, std::move(content)}};
        }
        const bool has_come = content.data()[0] != std::byte{0};
        message text;
        if (zlink_msg_recv(text.native_handle(), handle(), ZLINK_DONTWAIT) < 0) {
            return last_error();
        }
        return has_come ? stream_event{connected{from, std::string(text.text())}}
                        : stream_event{departure(from, text.text())};
    }
    stream_event recv(throws_t) { return detail::unwrap(recv()); }
    stream_event recv(flags how, throws_t) { return detail::unwrap(recv(how)); }

    /// Receives queued messages and events without copying them: zlink_stream_recv_batch.
    /// @return Those that were received, of `into`.
    result<std::span<stream_message>> recv_batch(std::span<stream_message> into,
                                                 flags how = flags::none) noexcept {
        const int count = zlink_stream_recv_batch(
            handle(), reinterpret_cast<zlink_stream_message_t*>(into.data()), into.size(),
            static_cast<int>(how));
        if (count < 0) {
            return last_error();
        }
        return into.first(static_cast<std::size_t>(count));
    }
    std::span<stream_message> recv_batch(std::span<stream_message> into, throws_t) {
        return detail::unwrap(recv_batch(into));
    }

    /// Sends messages in order, until one cannot be sent: zlink_stream_send_batch.
    /// @return The number sent, at least 1.
    result<std::size_t> send_batch(std::span<const stream_message> messages,
                                   flags how = flags::none) noexcept {
        return detail::counted(zlink_stream_send_batch(
            handle(), reinterpret_cast<const zlink_stream_message_t*>(messages.data()),
            messages.size(), static_cast<int>(how)));
    }
    std::size_t send_batch(std::span<const stream_message> messages, throws_t) {
        return detail::unwrap(send_batch(messages));
    }

    // Peers.

    /// Ends the connection once everything is written: zlink_stream_close.
    result<void> close_peer(peer_id which, close_code code = close_code::normal,
                            const std::string& reason = {}) noexcept {
        return detail::with_texts({reason}, [&] {
            return zlink_stream_close(handle(), which.bytes.data(), static_cast<int>(code),
                                      reason.c_str());
        });
    }
    void close_peer(peer_id which, close_code code, const std::string& reason, throws_t) {
        detail::unwrap(close_peer(which, code, reason));
    }
    /// Ends it at once: zlink_stream_abort.
    result<void> abort_peer(peer_id which, close_code code = close_code::policy_violation,
                            const std::string& reason = {}) noexcept {
        return detail::with_texts({reason}, [&] {
            return zlink_stream_abort(handle(), which.bytes.data(), static_cast<int>(code),
                                      reason.c_str());
        });
    }
    void abort_peer(peer_id which, close_code code, const std::string& reason, throws_t) {
        detail::unwrap(abort_peer(which, code, reason));
    }
    /// @throws std::bad_alloc
    result<zlink::peer> peer_of(peer_id which) const {
        zlink_peer_t found{};
        if (zlink_stream_peer(handle(), which.bytes.data(), &found) != 0) {
            return last_error();
        }
        return detail::describe(found);
    }

    // HTTP. All for endpoints with http and https that are bound later.

    /// Serves the files of a folder: zlink_http_serve.
    result<void> serve(const std::string& prefix, const std::string& folder,
                       const http_folder& how = {}) {
        const zlink_http_folder_t settings{
            .struct_size = sizeof settings,
            .index = how.index ? how.index->c_str() : nullptr,
            .cors_origin = how.cors_origin.empty() ? nullptr : how.cors_origin.c_str(),
            .cache_control = how.cache_control.empty() ? nullptr : how.cache_control.c_str(),
            .lists = how.lists ? 1 : 0,
            .uncompressed = how.is_precompressed ? 0 : 1,
            .portable_etags = how.has_portable_etags ? 1 : 0};
        return detail::with_texts(
            {prefix, folder, how.index.value_or(""), how.cors_origin, how.cache_control},
            [&] { return zlink_http_serve(handle(), prefix.c_str(), folder.c_str(), &settings); });
    }
    void serve(const std::string& prefix, const std::string& folder, const http_folder& how,
               throws_t) {
        detail::unwrap(serve(prefix, folder, how), true);
    }

    /// Gives the requests for a path to the application: zlink_http_route.
    result<void> route(const std::string& path, http_route what) {
        return detail::with_texts({path}, [&] {
            return zlink_http_route(handle(), path.c_str(), static_cast<int>(what));
        });
    }
    void route(const std::string& path, http_route what, throws_t) {
        detail::unwrap(route(path, what), true);
    }

    /// Calls `observer` for each request that is answered, on the I/O threads: zlink_http_observe.
    result<void> observe(zlink_http_observer_fn* observer, void* hint) {
        return detail::checked(zlink_http_observe(handle(), observer, hint));
    }

    /// Answers a request: zlink_http_reply.
    /// @param how  flags::more: parts follow.
    result<void> reply(peer_id to, int status, const http_fields& fields, const_bytes content,
                       flags how = flags::none) {
        return detail::checked(zlink_http_reply(handle(), to.bytes.data(), status, fields.c_str(),
                                                content.data(), content.size(),
                                                static_cast<int>(how)));
    }
    void reply(peer_id to, int status, const http_fields& fields, const_bytes content, throws_t) {
        detail::unwrap(reply(to, status, fields, content), true);
    }
    void reply(peer_id to, int status, const http_fields& fields, const_bytes content, flags how,
               throws_t) {
        detail::unwrap(reply(to, status, fields, content, how), true);
    }
    /// With a region of a file: zlink_http_reply_file.
    result<void> reply_file(peer_id to, int status, const http_fields& fields, int file,
                            std::uint64_t offset, std::uint64_t bytes, flags how = flags::none) {
        return detail::checked(zlink_http_reply_file(handle(), to.bytes.data(), status,
                                                     fields.c_str(), file, offset, bytes,
                                                     static_cast<int>(how)));
    }
    void reply_file(peer_id to, int status, const http_fields& fields, int file,
                    std::uint64_t offset, std::uint64_t bytes, throws_t) {
        detail::unwrap(reply_file(to, status, fields, file, offset, bytes), true);
    }
    /// Sends a further part of an answer: zlink_http_reply_part.
    /// @param how  flags::more: another one follows.
    result<void> reply_part(peer_id to, const_bytes content, flags how = flags::none) {
        return detail::checked(zlink_http_reply_part(handle(), to.bytes.data(), content.data(),
                                                     content.size(), static_cast<int>(how)));
    }
    void reply_part(peer_id to, const_bytes content, flags how, throws_t) {
        detail::unwrap(reply_part(to, content, how), true);
    }
    /// Accepts a request for an upgrade: zlink_http_upgrade.
    /// @param subprotocol  Empty: none.
    result<void> upgrade(peer_id to, const std::string& subprotocol = {},
                         const http_fields& fields = {}) {
        return detail::with_texts({subprotocol}, [&] {
            return zlink_http_upgrade(handle(), to.bytes.data(),
                                      subprotocol.empty() ? nullptr : subprotocol.c_str(),
                                      fields.c_str());
        });
    }
    void upgrade(peer_id to, const std::string& subprotocol, const http_fields& fields, throws_t) {
        detail::unwrap(upgrade(to, subprotocol, fields), true);
    }

private:
    explicit stream_socket(socket_of&& opened) noexcept : socket_of(std::move(opened)) {}

    /// @param text  "1000 closed by the peer".
    static disconnected departure(peer_id from, std::string_view text) {
        int code = 0;
        const auto end = std::from_chars(text.data(), text.data() + text.size(), code).ptr;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        text.remove_prefix(text.starts_with(' ') ? 1 : 0);
        return {from, static_cast<close_code>(code), std::string(text)};
    }
};

} // namespace zlink

template<>
struct std::hash<zlink::peer_id> {
    std::size_t operator()(const zlink::peer_id& which) const noexcept { return which.number(); }
};
