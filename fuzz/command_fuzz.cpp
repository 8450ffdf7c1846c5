// SPDX-License-Identifier: MPL-2.0
// Input: a byte that picks our socket type, then the body of a command (or a subscription
// message); its data is read as metadata, as a PING, as an ERROR and as PLAIN's HELLO.
#include "fuzz.hpp"

#include "wire/zmtp/command.hpp"
#include "wire/zmtp/plain.hpp"

#include <algorithm>
#include <array>

using namespace zlink::wire::zmtp;
using zlink::fuzz::require;
using zlink::fuzz::touch;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span{text});
}

bool same(std::span<const std::byte> one, std::span<const std::byte> other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end());
}

/// Accepted metadata must equal the encoding of its properties.
void check_metadata(std::span<const std::byte> data, zlink::socket_type own) {
    std::vector<std::byte> encoded;
    std::size_t property_count = 0;
    const auto decoded = decode_metadata(data, [&](const property_view& property) {
        require(!property.name.empty());
        append_property(encoded, property.name, property.value);
        ++property_count;
    });
    require(property_count <= metadata_properties_max);
    require(!decoded || same(encoded, data));

    const auto peer = decode_peer_metadata(data, own);
    require(!peer || static_cast<bool>(decoded));
    if (peer) {
        touch(peer->identity);
        require(peer->identity.size() <= 255);
        require(!peer->type || zlink::may_talk(own, *peer->type));
    }
}

void check_ping(std::span<const std::byte> data) {
    const auto ping = decode_ping(data);
    require(static_cast<bool>(ping) == (data.size() >= 2));
    if (!ping) {
        return;
    }
    std::array<std::byte, heartbeat_body_bytes_max> out;
    const std::size_t written = encode_ping(out, ping->ttl, ping->context);
    const auto body = decode_command(std::span<const std::byte>{out}.first(written));
    require(body && body->name == ping_name);
    require(same(body->data, data.first(std::min(data.size(), body->data.size()))));
    const std::size_t pong_bytes = encode_pong(out, ping->context);
    require(pong_bytes == 5 + ping->context.size());
}

void check_subscriptions(std::span<const std::byte> body) {
    if (const auto command = decode_subscription_command(body)) {
        const std::string_view prefix = command->subscribe ? subscribe_prefix : cancel_prefix;
        require(prefix.size() + command->topic.size() == body.size());
        require(same(body.first(prefix.size()), bytes_of(prefix)));
        touch(command->topic);
    }
    if (const auto message = decode_subscription_message(body)) {
        require(message->topic.size() + 1 == body.size());
        touch(message->topic);
    }
}

/// An accepted HELLO must equal its own encoding.
void check_plain_hello(std::span<const std::byte> data) {
    if (const auto hello = decode_plain_hello(data)) {
        const auto encoded = encode_plain_hello(*hello);
        require(same(std::span{encoded}.subspan(1 + hello_name.size()), data));
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const zlink::socket_type own{data[0] % 12};
    const auto body = std::as_bytes(std::span{data + 1, size - 1});
    check_subscriptions(body);

    const auto command = decode_command(body);
    if (!command) {
        return 0;
    }
    require(1 + command->name.size() + command->data.size() == body.size());
    touch(bytes_of(command->name));
    touch(command->data);
    check_metadata(command->data, own);
    check_ping(command->data);
    check_plain_hello(command->data);
    if (const auto reason = decode_error(command->data)) {
        touch(bytes_of(*reason));
        const auto encoded = encode_error(*reason);
        require(encoded.size() == 7 + reason->size());
    }
    return 0;
}
