// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "fixture.hpp"

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

/// The sizes of payload that tests send wherever messages are forwarded, queued, dropped, sent
/// again, replaced, encrypted, compressed or closed: up to some sizes a payload is in the message
/// itself, copied into a queue, or in a frame with a short length; from 8 KiB it is passed on by
/// reference.
namespace api_test {

inline constexpr std::array<std::size_t, 9> payload_sizes{0,    1,    255,       256,    8191,
                                                          8192, 8193, 64 * 1024, 1 << 20};

/// payload_sizes, and those from which something else changes.
std::vector<std::size_t> payload_sizes_and(std::initializer_list<std::size_t> others);

/// A payload of `bytes` bytes that no other size, and no other `which`, begins with. It compresses
/// to about half.
std::string payload_of(std::size_t bytes, unsigned which = 0);

/// One payload of each of payload_sizes.
std::vector<std::string> every_payload(unsigned which = 0);

/// Payloads of a few of payload_sizes, chosen at random; at least one is passed on by reference.
/// The seed, which is the same in a run, is printed when a test fails, and may be given by
/// --rand-seed.
std::vector<std::string> some_payloads(unsigned which = 0);

/// The seed by which some_payloads() has chosen; empty if it was not called.
std::optional<unsigned> payload_seed();

} // namespace api_test
