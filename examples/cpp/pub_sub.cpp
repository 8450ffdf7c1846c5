// SPDX-License-Identifier: MPL-2.0
//
// XPUB publishes to SUB sockets by topic, and learns of their subscriptions. PUB does not.
#include <iostream>
#include <zlink/zlink.hpp>

using zlink::throws;

int main() {
    zlink::context owner;
    zlink::xpub_socket prices{owner};
    prices.bind("tcp://127.0.0.1:*", throws);

    zlink::sub_socket reader{owner};
    reader.subscribe("gold", throws);
    reader.connect(prices.last_endpoint(throws), throws);
    std::cout << "subscribed: " << prices.recv(throws).text().substr(1) << '\n';

    prices.send(zlink::multipart{"silver", "24.10"}, throws); // Nobody wants it.
    prices.send(zlink::multipart{"gold", "2410.00"}, throws);
    const zlink::multipart price = reader.recv_multipart(throws);
    std::cout << price[0].text() << ": " << price[1].text() << '\n';
    return price[0] == "gold" ? 0 : 1;
}
