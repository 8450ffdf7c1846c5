// SPDX-License-Identifier: MPL-2.0
// Input: a byte that selects the size of pieces and the peer's greeting, then the bytes of a peer
// of version 1.0: its identity, and frames. The outcome must not depend on how the input is split.
#include "fuzz.hpp"

#include "wire/zmtp/identity.hpp"
#include "wire/zmtp/v1_frame.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace zlink::wire::zmtp;
using zlink::fuzz::require;

namespace {

using byte_list = std::vector<std::byte>;

/// The result of decoding a peer's bytes.
struct heard {
    std::string identity;
    byte_list frames; ///< Of version 2.0.
    bool is_over = false;

    bool operator==(const heard&) const = default;
};

heard hear(std::span<const std::byte> content, std::size_t piece_bytes_max,
           const peer_greeting& peer) {
    heard all;
    identity_exchange identity{peer};
    v1_decoder decoder;
    byte_list held;
    while (!content.empty() && !all.is_over) {
        auto piece = content.first(std::min(piece_bytes_max, content.size()));
        content = content.subspan(piece.size());
        all.is_over = !identity.on_received(piece);
        if (!identity.is_complete()) {
            continue;
        }
        all.identity = identity.identity();
        require(all.identity.size() <= 255);
        held.insert(held.end(), piece.begin(), piece.end());
        const std::size_t held_bytes = held.size();
        const v1_decoder::outcome outcome = decoder.decode(held);
        require(outcome.frames.size() + outcome.rest.size() <= held_bytes);
        require(outcome.is_violation || outcome.rest.size() < v1_header_bytes_max);
        all.frames.insert(all.frames.end(), outcome.frames.begin(), outcome.frames.end());
        all.is_over = outcome.is_violation;
        held = byte_list(outcome.rest.begin(), outcome.rest.end());
    }
    return all;
}

/// Checks that `frames` are valid frames of version 2.0.
void check_frames(std::span<const std::byte> frames) {
    while (!frames.empty()) {
        frame_head head;
        const head_status status = read_head(frames.data(), frames.size(), body_bytes_limit, head);
        require(status == head_status::complete && !head.command());
        if (head.frame_bytes() > frames.size()) {
            return;
        }
        frames = frames.subspan(static_cast<std::size_t>(head.frame_bytes()));
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const auto content = std::as_bytes(std::span{data + 1, size - 1});
    const peer_greeting peer{.version = data[0] % 4 == 0 ? peer_version::v2 : peer_version::v1};
    const heard at_once = hear(content, content.size() + 1, peer);
    require(at_once == hear(content, 1 + data[0] / 4, peer));
    check_frames(at_once.frames);
    return 0;
}
