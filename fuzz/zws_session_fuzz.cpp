// SPDX-License-Identifier: MPL-2.0
// Input: an octet, of which 1 and 2 choose the mechanism and 4 leaves the upgrade to the input;
// then what happens to a session of a pattern over ws (session_play).
#include "session_fuzz.hpp"
#include "testing/web_upgrade.hpp"

#include <array>

namespace {

using namespace zlink;

std::string request(std::string_view subprotocol) {
    return testing::upgrade_request("/",
                                    "Sec-WebSocket-Protocol: " + std::string(subprotocol) + "\r\n");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::script input{data, size};
    const unsigned mechanism = input.octet();
    const unsigned choice = input.octet();
    socket_options options = fuzz::chosen_options(choice);
    constexpr std::array subprotocols{"ZWS2.0", "ZWS2.0/NULL", "ZWS2.0/PLAIN", "ZWS2.0/CURVE"};
    options.mechanism = (mechanism & 3) == 2   ? security_mechanism::plain
                        : (mechanism & 3) == 3 ? security_mechanism::curve
                                               : security_mechanism::null;
    options.as_server = options.as_server && options.mechanism != security_mechanism::null;
    options.plain_username = "joe";
    const bool dials = (choice & 128) != 0; // Its key cannot be foreseen, so upgrades are refused.
    fuzz::session_play run{input, options, dials, {}, scheme::ws};
    if (!dials && (mechanism & 4) == 0) {
        run.session().peer_sends(request(subprotocols[mechanism & 3]));
    }
    while (!input.is_over()) {
        run.act(std::min(input.octet(), 249u));
    }
    run.finish();
    return 0;
}
