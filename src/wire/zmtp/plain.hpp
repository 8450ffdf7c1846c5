// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace zlink::wire::zmtp {

// The commands of PLAIN (24/ZMTP-PLAIN). READY and ERROR are those of every mechanism.
//
//   client                            server
//   HELLO     user name, password ──▶
//                                 ◀── WELCOME   no data
//   INITIATE  metadata            ──▶
//                                 ◀── READY     metadata

inline constexpr std::size_t plain_text_bytes_max = 255;

/// The user that a client claims to be, as a view of octets of another owner.
struct plain_hello {
    std::string_view username;
    std::string_view password;
};

/// Makes the body of a HELLO.
///
///   +---------+-----------------+------+---------------------+----------+
///   | 5 HELLO | name length (1) | name | password length (1) | password |
///   +---------+-----------------+------+---------------------+----------+
///
/// @param hello  Each at most plain_text_bytes_max octets.
std::vector<std::byte> encode_plain_hello(const plain_hello& hello);

/// Reads the data of a HELLO.
/// @error protocol_violation  A length exceeds the data, or octets remain.
result<plain_hello> decode_plain_hello(std::span<const std::byte> data) noexcept;

} // namespace zlink::wire::zmtp
