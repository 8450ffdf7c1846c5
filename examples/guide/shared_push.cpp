// SPDX-License-Identifier: MPL-2.0
//
// Threads that report to another program through one PUSH socket.
#include <array>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <zlink/zlink.hpp>

using zlink::throws;

int main() {
    constexpr int workers_count = 4;
    constexpr int steps_count = 250;
    zlink::context owner;
    zlink::pull_socket collector{owner};
    collector.bind("tcp://127.0.0.1:*", throws);

    zlink::push_socket reports{owner};
    reports.set(zlink::option::thread_safe, true, throws);
    reports.connect(collector.last_endpoint(throws), throws);
    std::array<std::jthread, workers_count> workers;
    for (int number = 0; number < workers_count; ++number) {
        workers[number] = std::jthread([&reports, name = "worker " + std::to_string(number)] {
            for (int step = 0; step < steps_count; ++step) {
                reports.send(zlink::multipart{name, "step", std::to_string(step)}, throws);
            }
        });
    }

    std::map<std::string, int> next;
    for (int received = 0; received < workers_count * steps_count; ++received) {
        const zlink::multipart report = collector.recv_multipart(throws);
        int& step = next[std::string(report[0].text())];
        if (report.size() != 3 || report[2] != std::to_string(step)) {
            std::cerr << "a message that no worker sent\n";
            return 1;
        }
        ++step; // The messages of one thread arrive in order.
    }
    for (const auto& [name, steps] : next) {
        std::cout << name << ": " << steps << " steps\n";
    }
    return next.size() == workers_count ? 0 : 1;
}
