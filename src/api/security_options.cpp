// SPDX-License-Identifier: MPL-2.0
#include "api/security_options.hpp"

#include "api/option_words.hpp"
#include "api/z85.hpp"
#include "zlink.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace zlink::api {

namespace {

constexpr std::size_t text_bytes_max = 255;
constexpr std::size_t z85_key_bytes = curve_key_bytes / 4 * 5;

result<int> number(int option, const void* value, std::size_t size) {
    int read = 0;
    if (size != sizeof read) {
        return refuse_size(option, sizeof read, size);
    }
    if (value == nullptr) {
        return refuse_null(option);
    }
    std::memcpy(&read, value, sizeof read);
    return read;
}

/// Selects the server role of a mechanism or, with 0, no mechanism.
result<void> set_server(socket_options& target, int option, security_mechanism mechanism,
                        const void* value, std::size_t size) {
    const result<int> given = number(option, value, size);
    if (!given) {
        return given.error();
    }
    if (*given != 0 && *given != 1) {
        return refuse_range(option, *given, 0, 1);
    }
    target.as_server = *given == 1;
    target.mechanism = target.as_server ? mechanism : security_mechanism::null;
    return {};
}

/// Sets a name or password, and so the client role of PLAIN; a null pointer selects NULL.
template<class Text>
result<void> set_text(socket_options& target, int option, Text& text, const void* value,
                      std::size_t size) {
    if (value == nullptr && size == 0) {
        target.mechanism = security_mechanism::null;
        return {};
    }
    if (size == 0 || size > text_bytes_max) {
        return refuse_length(option, size, 1, text_bytes_max);
    }
    if (value == nullptr) {
        return refuse_null(option);
    }
    text.assign(std::string_view{static_cast<const char*>(value), size});
    target.mechanism = security_mechanism::plain;
    target.as_server = false;
    return {};
}

/// Accepts 32 bytes, or 40 characters of Z85 with or without a terminating null.
result<void> set_key(socket_options& target, int option, std::byte* key, const void* value,
                     std::size_t size) {
    curve_secret_key given;
    const auto* const data = static_cast<const char*>(value);
    const bool is_text = size == z85_key_bytes ||
                         (size == z85_key_bytes + 1 && value != nullptr && data[size - 1] == 0);
    if (value == nullptr) {
        return refuse_null(option);
    }
    if (size != curve_key_bytes && !is_text) {
        return refuse(option, "a key is 32 bytes, or 40 characters of Z85 with or without a zero "
                              "byte behind, not " +
                                  std::to_string(size) + " bytes");
    }
    if (!is_text) {
        std::memcpy(given.data(), value, curve_key_bytes);
    } else if (const auto decoded = decode_z85({data, z85_key_bytes}, given.raw()); !decoded) {
        return refuse(option, "its 40 characters are not Z85");
    }
    std::memcpy(key, given.data(), curve_key_bytes);
    target.mechanism = security_mechanism::curve;
    return {};
}

result<void> give_key(const std::byte* key, const room& to) {
    if (to.bytes() == curve_key_bytes) {
        return to.give({reinterpret_cast<const char*>(key), curve_key_bytes});
    }
    if (to.bytes() != z85_key_bytes + 1) {
        return refuse(to.option(), "a key takes room of 32 bytes, or of 41 for its Z85, not of " +
                                       std::to_string(to.bytes()));
    }
    std::array<char, z85_key_bytes + 1> text{};
    if (const auto encoded =
            encode_z85({reinterpret_cast<const std::uint8_t*>(key), curve_key_bytes}, text.data());
        !encoded) {
        return encoded;
    }
    return to.give({text.data(), text.size()});
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
        return set_server(target, option, security_mechanism::plain, value, size);
    case ZLINK_PLAIN_USERNAME:
        return set_text(target, option, target.plain_username, value, size);
    case ZLINK_PLAIN_PASSWORD:
        return set_text(target, option, target.plain_password, value, size);
    case ZLINK_CURVE_SERVER:
        return set_server(target, option, security_mechanism::curve, value, size);
    case ZLINK_CURVE_PUBLICKEY:
        return set_key(target, option, target.curve_public.data(), value, size);
    case ZLINK_CURVE_SECRETKEY:
        return set_key(target, option, target.curve_secret.data(), value, size);
    case ZLINK_CURVE_SERVERKEY: {
        // A socket with the server's key is a client.
        const result<void> set = set_key(target, option, target.curve_server.data(), value, size);
        target.as_server = target.as_server && !set;
        return set;
    }
    case ZLINK_ZAP_ENFORCE_DOMAIN: {
        const result<int> given = number(option, value, size);
        if (!given) {
            return given.error();
        }
        target.zap_enforce_domain = *given != 0;
        return {};
    }
    default:
        return refuse_setting(option); // ZLINK_MECHANISM is read-only.
    }
}

result<void> read_security_option(const socket_options& source, int option, const room& to) {
    switch (option) {
    case ZLINK_MECHANISM:
        return to.give_number(static_cast<int>(source.mechanism));
    case ZLINK_PLAIN_SERVER:
        return to.give_number(int{source.is_server_of(security_mechanism::plain)});
    case ZLINK_PLAIN_USERNAME:
        return to.give_text(source.plain_username, true);
    case ZLINK_PLAIN_PASSWORD:
        return to.give_text(source.plain_password.text(), true);
    case ZLINK_CURVE_SERVER:
        return to.give_number(int{source.is_server_of(security_mechanism::curve)});
    case ZLINK_CURVE_PUBLICKEY:
        return give_key(source.curve_public.data(), to);
    case ZLINK_CURVE_SECRETKEY:
        return give_key(source.curve_secret.data(), to);
    case ZLINK_CURVE_SERVERKEY:
        return give_key(source.curve_server.data(), to);
    case ZLINK_ZAP_ENFORCE_DOMAIN:
        return to.give_number(int{source.zap_enforce_domain});
    default:
        return refuse_reading(option);
    }
}

} // namespace zlink::api
