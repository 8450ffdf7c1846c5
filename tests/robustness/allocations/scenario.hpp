// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <array>
#include <span>
#include <string>

namespace refusal {

/// A conversation between two sockets of one context.
struct scenario {
    const char* name;
    const char* endpoint; ///< To bind.
    int near_type;        ///< Connects, and sends.
    int far_type;         ///< Binds, and receives.
    int io_threads = 1;
    bool is_watched = false; ///< By a monitor.

    enum class security : unsigned char { none, plain, curve, tls } with = security::none;
    bool conflates = false;
    bool compresses = false;
};

std::span<const scenario> every_scenario() noexcept;

/// Keys and certificates for endpoints with TLS or CURVE, made before memory is refused.
struct credentials {
    std::string certificate;
    std::string key;
    std::string trusted;
    std::array<char, 41> open{};
    std::array<char, 41> hidden{};
};

/// Runs the conversation, with one allocation refused as refusal::begin() was told. Calls that fail
/// because of it are repeated.
/// @return 0 if nothing else failed, and messages arrived after the refusal. Otherwise the standard
///         error output describes the fault.
int converse(const scenario& chosen, const credentials& shown);

} // namespace refusal
