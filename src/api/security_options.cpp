// SPDX-License-Identifier: MPL-2.0
#include "api/security_options.hpp"

#include "api/z85.hpp"
#include "zlink.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace zlink::api {

namespace {

constexpr std::size_t text_bytes_max = 255;
constexpr std::size_t z85_key_bytes = curve_key_bytes / 4 * 5;

std::optional<int> number(const void* value, std::size_t size) noexcept {
    int read = 0;
    if (value == nullptr || size != sizeof read) {
        return {};
    }
    std::memcpy(&read, value, sizeof read);
    return read;
}

/// Server of a mechanism or, with 0, of none.
result<void> set_server(socket_options& target, security_mechanism mechanism, const void* value,
                        std::size_t size) noexcept {
    const std::optional<int> given = number(value, size);
    if (!given || (*given != 0 && *given != 1)) {
        return errc::invalid_argument;
    }
    target.as_server = *given == 1;
    target.mechanism = target.as_server ? mechanism : security_mechanism::null;
    return {};
}

/// A name or password: whoever has one is a client of PLAIN; a null pointer goes back to NULL.
template<class Text>
result<void> set_text(socket_options& target, Text& text, const void* value, std::size_t size) {
    if (value == nullptr && size == 0) {
        target.mechanism = security_mechanism::null;
        return {};
    }
    if (value == nullptr || size == 0 || size > text_bytes_max) {
        return errc::invalid_argument;
    }
    text.assign(std::string_view{static_cast<const char*>(value), size});
    target.mechanism = security_mechanism::plain;
    target.as_server = false;
    return {};
}

/// Takes 32 octets, or 40 characters of Z85 with or without a zero behind.
result<void> set_key(socket_options& target, std::byte* key, const void* value, std::size_t size) {
    curve_secret_key given;
    const auto* const octets = static_cast<const char*>(value);
    const bool is_text = size == z85_key_bytes ||
                         (size == z85_key_bytes + 1 && value != nullptr && octets[size - 1] == 0);
    if (value == nullptr || (size != curve_key_bytes && !is_text)) {
        return errc::invalid_argument;
    }
    if (!is_text) {
        std::memcpy(given.data(), value, curve_key_bytes);
    } else if (const auto decoded = decode_z85({octets, z85_key_bytes}, given.raw()); !decoded) {
        return decoded.error();
    }
    std::memcpy(key, given.data(), curve_key_bytes);
    target.mechanism = security_mechanism::curve;
    return {};
}

result<void> give(std::string_view octets, void* value, std::size_t* size) noexcept {
    if (*size < octets.size()) {
        return errc::invalid_argument;
    }
    std::memcpy(value, octets.data(), octets.size());
    *size = octets.size();
    return {};
}

result<void> give_number(int number, void* value, std::size_t* size) noexcept {
    return give({reinterpret_cast<const char*>(&number), sizeof number}, value, size);
}

/// Gives `text` with a zero behind.
result<void> give_text(std::string_view text, void* value, std::size_t* size) noexcept {
    if (*size <= text.size()) {
        return errc::invalid_argument;
    }
    *std::copy(text.begin(), text.end(), static_cast<char*>(value)) = '\0';
    *size = text.size() + 1;
    return {};
}

result<void> give_key(const std::byte* key, void* value, std::size_t* size) noexcept {
    if (*size == curve_key_bytes) {
        std::memcpy(value, key, curve_key_bytes);
        return {};
    }
    if (*size != z85_key_bytes + 1) {
        return errc::invalid_argument;
    }
    auto* const text = static_cast<char*>(value);
    text[z85_key_bytes] = '\0';
    return encode_z85({reinterpret_cast<const std::uint8_t*>(key), curve_key_bytes}, text);
}

} // namespace

bool is_security_option(int option) noexcept {
    switch (option) {
    case ZLINK_MECHANISM:
    case ZLINK_PLAIN_SERVER:
    case ZLINK_PLAIN_USERNAME:
    case ZLINK_PLAIN_PASSWORD:
    case ZLINK_CURVE_SERVER:
    case ZLINK_CURVE_PUBLICKEY:
    case ZLINK_CURVE_SECRETKEY:
    case ZLINK_CURVE_SERVERKEY:
    case ZLINK_ZAP_ENFORCE_DOMAIN:
        return true;
    default:
        return false;
    }
}

result<void> set_security_option(socket_options& target, int option, const void* value,
                                 std::size_t size) {
    switch (option) {
    case ZLINK_PLAIN_SERVER:
        return set_server(target, security_mechanism::plain, value, size);
    case ZLINK_PLAIN_USERNAME:
        return set_text(target, target.plain_username, value, size);
    case ZLINK_PLAIN_PASSWORD:
        return set_text(target, target.plain_password, value, size);
    case ZLINK_CURVE_SERVER:
        return set_server(target, security_mechanism::curve, value, size);
    case ZLINK_CURVE_PUBLICKEY:
        return set_key(target, target.curve_public.data(), value, size);
    case ZLINK_CURVE_SECRETKEY:
        return set_key(target, target.curve_secret.data(), value, size);
    case ZLINK_CURVE_SERVERKEY: {
        // Whoever knows the server's key is a client.
        const result<void> set = set_key(target, target.curve_server.data(), value, size);
        target.as_server = target.as_server && !set;
        return set;
    }
    case ZLINK_ZAP_ENFORCE_DOMAIN: {
        const std::optional<int> given = number(value, size);
        if (!given) {
            return errc::invalid_argument;
        }
        target.zap_enforce_domain = *given != 0;
        return {};
    }
    default:
        return errc::invalid_argument; // ZLINK_MECHANISM is read-only.
    }
}

result<void> read_security_option(const socket_options& source, int option, void* value,
                                  std::size_t* size) noexcept {
    switch (option) {
    case ZLINK_MECHANISM:
        return give_number(static_cast<int>(source.mechanism), value, size);
    case ZLINK_PLAIN_SERVER:
        return give_number(source.is_server_of(security_mechanism::plain), value, size);
    case ZLINK_PLAIN_USERNAME:
        return give_text(source.plain_username, value, size);
    case ZLINK_PLAIN_PASSWORD:
        return give_text(source.plain_password.text(), value, size);
    case ZLINK_CURVE_SERVER:
        return give_number(source.is_server_of(security_mechanism::curve), value, size);
    case ZLINK_CURVE_PUBLICKEY:
        return give_key(source.curve_public.data(), value, size);
    case ZLINK_CURVE_SECRETKEY:
        return give_key(source.curve_secret.data(), value, size);
    case ZLINK_CURVE_SERVERKEY:
        return give_key(source.curve_server.data(), value, size);
    case ZLINK_ZAP_ENFORCE_DOMAIN:
        return give_number(source.zap_enforce_domain, value, size);
    default:
        return errc::invalid_argument;
    }
}

} // namespace zlink::api
