// SPDX-License-Identifier: MPL-2.0
#include "api/boundary.hpp"
#include "api/symbols.hpp"
#include "api/z85.hpp"
#include "crypto/curve_box.hpp"

#include <cstddef>
#include <cstring>
#include <string_view>

namespace {

using namespace zlink;

constexpr std::size_t text_bytes = curve_key_bytes / 4 * 5;

result<void> give_text(const std::byte* key, char* text) noexcept {
    text[text_bytes] = '\0';
    return api::encode_z85({reinterpret_cast<const std::uint8_t*>(key), curve_key_bytes}, text);
}

} // namespace

extern "C" int zlink_curve_keypair(char* public_key, char* secret_key) {
    return api::at_system_boundary([&]() -> result<int> {
        const crypto::curve_keys made = crypto::make_curve_keys();
        const result<void> given = give_text(made.open.data(), public_key);
        if (!given || !give_text(made.hidden.data(), secret_key)) {
            return errc::invalid_argument;
        }
        return 0;
    });
}
ZLINK_ALSO_ZMQ(curve_keypair)

extern "C" int zlink_curve_public(char* public_key, const char* secret_key) {
    return api::at_system_boundary([&]() -> result<int> {
        curve_secret_key hidden;
        const std::string_view text{secret_key, strnlen(secret_key, text_bytes + 1)};
        if (text.size() != text_bytes || !api::decode_z85(text, hidden.raw())) {
            return errc::invalid_argument;
        }
        const curve_public_key derived = crypto::public_key_of(hidden);
        const result<void> given = give_text(derived.data(), public_key);
        return given ? result<int>{0} : result<int>{given.error()};
    });
}
ZLINK_ALSO_ZMQ(curve_public)
