// SPDX-License-Identifier: MPL-2.0
// Input: the acts of a session of mechanism CURVE (session_play), whose peer has valid keys.
//
//   250   the peer sends the next command of the handshake
//   251   the same, with one byte changed: its position, the bits that change
//   252   the peer sends a sealed frame: its flags, its length, its bytes
//   253   the same, with one byte changed
#include "session_fuzz.hpp"

#include "testing/curve_far_end.hpp"

#include <string>

using namespace zlink;
using fuzz::script;

namespace {

std::string changed(std::string content, script& input) {
    if (!content.empty()) {
        const std::size_t high = input.byte();
        const std::size_t at = (high << 8 | input.byte()) % content.size();
        content[at] = static_cast<char>(content[at] ^ static_cast<char>(input.byte()));
    }
    return content;
}

void act_as_peer(unsigned choice, testing::far_end& peer, fuzz::session_play& run, script& input) {
    std::string said;
    if (choice == 250 || choice == 251) {
        said = peer.next();
    } else if (peer.is_complete()) {
        const unsigned flags = input.byte();
        said = peer.sealed(input.bytes(input.byte()), flags);
    }
    run.session().peer_sends(choice % 2 == 0 ? said : changed(said, input));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const testing::key_ring keys;
    script input{data, size};
    const unsigned choice = input.byte();
    socket_options own = fuzz::chosen_options(choice);
    own.mechanism = security_mechanism::curve;
    own.curve_secret = own.as_server ? keys.server.hidden : keys.client.hidden;
    own.curve_public = keys.client.open;
    own.curve_server = keys.server.open;
    socket_options others = own;
    others.as_server = !own.as_server;
    others.curve_secret = others.as_server ? keys.server.hidden : keys.client.hidden;
    others.routing_id = input.bytes(input.byte());
    others.type = fuzz::chosen_options(input.byte()).type;

    fuzz::session_play run{input, own, (choice & 128) != 0};
    testing::far_end peer{run.session(), run.stream(), others};
    while (!input.is_over()) {
        const unsigned act = std::min(input.byte(), 253u);
        act < 250 ? run.act(act) : act_as_peer(act, peer, run, input);
    }
    run.finish();
    return 0;
}
