// SPDX-License-Identifier: MPL-2.0
//
// PUSH shares out work among PULL sockets, here among two threads.
#include <iostream>
#include <string>
#include <thread>
#include <vector>
#include <zlink/zlink.hpp>

using zlink::throws;

static void work(zlink::context& owner, const std::string& tasks, const std::string& results) {
    zlink::pull_socket in{owner};
    zlink::push_socket out{owner};
    in.connect(tasks, throws);
    out.connect(results, throws);
    for (auto task = in.recv(throws); task != "end"; task = in.recv(throws)) {
        out.send(std::to_string(2 * std::stoi(std::string(task.text()))), throws);
    }
}

int main() {
    zlink::context owner;
    zlink::push_socket tasks{owner};
    zlink::pull_socket results{owner};
    tasks.bind("tcp://127.0.0.1:*", throws);
    results.bind("tcp://127.0.0.1:*", throws);
    std::vector<std::thread> workers;
    for (int count = 0; count < 2; ++count) {
        workers.emplace_back(work, std::ref(owner), tasks.last_endpoint(throws),
                             results.last_endpoint(throws));
    }
    while (tasks.peers(throws).size() < workers.size()) { // Else the first one gets everything.
        std::this_thread::yield();
    }
    for (int number = 1; number <= 100; ++number) {
        tasks.send(std::to_string(number), throws);
    }
    int sum = 0;
    for (int count = 0; count < 100; ++count) {
        sum += std::stoi(std::string(results.recv(throws).text()));
    }
    for (std::size_t count = 0; count < workers.size(); ++count) {
        tasks.send("end", throws); // In turn: one for each.
    }
    for (auto& each : workers) {
        each.join();
    }
    std::cout << "the sum is " << sum << '\n';
    return sum == 10100 ? 0 : 1;
}
