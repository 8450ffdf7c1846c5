// SPDX-License-Identifier: MPL-2.0
//
// Options have types, and errors are values or exceptions.
#include <chrono>
#include <iostream>
#include <zlink/zlink.hpp>

using namespace std::chrono_literals;
using zlink::throws;

int main() {
    zlink::context owner;
    zlink::pull_socket socket{owner};
    socket.set(zlink::option::linger, 100ms, throws);
    socket.set(zlink::option::tls_certificate, "server.pem", throws);
    const int limit = socket.get(zlink::option::rcvhwm, throws);
    std::cout << "at most " << limit << " messages wait\n";

    if (const auto got = socket.recv(zlink::flags::dont_wait)) {
        std::cout << got->text() << '\n';
    } else if (!zlink::is_again(got.error())) {
        std::cerr << got.error().message() << '\n';
        return 1;
    }

    try {
        socket.bind("tcp://127.0.0.1:no port", throws);
    } catch (const std::system_error& failed) {
        std::cout << failed.what() << '\n'; // Says what was wrong, and what would be right.
        return failed.code() == std::errc::invalid_argument ? 0 : 1;
    }
    return 1;
}
