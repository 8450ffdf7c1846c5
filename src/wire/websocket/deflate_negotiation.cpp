// SPDX-License-Identifier: MPL-2.0
#include "wire/websocket/deflate_negotiation.hpp"

#include "wire/field_text.hpp"

#include <algorithm>
#include <utility>

namespace zlink::wire::websocket {

namespace {

constexpr std::string_view extension_name = "permessage-deflate";
constexpr std::string_view server_alone = "server_no_context_takeover";
constexpr std::string_view client_alone = "client_no_context_takeover";
constexpr std::string_view server_bits = "server_max_window_bits";
constexpr std::string_view client_bits = "client_max_window_bits";

/// Stands for client_max_window_bits without a value: any size is acceptable.
constexpr std::uint8_t any_bits = 0;

/// One extension of the field with its parameters.
struct extension {
    std::string_view name;
    bool is_server_alone = false;
    bool is_client_alone = false;
    std::optional<std::uint8_t> server_window_bits{};
    std::optional<std::uint8_t> client_window_bits{}; ///< May be any_bits.

    /// Has a parameter that permessage-deflate does not have, or one twice, or a wrong value.
    bool is_wrong = false;
};

/// Reads the field (RFC 6455, 9.1) from its front.
///
///   extension   = token *( ";" parameter ), separated by commas
///   parameter   = token [ "=" ( token | quoted token ) ], spaces and tabs between all of them
class field_reader {
public:
    explicit field_reader(std::string_view field) noexcept : rest_(field) {}

    /// Skips empty elements of the list, and returns whether nothing else is left.
    bool is_at_end() noexcept {
        while (take(',')) {
        }
        return rest_.empty();
    }

    /// Reads one extension, which ends the field or is followed by a comma.
    /// @return Nothing if it is malformed.
    std::optional<extension> take_extension() noexcept;

private:
    /// Skips spaces, and `wanted` if it is next.
    bool take(char wanted) noexcept;

    std::string_view take_token() noexcept;
    bool take_parameter(extension& to) noexcept;

