// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/secret.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace zlink::wire {

// How a server asks the application whether to accept a peer (27/ZAP): a request and a reply over
// inproc, each one message, with these frames:
//
//   request  "" | "1.0" | request id | domain | address | routing id | mechanism | credentials ...
//   reply    "" | "1.0" | request id | status | status text | user id | metadata

/// The name that the application's handler, a REP or ROUTER, is bound to.
inline constexpr std::string_view zap_endpoint_name = "zeromq.zap.01";

/// Every connection asks once, over a pipe of its own, so that one id suffices.
inline constexpr std::string_view zap_request_id = "1";

/// A request to accept a peer.
struct zap_request {
    std::string_view domain;
    std::string_view address;    ///< The peer's, as Peer-Address has it.
    std::string_view routing_id; ///< Of the socket that asks, as in libzmq.
    std::string_view mechanism;
    std::vector<secret_text> credentials; ///< NULL: none; PLAIN: name, password; CURVE: the key.
};

/// The frames of a request.
/// @return Views into `request` and constants.
std::vector<std::string_view> encode_zap_request(const zap_request& request);

enum class zap_status : std::uint16_t {
    accepted = 200,
    temporary_failure = 300, ///< The peer may try again.
    refused = 400,
    internal_error = 500,
};

/// The handler's decision.
struct zap_reply {
    zap_status status = zap_status::internal_error;
    std::string user_id;
    std::vector<std::pair<std::string, std::string>> metadata; ///< In the reply's order.
};

/// An error in a reply; each has its own number in the socket monitor.
enum class zap_fault : std::uint8_t {
    unspecified,         ///< The first frame is not empty.
    malformed_reply,     ///< There are not seven frames.
    bad_request_id,      ///< The id is not that of the request.
    bad_version,         ///< The version is not 1.0.
    invalid_status_code, ///< The status is none of the four.
    invalid_metadata,    ///< The metadata cannot be read.
};

/// Reads the frames of a reply.
/// @throws std::bad_alloc
std::variant<zap_reply, zap_fault>
decode_zap_reply(std::span<const std::span<const std::byte>> frames);

} // namespace zlink::wire
