// SPDX-License-Identifier: MPL-2.0
//
// A ROUTER in a libuv loop by ZMQ_FD. Many DEALERs in one thread send one request each, then
// receive the replies.

#include "measurement.hpp"
#include "sockets.hpp"

#include <uv.h>

#include <string>
#include <vector>

using namespace app_bench;

namespace {

struct settings : run_settings {
    std::size_t client_count = 20;
};

struct workload {
    const settings& run;
    std::string endpoint;
    body_format bodies;
    board& shared;
};

// Answers requests as long as ZMQ_EVENTS reports some: the descriptor signals changes only.
class server {
public:
    server(const stage& here, const workload& load)
        : load_{load}, socket_(here.context, zmq::socket_type::router) {
        socket_.bind(load.endpoint);
        uv_loop_init(&loop_);
        uv_poll_init_socket(&loop_, &readiness_, socket_.get(zmq::sockopt::fd));
        readiness_.data = this;
        uv_poll_start(&readiness_, UV_READABLE, [](uv_poll_t* handle, int, int) {
            auto* const self = static_cast<server*>(handle->data);
            add(self->load_.shared.at(0).wakeups);
            self->answer_all();
        });
        answer_all();
        load.shared.arrive();
    }

    ~server() { uv_loop_close(&loop_); }

    void run() { uv_run(&loop_, UV_RUN_DEFAULT); }

private:
    void answer_all() {
        while ((socket_.get(zmq::sockopt::events) & ZMQ_POLLIN) != 0) {
            zmq::message_t client;
            zmq::message_t question;
            (void)socket_.recv(client, zmq::recv_flags::dontwait);
            (void)socket_.recv(question, zmq::recv_flags::dontwait);
            const bool is_last = load_.bodies.check(question) == end_sequence;
            socket_.send(client, zmq::send_flags::sndmore);
            socket_.send(question, zmq::send_flags::none);
            if (is_last) {
                uv_close(reinterpret_cast<uv_handle_t*>(&readiness_), nullptr);
                return;
            }
        }
    }

    const workload& load_;
    zmq::socket_t socket_;
    uv_loop_t loop_{};
    uv_poll_t readiness_{};
};

void ask(const stage& here, const workload& load) {
    std::vector<zmq::socket_t> sockets;
    for (std::size_t i = 0; i < load.run.client_count; ++i) {
        sockets.emplace_back(here.context, zmq::socket_type::dealer);
        sockets.back().connect(load.endpoint);
    }
    lane& mine = load.shared.at(1);
    for (std::uint64_t round = 0; !load.shared.is_over(); ++round) {
        std::vector<round_trip> asked;
        for (std::size_t i = 0; i < sockets.size(); ++i) {
            asked.emplace_back();
            sockets[i].send(load.bodies.make(round, i), zmq::send_flags::none);
            add(mine.sent);
        }
        for (std::size_t i = 0; i < sockets.size(); ++i) {
            zmq::message_t reply;
            (void)sockets[i].recv(reply);
            require(load.bodies.check(reply) == round && body_format::origin_of(reply) == i,
                    "another answer came");
            asked[i].end(load.shared, mine);
        }
        if (round == 0) {
            load.shared.arrive();
        }
    }
    zmq::message_t reply;
    sockets[0].send(load.bodies.make(end_sequence), zmq::send_flags::none);
    (void)sockets[0].recv(reply);
    load.shared.arrive();
}

} // namespace

int main(int argument_count, char** arguments) {
    settings run;
    decode(run, argument_count, arguments,
           {stream_bench::number_option("--clients", "DEALERs (20)", run.client_count)});
    board shared(2);
    const workload load{run, make_endpoint(run.transport, "loop"), body_format(64), shared};
    cast parts(run.is_inproc(), run.io_threads);

    parts.start([&](const stage& here) {
        server loop(here, load);
        loop.run();
        here.await_end();
    });
    shared.await(1);
    parts.start([&](const stage& here) { ask(here, load); });
    shared.await(1);
    const measurement measured = measure(run, shared, parts);
    shared.await(1);
    parts.end();

    check_complete(shared.done(), shared.sent());
    print_result(measured, shared);
}