    std::string_view rest_;
};

bool field_reader::take(char wanted) noexcept {
    rest_ = trimmed(rest_);
    if (!rest_.starts_with(wanted)) {
        return false;
    }
    rest_.remove_prefix(1);
    return true;
}

std::string_view field_reader::take_token() noexcept {
    const auto end = std::ranges::find_if_not(rest_, is_token_character);
    const std::string_view token{rest_.begin(), end};
    rest_.remove_prefix(token.size());
    return token;
}

std::optional<std::uint8_t> window_bits_of(std::string_view value) noexcept {
    if (value == "8" || value == "9") {
        return static_cast<std::uint8_t>(value[0] - '0');
    }
    if (value.size() == 2 && value[0] == '1' && value[1] >= '0' && value[1] <= '5') {
        return static_cast<std::uint8_t>(10 + (value[1] - '0'));
    }
    return std::nullopt;
}

/// Records a parameter of permessage-deflate.
/// @param value  Nothing if it has none.
/// @return Whether it is allowed (RFC 7692, 7.1.1 and 7.1.2).
bool note(extension& to, std::string_view name, std::optional<std::string_view> value) noexcept {
    if (is_same_text(name, server_alone)) {
        return !std::exchange(to.is_server_alone, true) && !value;
    }
    if (is_same_text(name, client_alone)) {
        return !std::exchange(to.is_client_alone, true) && !value;
    }
    const bool is_server_bits = is_same_text(name, server_bits);
    if (!is_server_bits && !is_same_text(name, client_bits)) {
        return false;
    }
    auto& bits = is_server_bits ? to.server_window_bits : to.client_window_bits;
    if (bits || (is_server_bits && !value)) {
        return false;
    }
    bits = value ? window_bits_of(*value) : any_bits;
    return bits.has_value();
}

bool field_reader::take_parameter(extension& to) noexcept {
    rest_ = trimmed(rest_);
    const std::string_view name = take_token();
    std::optional<std::string_view> value;
    if (take('=')) {
        const bool is_quoted = take('"');
        value = take_token();
        // A quoted value is a token, too, so it cannot contain a space.
        if (value->empty() || (is_quoted && (!rest_.starts_with('"') || !take('"')))) {
            return false;
        }
    }
    if (!note(to, name, value)) {
        to.is_wrong = true;
    }
    return !name.empty();
}

std::optional<extension> field_reader::take_extension() noexcept {
    extension taken{.name = take_token()};
    if (taken.name.empty()) {
        return std::nullopt;
    }
    while (take(';')) {
        if (!take_parameter(taken)) {
            return std::nullopt;
        }
    }
    if (!trimmed(rest_).empty() && !take(',')) {
        return std::nullopt;
    }
    return taken;
}

/// The parameters for an offer; nothing if it is not acceptable.
std::optional<deflate_parameters> agreed_on(const extension& offer,
                                            const deflate_parameters& wanted) noexcept {
    deflate_parameters agreed = wanted;
    agreed.server.keeps_context &= !offer.is_server_alone;
    agreed.client.keeps_context &= !offer.is_client_alone;
    agreed.server.window_bits =
        std::min(wanted.server.window_bits, offer.server_window_bits.value_or(window_bits_max));
    if (agreed.server.window_bits < compressing_window_bits_min) {
        return std::nullopt;
    }
    if (!offer.client_window_bits) {
        agreed.client.window_bits = window_bits_max; // The client does not accept a smaller one.
    } else if (*offer.client_window_bits != any_bits) {
        agreed.client.window_bits = std::min(wanted.client.window_bits, *offer.client_window_bits);
    }
    return agreed;
}

void append(std::string& field, std::string_view name) {
    field.append("; ").append(name);
}

void append(std::string& field, std::string_view name, unsigned value) {
    append(field, name);
    field.append("=").append(std::to_string(value));
}

} // namespace

std::optional<deflate_answer> accept_deflate(std::string_view offered,
                                             const deflate_parameters& wanted) {
    field_reader reader{offered};
    while (!reader.is_at_end()) {
        const std::optional<extension> offer = reader.take_extension();
        if (!offer) {
            return std::nullopt;
        }
        if (!is_same_text(offer->name, extension_name) || offer->is_wrong) {
            continue;
        }
        const std::optional<deflate_parameters> agreed = agreed_on(*offer, wanted);
        if (!agreed) {
            continue;
        }
        std::string field{extension_name};
        if (!agreed->server.keeps_context) {
            append(field, server_alone);
        }
        if (!agreed->client.keeps_context) {
            append(field, client_alone);
        }
        if (offer->server_window_bits || agreed->server.window_bits < window_bits_max) {
            append(field, server_bits, agreed->server.window_bits);
        }
        if (agreed->client.window_bits < window_bits_max) {
            append(field, client_bits, agreed->client.window_bits);
        }
        return deflate_answer{*agreed, std::move(field)};
    }
    return std::nullopt;
}

std::string encode_deflate_offer(const deflate_parameters& wanted) {
    std::string field{extension_name};
    if (!wanted.server.keeps_context) {
        append(field, server_alone);
    }
    if (!wanted.client.keeps_context) {
        append(field, client_alone);
    }
    if (wanted.server.window_bits < window_bits_max) {
        append(field, server_bits, wanted.server.window_bits);
    }
    if (wanted.client.window_bits < window_bits_max) {
        append(field, client_bits, wanted.client.window_bits);
    } else {
        append(field, client_bits);
    }
    return field;
}

result<std::optional<deflate_parameters>> decode_deflate_answer(std::string_view answer,
                                                                const deflate_parameters& wanted) {
    field_reader reader{answer};
    if (reader.is_at_end()) {
        return std::optional<deflate_parameters>{};
    }
    const std::optional<extension> accepted = reader.take_extension();
    if (!accepted || !reader.is_at_end() || accepted->is_wrong ||
        !is_same_text(accepted->name, extension_name)) {
        return errc::protocol_violation;
    }
    const std::uint8_t server_window_bits = accepted->server_window_bits.value_or(window_bits_max);
    const std::uint8_t client_window_bits =
        accepted->client_window_bits.value_or(wanted.client.window_bits);
    const bool lets_server_keep = wanted.server.keeps_context || accepted->is_server_alone;
    if (!lets_server_keep || server_window_bits > wanted.server.window_bits ||
        client_window_bits == any_bits || client_window_bits > wanted.client.window_bits) {
        return errc::protocol_violation;
    }
    if (client_window_bits < compressing_window_bits_min) {
        return errc::not_supported;
    }
    deflate_parameters agreed = wanted;
    agreed.server.window_bits = server_window_bits;
    agreed.client.window_bits = client_window_bits;
    agreed.server.keeps_context &= !accepted->is_server_alone;
    agreed.client.keeps_context &= !accepted->is_client_alone;
    return std::optional{agreed};
}

} // namespace zlink::wire::websocket
