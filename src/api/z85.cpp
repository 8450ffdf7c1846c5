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

constexpr std::size_t group_bytes = 4;
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

result<void> encode_z85(std::span<const std::uint8_t> content, char* text) noexcept {
    if (content.size() % group_bytes != 0) {
        return errc::invalid_argument;
    }
    for (; !content.empty(); content = content.subspan(group_bytes)) {
        std::uint32_t number = 0;
        for (const std::uint8_t byte : content.first(group_bytes)) {
            number = number << 8 | byte;
        }
        for (std::size_t index = group_digits; index-- > 0; number /= base) {
            text[index] = digits[number % base];
        }
        text += group_digits;
    }
    return {};
}

result<void> decode_z85(std::string_view text, std::uint8_t* content) noexcept {
    if (text.empty() || text.size() % group_digits != 0) {
        return errc::invalid_argument;
    }
    for (; !text.empty(); text.remove_prefix(group_digits)) {
        std::uint64_t number = 0; // Five digits may exceed 32 bits, but not 64.
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
        for (std::size_t index = group_bytes; index-- > 0; number >>= 8) {
            content[index] = static_cast<std::uint8_t>(number);
        }
        content += group_bytes;
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
