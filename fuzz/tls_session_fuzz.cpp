// SPDX-License-Identifier: MPL-2.0
// Input: the acts of a session over TLS (session_play), whose peer is OpenSSL itself.
//
//   second byte  odd: raw bytes instead of ZMTP
//   250   the peer receives, and sends what OpenSSL has to send
//   251   the same, with one byte changed: its position, the bits that change
//   252   the peer encrypts as many bytes as the next one says
//   253   the peer changes its keys and asks us to change ours
//   254   the peer sends close_notify
#include "session_fuzz.hpp"

#include "testing/tls_far_end.hpp"
#include "testing/tls_sides.hpp"

#include <string>

using namespace zlink;
using fuzz::script;

namespace {

/// Without verification: the certificate of the peer that a session dials is not trusted.
const testing::tls_sides& sides() {
    static const testing::tls_sides made = [] {
        socket_options trusting;
        trusting.tls_verify = false;
        return testing::make_tls_sides(trusting);
    }();
    return made;
}

void change_one(std::string& content, script& input) {
    const std::size_t high = input.byte();
    const std::size_t at = high << 8 | input.byte();
    const unsigned by = input.byte();
    if (!content.empty()) {
        char& changed = content[at % content.size()];
        changed = static_cast<char>(changed ^ static_cast<char>(by));
    }
}

void act_as_peer(unsigned choice, testing::tls_far_end& peer, fuzz::session_play& run,
                 script& input) {
    switch (choice) {
    case 252:
        if (peer.is_established()) {
            peer.say(input.bytes(input.byte()));
        }
        return;
    case 253:
        if (peer.may_ask_for_new_keys()) {
            peer.ask_for_new_keys();
        }
        return;
    case 254:
        if (peer.is_established()) {
            peer.send_close_notify();
        }
        return;
    default:
        break;
    }
    peer.hear_rest(run.stream());
    std::string said = peer.take_said();
    if (choice == 251) {
        change_one(said, input);
    }
    run.session().peer_sends(said);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::make_claims_fatal();
    script input{data, size};
    const unsigned choice = input.byte();
    const bool dials = (choice & 128) != 0;
    socket_options options = fuzz::chosen_options(choice);
    options.as_server = false;
    if ((input.byte() & 1) != 0) {
        options.type = socket_type::raw_stream;
        options.raw = true;
    }
    fuzz::session_play run{input, options, dials, dials ? sides().dialing : sides().accepting};
    testing::tls_far_end peer{dials};
    const testing::scripted_stream* const first = &run.stream();
    while (!input.is_over()) {
        const unsigned act = std::min(input.byte(), 254u);
        if (act < 250) {
            run.act(act);
        } else if (&run.stream() == first) {
            act_as_peer(act, peer, run, input); // The peer exists on the first connection only.
        }
    }
    run.finish();
    return 0;
}
