// SPDX-License-Identifier: MPL-2.0
//
// ROUTER answers each of many DEALER sockets, in any order; a DEALER has several requests under
// way.
#include <iostream>
#include <string>
#include <zlink/zlink.hpp>

using zlink::throws;

int main() {
    zlink::context owner;
    zlink::router_socket server{owner};
    server.bind("tcp://127.0.0.1:*", throws);
    zlink::dealer_socket client{owner};
    client.set(zlink::option::routing_id, "client 1", throws);
    client.connect(server.last_endpoint(throws), throws);
    for (int number = 0; number < 3; ++number) {
        client.send("request " + std::to_string(number), throws);
    }
    std::vector<zlink::multipart> waiting;
    while (waiting.size() < 3) {
        waiting.push_back(server.recv_multipart(throws)); // The name of its peer, and the request.
    }
    for (auto each = waiting.rbegin(); each != waiting.rend(); ++each) {
        server.send(std::move(*each), throws);
    }
    std::string order;
    for (int count = 0; count < 3; ++count) {
        order += client.recv(throws).text().back();
    }
    std::cout << "answered in the order " << order << '\n';
    return order == "210" ? 0 : 1;
}
