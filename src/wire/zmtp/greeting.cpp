// SPDX-License-Identifier: MPL-2.0
#include "wire/zmtp/greeting.hpp"

#include "base/byte_order.hpp"

#include <algorithm>
#include <cstring>

namespace zlink::wire::zmtp {

namespace {

constexpr std::size_t signature_end_at = 9;
constexpr std::size_t major_at = 10;
constexpr std::size_t minor_at = 11;
constexpr std::size_t older_type_at = 11; ///< In place of the minor version.
constexpr std::size_t mechanism_at = 12;
constexpr std::size_t as_server_at = 32;

constexpr std::uint8_t own_major = 3;
constexpr std::uint8_t own_minor = 1;

} // namespace

greeting_exchange::greeting_exchange(std::string_view mechanism, std::size_t routing_id_bytes,
                                     socket_type type) noexcept
    : mechanism_bytes_(std::min(mechanism.size(), mechanism_bytes_max)), own_type_(type) {
    own_[0] = std::byte{0xff};
    store_big_endian(&own_[1], static_cast<std::uint64_t>(routing_id_bytes) + 1);
    own_[signature_end_at] = std::byte{0x7f};
    own_[major_at] = std::byte{own_major};
    own_[minor_at] = std::byte{own_minor};
    std::memcpy(&own_[mechanism_at], mechanism.data(), mechanism_bytes_);
}

greeting_state greeting_exchange::on_received(std::span<const std::byte>& input) noexcept {
    while (!input.empty() && wanted_bytes() > received_bytes_) {
        const std::size_t taken = std::min(input.size(), wanted_bytes() - received_bytes_);
        std::memcpy(&theirs_[received_bytes_], input.data(), taken);
        received_bytes_ += taken;
        input = input.subspan(taken);
        state_ = advance();
    }
    return state_;
}

std::size_t greeting_exchange::wanted_bytes() const noexcept {
    switch (state_) {
    case greeting_state::signature:
        // A peer of version 1.0 with a short identity may have sent two octets and now wait for us,
        // so the first octet is checked alone.
        return received_bytes_ == 0 ? 1 : signature_bytes;
    case greeting_state::version:
        return major_at + 1;
    case greeting_state::rest:
        return greeting_bytes;
    case greeting_state::socket_type:
        return older_type_at + 1;
    case greeting_state::complete:
    case greeting_state::older_peer:
    case greeting_state::mechanism_mismatch:
        break;
    }
    return 0;
}

greeting_state greeting_exchange::advance() noexcept {
    const bool is_framed_identity = theirs_[0] != std::byte{0xff} ||
                                    (received_bytes_ == signature_bytes &&
                                     (theirs_[signature_end_at] & std::byte{1}) == std::byte{0});
    if (is_framed_identity) {
        peer_.version = peer_version::v1;
        return greeting_state::older_peer;
    }
    if (received_bytes_ < signature_bytes) {
        return greeting_state::signature;
    }
    if (received_bytes_ == signature_bytes) {
        staged_bytes_ = major_at + 1;
        return greeting_state::version;
    }
    if (received_bytes_ == major_at + 1) {
        return on_version();
    }
    if (state_ == greeting_state::socket_type) {
        return on_socket_type();
    }
    return received_bytes_ == greeting_bytes ? on_rest() : greeting_state::rest;
}

greeting_state greeting_exchange::on_version() noexcept {
    peer_.major = std::to_integer<std::uint8_t>(theirs_[major_at]);
    if (peer_.major < own_major) {
        // Zero is version 1.0 behind a signature, one is version 2.0.
        peer_.version = peer_.major == 0 ? peer_version::v1 : peer_version::v2;
        own_[older_type_at] = static_cast<std::byte>(own_type_);
        staged_bytes_ = older_type_at + 1;
        return greeting_state::socket_type;
    }
    staged_bytes_ = greeting_bytes;
    return greeting_state::rest;
}

greeting_state greeting_exchange::on_socket_type() noexcept {
    peer_.type = static_cast<socket_type>(theirs_[older_type_at]);
    return greeting_state::older_peer;
}

greeting_state greeting_exchange::on_rest() noexcept {
    peer_.minor = std::to_integer<std::uint8_t>(theirs_[minor_at]);
    peer_.as_server = (theirs_[as_server_at] & std::byte{1}) != std::byte{0};

    // Only trailing zeros are padding: a name with a zero inside equals no known name.
    const auto* const name = reinterpret_cast<const char*>(&theirs_[mechanism_at]);
    std::size_t name_bytes = mechanism_bytes_max;
    while (name_bytes > 0 && name[name_bytes - 1] == '\0') {
        --name_bytes;
    }
    peer_.mechanism = {name, name_bytes};

    const std::string_view own_mechanism{reinterpret_cast<const char*>(&own_[mechanism_at]),
                                         mechanism_bytes_};
    return peer_.mechanism == own_mechanism ? greeting_state::complete
                                            : greeting_state::mechanism_mismatch;
}

} // namespace zlink::wire::zmtp
