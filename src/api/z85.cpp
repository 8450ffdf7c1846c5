// SPDX-License-Identifier: MPL-2.0
#include "api/z85.hpp"

#include "api/boundary.hpp"
#include "api/symbols.hpp"

#include <array>
#include <cstddef>

namespace zlink::api {

namespace {

constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyz"
                                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
constexpr std::uint32_t base = 85;
static_assert(digits.size() == base);

constexpr std::size_t group_octets = 4;
constexpr std::size_t group_digits = 5;

constexpr std::uint8_t no_digit = 0xFF;

constexpr std::array<std::uint8_t, 256> make_digit_values() {
    std::array<std::uint8_t, 256> values{};
    values.fill(no_digit);
    for (std::size_t value = 0; value < digits.size(); ++value) {
        values[static_cast<unsigned char>(digits[value])] = static_cast<std::uint8_t>(value);
    }
    return values;
}

constexpr auto digit_values = make_digit_values();

} // namespace

result<void> encode_z85(std::span<const std::uint8_t> octets, char* text) noexcept {
    if (octets.size() % group_octets != 0) {
        return errc::invalid_argument;
    }
    for (; !octets.empty(); octets = octets.subspan(group_octets)) {
        std::uint32_t number = 0;
        for (const std::uint8_t octet : octets.first(group_octets)) {
            number = number << 8 | octet;
        }
        for (std::size_t index = group_digits; index-- > 0; number /= base) {
            text[index] = digits[number % base];
        }
        text += group_digits;
    }
    return {};
}

result<void> decode_z85(std::string_view text, std::uint8_t* octets) noexcept {
    if (text.empty() || text.size() % group_digits != 0) {
        return errc::invalid_argument;
    }
    for (; !text.empty(); text.remove_prefix(group_digits)) {
        std::uint64_t number = 0; // Five digits exceed 32 bits, never 64.
        for (const char digit : text.substr(0, group_digits)) {
            const std::uint8_t value = digit_values[static_cast<unsigned char>(digit)];
            if (value == no_digit) {
                return errc::invalid_argument;
            }
            number = number * base + value;
        }
        if (number > UINT32_MAX) {
            return errc::invalid_argument;
        }
        for (std::size_t index = group_octets; index-- > 0; number >>= 8) {
            octets[index] = static_cast<std::uint8_t>(number);
        }
        octets += group_octets;
    }
    return {};
}

} // namespace zlink::api

extern "C" char* zlink_z85_encode(char* text, const uint8_t* data, size_t size) {
    return zlink::api::at_boundary([&]() -> zlink::result<char*> {
        if (const auto encoded = zlink::api::encode_z85({data, size}, text); !encoded) {
            return encoded.error();
        }
        text[size / 4 * 5] = '\0';
        return text;
    });
}
ZLINK_ALSO_ZMQ(z85_encode)

extern "C" uint8_t* zlink_z85_decode(uint8_t* data, const char* text) {
    return zlink::api::at_boundary([&]() -> zlink::result<uint8_t*> {
        if (const auto decoded = zlink::api::decode_z85(text, data); !decoded) {
            return decoded.error();
        }
        return data;
    });
}
ZLINK_ALSO_ZMQ(z85_decode)
