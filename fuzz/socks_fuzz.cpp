// SPDX-License-Identifier: MPL-2.0
// Input: a byte whose lowest bit says whether the client has credentials, then the bytes that the
// proxy sends.
#include "fuzz.hpp"

#include "wire/socks.hpp"

using namespace zlink::wire;
using zlink::fuzz::require;
using zlink::fuzz::touch;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    auto rest = std::as_bytes(std::span{data + 1, size - 1});
    const bool has_credentials = (data[0] & 1) != 0;
    auto exchange =
        socks_exchange::make({.host = "host.example",
                              .port = 5555,
                              .username = has_credentials ? "joe" : "",
                              .password = zlink::secret_text{has_credentials ? "secret" : ""}});
    require(static_cast<bool>(exchange));
    // Method, credentials, reply, address, and the length of a name before it.
    constexpr int answers_max = 5;
    for (int count = 0; exchange->wanted_bytes() != 0; ++count) {
        require(count < answers_max);
        touch(exchange->outgoing());
        const std::size_t wanted = exchange->wanted_bytes();
        require(wanted <= 512);
        if (rest.size() < wanted || !exchange->on_received(rest.first(wanted))) {
            return 0;
        }
        rest = rest.subspan(wanted);
    }
    require(exchange->outgoing().empty());
    return 0;
}
