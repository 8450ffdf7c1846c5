// SPDX-License-Identifier: MPL-2.0
#include "security/mechanism.hpp"

#include "crypto/curve_cipher.hpp"
#include "security/curve_mechanism.hpp"
#include "security/null_mechanism.hpp"
#include "security/plain_mechanism.hpp"
#include "wire/zmtp/frame.hpp"

#include <string>

namespace zlink::security {

using namespace wire::zmtp;

namespace {

std::string text_of(std::span<const std::byte> data) {
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

} // namespace

void conversation::say(std::span<const std::byte> body) {
    std::byte header[header_bytes_max];
    const std::size_t header_bytes = write_header(header, body.size(), flag_command);
    unsent.insert(unsent.end(), header, header + header_bytes);
    unsent.insert(unsent.end(), body.begin(), body.end());
}

void conversation::say_refused(wire::zap_status status) {
    if (status != wire::zap_status::temporary_failure) {
        say(encode_error(std::to_string(static_cast<unsigned>(status))));
    }
}

result<void> conversation::take_metadata(std::span<const std::byte> metadata) {
    const result<peer_metadata> known = decode_peer_metadata(metadata, options.type);
    if (!known) {
        record_fault(protocol_fault::invalid_metadata); // Or the socket type is incompatible.
        return known.error();
    }
    peer->routing_id = text_of(known->identity);
    const result<void> visited = decode_metadata(metadata, [&](const property_view& each) {
        if (!pipe::is_own_property(each.name)) {
            peer->properties.add(each.name, text_of(each.value));
        }
    });
    if (!visited) {
        record_fault(protocol_fault::invalid_metadata);
        return visited.error();
    }
    return {};
}

std::vector<std::byte> conversation::own_metadata() const {
    const bool announces_identity = options.type == socket_type::req ||
                                    options.type == socket_type::dealer ||
                                    options.type == socket_type::router;
    std::optional<std::span<const std::byte>> identity;
    if (announces_identity) {
        identity = std::as_bytes(std::span{options.routing_id});
    }
    std::vector<std::byte> metadata;
    std::vector<property_view> extra;
    for (const auto& [name, value] : options.metadata) {
        extra.push_back({name, std::as_bytes(std::span{value})});
    }
    append_metadata(metadata, options.type, identity, extra);
    return metadata;
}

std::unique_ptr<crypto::curve_ciphers> mechanism::take_ciphers() const {
    return nullptr;
}

std::unique_ptr<mechanism> make_mechanism(conversation& about) {
    switch (about.options.mechanism) {
    case security_mechanism::plain:
        if (about.options.as_server) {
            return std::make_unique<plain_server_mechanism>(about);
        }
        return std::make_unique<plain_client_mechanism>(about);
    case security_mechanism::curve:
        if (about.options.as_server) {
            return std::make_unique<curve_server_mechanism>(about);
        }
        return std::make_unique<curve_client_mechanism>(about);
    case security_mechanism::null:
        break;
    }
    return std::make_unique<null_mechanism>(about);
}

} // namespace zlink::security
