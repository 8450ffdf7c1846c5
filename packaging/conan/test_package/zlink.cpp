// SPDX-License-Identifier: MPL-2.0
// Sends a message through zlink with its C++ interface.
#include <zlink/zlink.hpp>

int main() {
    using zlink::throws;
    zlink::context owner;
    zlink::push_socket out{owner};
    zlink::pull_socket in{owner};
    in.bind("inproc://pipe", throws);
    out.connect("inproc://pipe", throws);
    out.send("hello", throws);
    return in.recv(throws) == "hello" ? 0 : 1;
}
