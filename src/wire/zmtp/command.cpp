// SPDX-License-Identifier: MPL-2.0
#include "wire/zmtp/command.hpp"

#include <algorithm>
#include <cstring>

namespace zlink::wire::zmtp {

namespace {

constexpr std::size_t value_length_bytes = 4;
constexpr std::size_t ttl_bytes = 2;

std::string_view as_text(std::span<const std::byte> content) noexcept {
    return {reinterpret_cast<const char*>(content.data()), content.size()};
}

std::span<const std::byte> as_byte_span(std::string_view text) noexcept {
    return std::as_bytes(std::span{text});
}

void append(std::vector<std::byte>& out, std::span<const std::byte> content) {
    out.insert(out.end(), content.begin(), content.end());
}

/// Appends a length octet and `text`, which has at most 255 characters.
void append_short_text(std::vector<std::byte>& out, std::string_view text) {
    out.push_back(static_cast<std::byte>(text.size()));
    append(out, as_byte_span(text));
}

/// Appends octets to a buffer that is known to be large enough.
std::byte* write(std::byte* out, std::span<const std::byte> content) noexcept {
    return std::copy(content.begin(), content.end(), out);
}

std::span<const std::byte> first_context_bytes(std::span<const std::byte> context) noexcept {
    return context.first(std::min(context.size(), heartbeat_context_bytes_max));
}

} // namespace

result<command_view> decode_command(std::span<const std::byte> body) noexcept {
    if (body.empty()) {
        return errc::protocol_violation;
    }
    const auto name_bytes = std::to_integer<std::size_t>(body[0]);
    body = body.subspan(1);
    if (name_bytes > body.size()) {
        return errc::protocol_violation;
    }
    return command_view{as_text(body.first(name_bytes)), body.subspan(name_bytes)};
}

std::vector<std::byte> encode_command(std::string_view name, std::span<const std::byte> data) {
    std::vector<std::byte> body;
    body.reserve(1 + name.size() + data.size());
    append_short_text(body, name);
    append(body, data);
    return body;
}

result<property_view> decode_property(std::span<const std::byte>& metadata) noexcept {
    std::span<const std::byte> rest = metadata;
    const auto name_bytes = std::to_integer<std::size_t>(rest[0]);
    rest = rest.subspan(1);
    if (name_bytes == 0 || rest.size() < name_bytes + value_length_bytes) {
        return errc::protocol_violation;
    }
    const std::string_view name = as_text(rest.first(name_bytes));
    rest = rest.subspan(name_bytes);

    const std::size_t value_bytes = load_big_endian<std::uint32_t>(rest.data());
    rest = rest.subspan(value_length_bytes);
    if (value_bytes > rest.size()) {
        return errc::protocol_violation;
    }
    metadata = rest.subspan(value_bytes);
    return property_view{name, rest.first(value_bytes)};
}

result<peer_metadata> decode_peer_metadata(std::span<const std::byte> metadata, socket_type own) {
    peer_metadata peer;
    bool may_not_talk = false;
    const result<void> decoded = decode_metadata(metadata, [&](const property_view& property) {
        if (property.name == identity_property) {
            peer.identity = property.value;
        } else if (property.name == socket_type_property) {
            peer.type = socket_type_named(as_text(property.value));
            may_not_talk |= !peer.type || !may_talk(own, *peer.type);
        }
    });
    if (!decoded) {
        return decoded.error();
    }
    if (may_not_talk) {
        return errc::invalid_argument;
    }
    if (peer.identity.size() > identity_bytes_max) {
        return errc::message_too_large;
    }
    return peer;
}

void append_property(std::vector<std::byte>& out, std::string_view name,
                     std::span<const std::byte> value) {
    append_short_text(out, name);
    std::array<std::byte, value_length_bytes> length;
    store_big_endian(length.data(), static_cast<std::uint32_t>(value.size()));
    append(out, length);
    append(out, value);
}

void append_metadata(std::vector<std::byte>& out, socket_type own,
                     std::optional<std::span<const std::byte>> identity,
                     std::span<const property_view> extra) {
    append_property(out, socket_type_property, as_byte_span(socket_type_name(own)));
    if (identity) {
        append_property(out, identity_property, *identity);
    }
    for (const property_view& property : extra) {
        append_property(out, property.name, property.value);
    }
}

std::vector<std::byte> encode_ready(socket_type own,
                                    std::optional<std::span<const std::byte>> identity,
                                    std::span<const property_view> extra) {
    std::vector<std::byte> body;
    append_short_text(body, ready_name);
    append_metadata(body, own, identity, extra);
    return body;
}

std::vector<std::byte> encode_error(std::string_view reason) {
    std::vector<std::byte> body;
    append_short_text(body, error_name);
    append_short_text(body, reason.substr(0, error_reason_bytes_max));
    return body;
}

result<std::string_view> decode_error(std::span<const std::byte> data) noexcept {
    // An ERROR's data has the structure of a command: a length octet, text, the rest.
    const result<command_view> reason = decode_command(data);
    if (!reason) {
        return reason.error();
    }
    return reason->name;
}

result<ping_view> decode_ping(std::span<const std::byte> data) noexcept {
    if (data.size() < ttl_bytes) {
        return errc::protocol_violation;
    }
    const heartbeat_ttl ttl{load_big_endian<std::uint16_t>(data.data())};
    return ping_view{ttl, first_context_bytes(data.subspan(ttl_bytes))};
}

std::size_t encode_ping(std::span<std::byte, heartbeat_body_bytes_max> out, heartbeat_ttl ttl,
                        std::span<const std::byte> context) noexcept {
    std::byte* end = out.data();
    *end++ = static_cast<std::byte>(ping_name.size());
    end = write(end, as_byte_span(ping_name));
    store_big_endian(end, ttl.count());
    end = write(end + ttl_bytes, first_context_bytes(context));
    return static_cast<std::size_t>(end - out.data());
}

std::size_t encode_pong(std::span<std::byte, heartbeat_body_bytes_max> out,
                        std::span<const std::byte> context) noexcept {
    std::byte* end = out.data();
    *end++ = static_cast<std::byte>(pong_name.size());
    end = write(end, as_byte_span(pong_name));
    end = write(end, first_context_bytes(context));
    return static_cast<std::size_t>(end - out.data());
}

std::optional<subscription_view>
decode_subscription_command(std::span<const std::byte> body) noexcept {
    const std::string_view content = as_text(body);
    if (content.starts_with(subscribe_prefix)) {
        return subscription_view{true, body.subspan(subscribe_prefix.size())};
    }
    if (content.starts_with(cancel_prefix)) {
        return subscription_view{false, body.subspan(cancel_prefix.size())};
    }
    return std::nullopt;
}

std::optional<group_view> decode_group_command(std::span<const std::byte> body) noexcept {
    const std::string_view content = as_text(body);
    const bool joins = content.starts_with(join_prefix);
    if (!joins && !content.starts_with(leave_prefix)) {
        return std::nullopt;
    }
    const std::string_view group = content.substr((joins ? join_prefix : leave_prefix).size());
    return group.size() <= group_bytes_max ? std::optional{group_view{joins, group}} : std::nullopt;
}

void write_group_command(std::vector<std::byte>& out, std::string_view group, bool joins) {
    out.resize(0);
    out.reserve(group_command_bytes_max);
    for (const std::string_view part : {joins ? join_prefix : leave_prefix, group}) {
        const auto data = as_byte_span(part);
        out.insert(out.end(), data.begin(), data.end());
    }
}

std::optional<subscription_view>
decode_subscription_message(std::span<const std::byte> body) noexcept {
    if (body.empty() || std::to_integer<unsigned>(body[0]) > 1) {
        return std::nullopt;
    }
    return subscription_view{body[0] == std::byte{1}, body.subspan(1)};
}

} // namespace zlink::wire::zmtp
