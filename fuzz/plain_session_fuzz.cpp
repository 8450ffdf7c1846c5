// SPDX-License-Identifier: MPL-2.0
// Input: the acts of a session of mechanism PLAIN (session_play).
#include "session_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    zlink::fuzz::play(data, size, zlink::security_mechanism::plain);
    return 0;
}
