// SPDX-License-Identifier: MPL-2.0
#include "wire/zmtp/curve.hpp"

#include <array>

namespace zlink::wire::zmtp {

namespace {

constexpr std::byte version_major{1};
constexpr std::byte version_minor{0};
constexpr std::size_t version_bytes = 2;
constexpr std::size_t padding_bytes = 72;

/// Removes the first `bytes` octets from `rest`, which has them.
byte_view take(byte_view& rest, std::size_t bytes) noexcept {
    const byte_view taken = rest.first(bytes);
    rest = rest.subspan(bytes);
    return taken;
}

std::uint64_t take_short_nonce(byte_view& rest) noexcept {
    return load_big_endian<std::uint64_t>(take(rest, curve_short_nonce_bytes).data());
}

/// A body that grows part by part.
class builder {
public:
    explicit builder(std::string_view name) : body_(encode_command(name)) {}

    builder& add(byte_view content) {
        body_.insert(body_.end(), content.begin(), content.end());
        return *this;
    }
    builder& add(std::uint64_t short_nonce) {
        std::array<std::byte, curve_short_nonce_bytes> content;
        store_big_endian(content.data(), short_nonce);
        return add(content);
    }
    builder& add_zeros(std::size_t bytes) {
        body_.resize(body_.size() + bytes);
        return *this;
    }
    std::vector<std::byte> take() noexcept { return std::move(body_); }

private:
    std::vector<std::byte> body_;
};

} // namespace

result<curve_hello> decode_curve_hello(byte_view data) noexcept {
    if (data.size() != curve_hello_data_bytes || data[0] != version_major ||
        data[1] != version_minor) {
        return errc::protocol_violation;
    }
    data = data.subspan(version_bytes + padding_bytes);
    curve_hello hello;
    hello.client_key = take(data, curve_key_bytes);
    hello.nonce = take_short_nonce(data);
    hello.box = data;
    return hello;
}

std::vector<std::byte> encode_curve_hello(const curve_hello& hello) {
    const std::byte version[] = {version_major, version_minor};
    return builder(hello_name)
        .add(version)
        .add_zeros(padding_bytes)
        .add(hello.client_key)
        .add(hello.nonce)
        .add(hello.box)
        .take();
}

result<curve_welcome> decode_curve_welcome(byte_view data) noexcept {
    if (data.size() != curve_welcome_data_bytes) {
        return errc::protocol_violation;
    }
    const byte_view nonce = take(data, curve_long_nonce_bytes);
    return curve_welcome{nonce, data};
}

std::vector<std::byte> encode_curve_welcome(const curve_welcome& welcome) {
    return builder(welcome_name).add(welcome.nonce).add(welcome.box).take();
}

result<curve_initiate> decode_curve_initiate(byte_view data) noexcept {
    if (data.size() < curve_initiate_data_bytes_min) {
        return errc::protocol_violation;
    }
    curve_initiate initiate;
    initiate.cookie = take(data, curve_cookie_bytes);
    initiate.nonce = take_short_nonce(data);
    initiate.box = data;
    return initiate;
}

std::vector<std::byte> encode_curve_initiate(const curve_initiate& initiate) {
    return builder(initiate_name).add(initiate.cookie).add(initiate.nonce).add(initiate.box).take();
}

result<curve_ready> decode_curve_ready(byte_view data) noexcept {
    if (data.size() < curve_ready_data_bytes_min) {
        return errc::protocol_violation;
    }
    const std::uint64_t nonce = take_short_nonce(data);
    return curve_ready{nonce, data};
}

std::vector<std::byte> encode_curve_ready(const curve_ready& ready) {
    return builder(ready_name).add(ready.nonce).add(ready.box).take();
}

} // namespace zlink::wire::zmtp
