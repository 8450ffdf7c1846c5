// SPDX-License-Identifier: MPL-2.0
//
// Clients that open a socket, connect, send one message and close, for every message. The server
// confirms each message over another, lasting socket; then the client sends the next one.

#include "measurement.hpp"
#include "sockets.hpp"

#include <string>
#include <vector>

using namespace app_bench;

namespace {

struct settings : run_settings {
    std::size_t client_count = 4;
};

struct workload {
    const settings& run;
    std::string messages;
    std::vector<std::string> receipts; // One for each client.
    body_format bodies;
    board& shared;
};

void receive(const stage& here, const workload& load) {
    zmq::socket_t in(here.context, zmq::socket_type::pull);
    in.bind(load.messages);
    std::vector<zmq::socket_t> receipts;
    for (const std::string& endpoint : load.receipts) {
        receipts.emplace_back(here.context, zmq::socket_type::push);
        receipts.back().bind(endpoint);
    }
    load.shared.arrive();
    for (;;) {
        zmq::message_t message;
        (void)in.recv(message);
        receipts.at(body_format::origin_of(message)).send(message, zmq::send_flags::none);
    }
}

// A closed socket counts until the library has finished it, so there may be too many for a while.
zmq::socket_t open_socket(zmq::context_t& context) {
    for (;;) {
        try {
            return {context, zmq::socket_type::push};
        } catch (const zmq::error_t& error) {
            if (error.num() != EMFILE) {
                throw;
            }
            std::this_thread::yield();
        }
    }
}

void visit(const stage& here, const workload& load, std::size_t client) {
    zmq::socket_t receipts(here.context, zmq::socket_type::pull);
    receipts.connect(load.receipts[client]);
    lane& mine = load.shared.at(client);
    for (std::uint64_t number = 0; !load.shared.is_over(); ++number) {
        const round_trip visited;
        zmq::socket_t out = open_socket(here.context);
        out.connect(load.messages);
        out.send(load.bodies.make(number, client), zmq::send_flags::none);
        out.close();
        add(mine.sent);
        zmq::message_t receipt;
        (void)receipts.recv(receipt);
        require(load.bodies.check(receipt) == number && body_format::origin_of(receipt) == client,
                "another receipt came");
        visited.end(load.shared, mine);
        if (number == 0) {
            load.shared.arrive();
        }
    }
    load.shared.arrive();
}

} // namespace

int main(int argument_count, char** arguments) {
    settings run;
    decode(run, argument_count, arguments,
           {stream_bench::number_option("--clients", "threads (4)", run.client_count)});
    board shared(run.client_count);
    const workload load{run, make_endpoint(run.transport, "messages"),
                        make_endpoints(run.transport, "receipts", run.client_count),
                        body_format(64), shared};
    cast parts(run.is_inproc(), run.io_threads);

    parts.start([&](const stage& here) { receive(here, load); });
    shared.await(1);
    parts.start([&](const stage& here) {
        crew threads;
        for (std::size_t i = 0; i < run.client_count; ++i) {
            threads.start([&, i] { visit(here, load, i); });
        }
    });
    shared.await(run.client_count);
    const measurement measured = measure(run, shared, parts);
    shared.await(run.client_count);
    parts.end();

    check_complete(shared.done(), shared.sent());
    print_result(measured, shared);
}
