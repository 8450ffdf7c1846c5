// SPDX-License-Identifier: MPL-2.0
//
// PAIR connects two threads of a process, both ways.
#include <iostream>
#include <thread>
#include <zlink/zlink.hpp>

using zlink::throws;

int main() {
    zlink::context owner;
    zlink::pair_socket here{owner};
    here.bind("inproc://pair", throws);
    std::thread other{[&] {
        zlink::pair_socket there{owner};
        there.connect("inproc://pair", throws);
        zlink::message got = there.recv(throws);
        there.send("and back", throws);
    }};
    here.send("there", throws);
    const zlink::message answer = here.recv(throws);
    other.join();
    std::cout << answer.text() << '\n';
    return answer == "and back" ? 0 : 1;
}
