// SPDX-License-Identifier: MPL-2.0
//
// SERVER answers each of many CLIENT sockets, by its number, on several threads.
#include <array>
#include <iostream>
#include <string>
#include <thread>
#include <zlink/zlink.hpp>

using zlink::throws;

int main() {
    zlink::context owner;
    zlink::server_socket server{owner};
    server.bind("tcp://127.0.0.1:*", throws);
    std::array<std::jthread, 2> workers;
    for (std::jthread& each : workers) {
        each = std::jthread([&server] {
            while (const auto request = server.recv()) {
                zlink::message answer{"re: " + std::string(request->text())};
                answer.set_routing_id(request->routing_id(), throws);
                if (!server.send(std::move(answer))) {
                    std::cerr << "client " << request->routing_id() << " has gone\n";
                }
            }
        });
    }

    zlink::client_socket client{owner};
    client.connect(server.last_endpoint(throws), throws);
    client.send("question", throws);
    const zlink::message answer = client.recv(throws);
    std::cout << answer.text() << '\n';
    server.close(); // The workers' calls fail with ENOTSOCK.
    return answer == "re: question" ? 0 : 1;
}
