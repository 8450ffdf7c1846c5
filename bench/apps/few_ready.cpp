// SPDX-License-Identifier: MPL-2.0
//
// One zmq_poll over many ROUTER sockets of which few are ready: each client thread has one request
// outstanding, each time on another of its sockets.

#include "measurement.hpp"
#include "sockets.hpp"

#include <random>
#include <string>
#include <vector>

using namespace app_bench;

namespace {

struct settings : run_settings {
    std::size_t socket_count = 100;
    std::size_t client_count = 4;
};

struct workload {
    const settings& run;
    std::vector<std::string> endpoints;
    body_format bodies;
    board& shared;
};

void answer(const stage& here, const workload& load) {
    std::vector<zmq::socket_t> sockets;
    std::vector<zmq::pollitem_t> items;
    for (const std::string& endpoint : load.endpoints) {
        sockets.emplace_back(here.context, zmq::socket_type::router);
        sockets.back().bind(endpoint);
        items.push_back({sockets.back().handle(), 0, ZMQ_POLLIN, 0});
    }
    load.shared.arrive();
    for (;;) {
        zmq::poll(items, std::chrono::milliseconds{-1});
        for (std::size_t i = 0; i < items.size(); ++i) {
            if ((items[i].revents & ZMQ_POLLIN) != 0) {
                zmq::message_t client;
                zmq::message_t question;
                (void)sockets[i].recv(client);
                (void)sockets[i].recv(question);
                sockets[i].send(client, zmq::send_flags::sndmore);
                sockets[i].send(question, zmq::send_flags::none);
            }
        }
    }
}

void ask(const stage& here, const workload& load, std::size_t thread) {
    std::vector<zmq::socket_t> sockets;
    for (std::size_t i = thread; i < load.endpoints.size(); i += load.run.client_count) {
        sockets.emplace_back(here.context, zmq::socket_type::dealer);
        sockets.back().connect(load.endpoints[i]);
    }
    std::minstd_rand chance(static_cast<unsigned>(thread) + 1);
    lane& mine = load.shared.at(thread);
    for (std::uint64_t number = 0; !load.shared.is_over(); ++number) {
        // At first on each of them in turn, so that all are connected.
        zmq::socket_t& socket =
            sockets[number < sockets.size() ? number : chance() % sockets.size()];
        const round_trip asked;
        socket.send(load.bodies.make(number, thread), zmq::send_flags::none);
        add(mine.sent);
        zmq::message_t reply;
        (void)socket.recv(reply);
        require(load.bodies.check(reply) == number && body_format::origin_of(reply) == thread,
                "another answer came");
        asked.end(load.shared, mine);
        if (number + 1 == sockets.size()) {
            load.shared.arrive();
        }
    }
    load.shared.arrive();
}

} // namespace

int main(int argument_count, char** arguments) {
    settings run;
    decode(run, argument_count, arguments,
           {stream_bench::number_option("--sockets", "of one zmq_poll (100)", run.socket_count),
            stream_bench::number_option("--clients", "threads with a request under way each (4)",
                                        run.client_count)});
    board shared(run.client_count);
    const workload load{run, make_endpoints(run.transport, "polled", run.socket_count),
                        body_format(64), shared};
    cast parts(run.is_inproc(), run.io_threads);

    parts.start([&](const stage& here) { answer(here, load); });
    shared.await(1);
    parts.start([&](const stage& here) {
        crew threads;
        for (std::size_t i = 0; i < run.client_count; ++i) {
            threads.start([&, i] { ask(here, load, i); });
        }
    });
    shared.await(run.client_count);
    const measurement measured = measure(run, shared, parts);
    shared.await(run.client_count);
    parts.end();

    check_complete(shared.done(), shared.sent());
    print_result(measured, shared);
}
