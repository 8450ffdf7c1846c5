// SPDX-License-Identifier: MPL-2.0
//
// Pairs of threads, a client and a server, each pair over an endpoint of its own: REQ and REP, or
// DEALER and ROUTER.

#include "measurement.hpp"
#include "sockets.hpp"

#include <optional>
#include <string>
#include <vector>

using namespace app_bench;

namespace {

struct settings : run_settings {
    int pair_count = 1;
    std::string pattern = "req_rep";
    std::size_t body_bytes = 64;
    bool is_secure = false;
    bool is_watched = false;

    [[nodiscard]] bool is_routed() const { return pattern == "dealer_router"; }
};

struct workload {
    const settings& run;
    std::vector<std::string> endpoints;
    body_format bodies;
    std::optional<key_pairs> keys;
    board& shared;
};

void answer(const stage& here, const workload& load, std::size_t index) {
    crew readers;
    zmq::socket_t socket(here.context,
                         load.run.is_routed() ? zmq::socket_type::router : zmq::socket_type::rep);
    if (load.keys) {
        load.keys->secure_server(socket);
    }
    if (load.run.is_watched) {
        watch(here.context, socket, readers);
    }
    socket.bind(load.endpoints[index]);
    load.shared.arrive();
    for (;;) {
        zmq::message_t client;
        if (load.run.is_routed()) {
            (void)socket.recv(client);
        }
        zmq::message_t question;
        (void)socket.recv(question);
        if (load.run.is_routed()) {
            socket.send(client, zmq::send_flags::sndmore);
        }
        socket.send(question, zmq::send_flags::none);
    }
}

void ask(const stage& here, const workload& load, std::size_t index) {
    crew readers;
    zmq::socket_t socket(here.context,
                         load.run.is_routed() ? zmq::socket_type::dealer : zmq::socket_type::req);
    if (load.keys) {
        load.keys->secure_client(socket);
    }
    if (load.run.is_watched) {
        watch(here.context, socket, readers);
    }
    socket.connect(load.endpoints[index]);
    lane& mine = load.shared.at(index);
    for (std::uint64_t number = 0; !load.shared.is_over(); ++number) {
        const round_trip asked;
        socket.send(load.bodies.make(number, index), zmq::send_flags::none);
        add(mine.sent);
        zmq::message_t reply;
        (void)socket.recv(reply);
        require(load.bodies.check(reply) == number && body_format::origin_of(reply) == index,
                "another answer came");
        asked.end(load.shared, mine);
        if (number == 0) {
            load.shared.arrive();
        }
    }
    load.shared.arrive();
    socket.close(); // Which ends its readers.
}

// One side of all pairs.
template<class Side>
auto all_pairs(const workload& load, Side side) {
    return [&load, side](const stage& here) {
        crew threads;
        for (std::size_t i = 0; i < load.endpoints.size(); ++i) {
            threads.start([&, i] { side(here, load, i); });
        }
    };
}

} // namespace

int main(int argument_count, char** arguments) {
    settings run;
    decode(
        run, argument_count, arguments,
        {stream_bench::number_option("--pairs", "threads that ask, and that answer (1)",
                                     run.pair_count),
         stream_bench::text_option("--pattern", "req_rep, dealer_router (req_rep)", run.pattern),
         stream_bench::number_option("--size", "bytes of a body (64)", run.body_bytes),
         stream_bench::number_option("--curve", "1: with CURVE (0)", run.is_secure),
         stream_bench::number_option("--monitors", "1: all sockets have one (0)", run.is_watched)});
    const auto pairs = static_cast<std::size_t>(run.pair_count);
    board shared(pairs);
    workload load{
        run, make_endpoints(run.transport, "pair", pairs), body_format(run.body_bytes), {}, shared};
    if (run.is_secure) {
        load.keys.emplace();
    }
    cast parts(run.is_inproc(), run.io_threads);

    parts.start(all_pairs(load, answer));
    shared.await(pairs);
    parts.start(all_pairs(load, ask));
    shared.await(pairs);
    const measurement measured = measure(run, shared, parts);
    shared.await(pairs);
    parts.end();

    check_complete(shared.done(), shared.sent());
    print_result(measured, shared);
}
