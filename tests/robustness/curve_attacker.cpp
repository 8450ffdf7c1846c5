// SPDX-License-Identifier: MPL-2.0
#include "curve_attacker.hpp"

#include <cstdint>
#include <doctest/doctest.h>

namespace robustness {

using api_test::data;

namespace {

constexpr std::size_t greeting_bytes = 64;
constexpr std::size_t welcome_bytes = 168;
constexpr std::size_t cookie_bytes = 96;
const std::string short_nonce = std::string(7, '\0') + '\1';
const std::string next_short_nonce = std::string(7, '\0') + '\2';
const std::string long_nonce(16, 'n');

const unsigned char* raw(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

} // namespace

std::string long_frame(int flags, std::string_view body) {
    std::string head(9, '\0');
    head[0] = static_cast<char>(flags | 2);
    for (int index = 0; index < 8; ++index) {
        head[8 - index] = static_cast<char>(static_cast<std::uint64_t>(body.size()) >> 8 * index);
    }
    return head.append(body);
}

curve_attacker::curve_attacker(const std::string& endpoint, const key_pair& server)
    : peer_(endpoint), server_(server.open_text()) {}

std::string curve_attacker::boxed(std::string_view content, std::string_view nonce,
                                  std::string_view to, const key_pair& from) const {
    REQUIRE(nonce.size() == crypto_box_NONCEBYTES);
    std::string box(content.size() + crypto_box_MACBYTES, '\0');
    REQUIRE(crypto_box_easy(reinterpret_cast<unsigned char*>(box.data()), raw(content),
                            content.size(), raw(nonce), raw(to), from.hidden.data()) == 0);
    return box;
}

void curve_attacker::begin() {
    peer_.send(data({0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0}) + "CURVE" + std::string(47, '\0'));
    peer_.recv(greeting_bytes);
    peer_.send_frame(
        4, "\5HELLO" + data({1, 0}) + std::string(72, '\0') + std::string(transient_.open_text()) +
               short_nonce +
               boxed(std::string(64, '\0'), "CurveZMQHELLO---" + short_nonce, server_, transient_));
    const std::string welcome = peer_.recv_frame().body;
    REQUIRE(welcome.size() == welcome_bytes);
    const std::string nonce = "WELCOME-" + welcome.substr(8, 16);
    const std::string box = welcome.substr(24);
    std::string content(box.size() - crypto_box_MACBYTES, '\0');
    REQUIRE(crypto_box_open_easy(reinterpret_cast<unsigned char*>(content.data()), raw(box),
                                 box.size(), raw(nonce), raw(server_),
                                 transient_.hidden.data()) == 0);
    server_transient_ = content.substr(0, 32);
    cookie_ = content.substr(32, cookie_bytes);
}

void curve_attacker::initiate(std::string_view metadata) const {
    const std::string vouch = boxed(std::string(transient_.open_text()) + server_,
                                    "VOUCH---" + long_nonce, server_transient_, long_term_);
    const std::string content =
        std::string(long_term_.open_text()) + long_nonce + vouch + std::string(metadata);
    peer_.send(long_frame(4, "\x08INITIATE" + cookie_ + next_short_nonce +
                                 boxed(content, "CurveZMQINITIATE" + next_short_nonce,
                                       server_transient_, transient_)));
}

bool curve_attacker::is_taken_in() const {
    return peer_.answers();
}

} // namespace robustness
