// SPDX-License-Identifier: MPL-2.0
//
// XSUB and XPUB with a proxy between them: publishers and subscribers need to know only its
// address.
#include <iostream>
#include <thread>
#include <zlink/zlink.hpp>

using zlink::throws;

int main() {
    zlink::context owner;
    zlink::xsub_socket front{owner};
    zlink::xpub_socket back{owner};
    front.bind("tcp://127.0.0.1:*", throws);
    back.bind("tcp://127.0.0.1:*", throws);
    const std::string for_publishers = front.last_endpoint(throws);
    const std::string for_subscribers = back.last_endpoint(throws);
    std::thread forwarding{[&] { static_cast<void>(zlink::proxy(front, back)); }};
    bool has_arrived = false;
    {
        zlink::sub_socket reader{owner};
        reader.subscribe("news", throws);
        reader.connect(for_subscribers, throws);
        zlink::xpub_socket writer{owner};
        writer.connect(for_publishers, throws);
        writer.recv(throws); // The subscription has come through.
        writer.send("news of today", throws);
        has_arrived = reader.recv(throws) == "news of today";
    }
    owner.shut_down().value(); // Ends the proxy.
    forwarding.join();
    std::cout << (has_arrived ? "arrived\n" : "lost\n");
    return has_arrived ? 0 : 1;
}
