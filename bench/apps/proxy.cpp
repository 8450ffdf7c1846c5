// SPDX-License-Identifier: MPL-2.0
//
// A server in one process: clients send requests over tcp, a proxy forwards them to worker threads,
// and each client waits for its reply. Every second client is a DEALER, the others are REQ.

#include "measurement.hpp"
#include "sockets.hpp"

#include <zmq_addon.hpp>

#include <iterator>
#include <string>
#include <vector>

using namespace app_bench;

namespace {

struct settings : run_settings {
    int client_count = 8;
    int worker_count = 4;
    bool is_steered = false; // By zmq_proxy_steerable, with a capture socket that is not read.
};

void work(zmq::context_t& context, const std::string& endpoint) {
    zmq::socket_t socket(context, zmq::socket_type::rep);
    socket.connect(endpoint);
    for (;;) {
        zmq::message_t question;
        if (socket.recv(question)) {
            socket.send(zmq::message_t("re:" + question.to_string()), zmq::send_flags::none);
        }
    }
}

void ask(zmq::context_t& context, const std::string& endpoint, board& shared, int index) {
    const bool is_dealer = index % 2 == 0;
    zmq::socket_t socket(context, is_dealer ? zmq::socket_type::dealer : zmq::socket_type::req);
    socket.connect(endpoint);
    lane& mine = shared.at(static_cast<std::size_t>(index));
    for (std::uint64_t number = 0; !shared.is_over(); ++number) {
        const std::string question = std::to_string(index) + ":" + std::to_string(number);
        const round_trip asked;
        if (is_dealer) {
            socket.send(zmq::message_t(), zmq::send_flags::sndmore);
        }
        socket.send(zmq::message_t(question), zmq::send_flags::none);
        add(mine.sent);
        std::vector<zmq::message_t> answer;
        (void)zmq::recv_multipart(socket, std::back_inserter(answer));
        require(answer.size() == (is_dealer ? 2U : 1U) &&
                    answer.back().to_string() == "re:" + question,
                "another answer came");
        asked.end(shared, mine);
        if (number == 0) {
            shared.arrive();
        }
    }
    shared.arrive();
}

// Between clients and workers, until the context ends.
void pass_on(const stage& here, const settings& run, const std::string& frontend_endpoint,
             const std::string& backend_endpoint, board& shared) {
    zmq::socket_t frontend(here.context, zmq::socket_type::router);
    zmq::socket_t backend(here.context, zmq::socket_type::dealer);
    frontend.bind(frontend_endpoint);
    backend.bind(backend_endpoint);
    if (!run.is_steered) {
        shared.arrive();
        zmq::proxy(frontend, backend);
        return;
    }
    zmq::socket_t control(here.context, zmq::socket_type::pair);
    zmq::socket_t capture(here.context, zmq::socket_type::pub);
    control.bind("inproc://control");
    capture.bind("inproc://capture");
    shared.arrive();
    const zmq::socket_ref sides[] = {frontend, backend, capture, control};
    zmq::proxy_steerable(sides[0], sides[1], sides[2], sides[3]);
}

} // namespace

int main(int argument_count, char** arguments) {
    settings run;
    run.io_threads = 2;
    decode(
        run, argument_count, arguments,
        {stream_bench::number_option("--clients", "threads that ask (8)", run.client_count),
         stream_bench::number_option("--workers", "threads that answer (4)", run.worker_count),
         stream_bench::number_option("--steered", "1: zmq_proxy_steerable (0)", run.is_steered)});
    const std::string frontend = make_endpoint("tcp", "frontend");
    const std::string backend = make_endpoint(run.transport, "backend");
    board shared(static_cast<std::size_t>(run.client_count));
    const auto clients = static_cast<std::size_t>(run.client_count);
    cast parts(true, run.io_threads);

    parts.start([&](const stage& here) { pass_on(here, run, frontend, backend, shared); });
    shared.await(1);
    for (int i = 0; i < run.worker_count; ++i) {
        parts.start([&](const stage& here) { work(here.context, backend); });
    }
    for (int i = 0; i < run.client_count; ++i) {
        parts.start([&, i](const stage& here) { ask(here.context, frontend, shared, i); });
    }
    shared.await(clients);
    const measurement measured = measure(run, shared, parts);
    shared.await(clients);
    parts.end();

    check_complete(shared.done(), shared.sent());
    print_result(measured, shared);
}
