// SPDX-License-Identifier: MPL-2.0
//
// RADIO sends each message to a group; DISH receives the groups that it joined.
#include <iostream>
#include <utility>
#include <zlink/zlink.hpp>

using zlink::throws;

int main() {
    zlink::context owner;
    zlink::radio_socket radio{owner};
    radio.bind("inproc://radio", throws);
    zlink::dish_socket dish{owner};
    dish.join("weather", throws);
    dish.connect("inproc://radio", throws);
    for (const auto& [group, text] : {std::pair{"sports", "2:1"}, std::pair{"weather", "sunny"}}) {
        zlink::message said{text};
        said.set_group(group, throws);
        radio.send(std::move(said), throws);
    }
    const zlink::message heard = dish.recv(throws);
    std::cout << heard.group() << ": " << heard.text() << '\n';
    return heard == "sunny" ? 0 : 1;
}
