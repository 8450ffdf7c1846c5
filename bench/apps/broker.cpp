// SPDX-License-Identifier: MPL-2.0
//
// A broker between many clients and many workers in the manner of the ZeroMQ guide: a ROUTER on
// each side; a request goes to the worker that has been idle longest. The broker, the clients and
// the workers are one process each.

#include "measurement.hpp"
#include "sockets.hpp"

#include <zmq_addon.hpp>

#include <deque>
#include <iterator>
#include <string>
#include <vector>

using namespace app_bench;

namespace {

constexpr std::size_t client_threads = 4;

struct settings : run_settings {
    std::size_t client_count = 1000;
    std::size_t worker_count = 100;
};

struct workload {
    const settings& run;
    std::string frontend;
    std::string backend;
    board& shared;
};

using frames = std::vector<zmq::message_t>;

frames recv_frames(zmq::socket_t& socket, std::size_t count) {
    frames parts;
    (void)zmq::recv_multipart(socket, std::back_inserter(parts));
    require(parts.size() == count, "a message of another number of frames came");
    return parts;
}

// A worker's message: its id, an empty frame, then READY or the client's id, an empty frame and the
// reply.
void on_worker(zmq::socket_t& frontend, zmq::socket_t& backend, std::deque<zmq::message_t>& idle) {
    frames parts;
    (void)zmq::recv_multipart(backend, std::back_inserter(parts));
    require(parts.size() == 3 || parts.size() == 5, "a worker sent another number of frames");
    idle.push_back(std::move(parts[0]));
    if (parts.size() == 5) {
        (void)zmq::send_multipart(frontend, frames{std::make_move_iterator(parts.begin() + 2),
                                                   std::make_move_iterator(parts.end())});
    }
}

void on_client(zmq::socket_t& frontend, zmq::socket_t& backend, std::deque<zmq::message_t>& idle) {
    frames request = recv_frames(frontend, 3);
    frames parts;
    parts.push_back(std::move(idle.front()));
    idle.pop_front();
    parts.emplace_back();
    std::move(request.begin(), request.end(), std::back_inserter(parts));
    (void)zmq::send_multipart(backend, parts);
}

void mediate(const stage& here, const workload& load) {
    zmq::socket_t frontend(here.context, zmq::socket_type::router);
    zmq::socket_t backend(here.context, zmq::socket_type::router);
    frontend.bind(load.frontend);
    backend.bind(load.backend);
    load.shared.arrive();
    std::deque<zmq::message_t> idle;
    for (;;) {
        zmq::pollitem_t items[] = {{backend.handle(), 0, ZMQ_POLLIN, 0},
                                   {frontend.handle(), 0, ZMQ_POLLIN, 0}};
        // Requests stay in the socket while no worker is idle.
        zmq::poll(items, idle.empty() ? 1 : 2, std::chrono::milliseconds{-1});
        if ((items[0].revents & ZMQ_POLLIN) != 0) {
            on_worker(frontend, backend, idle);
        }
        if ((items[1].revents & ZMQ_POLLIN) != 0 && !idle.empty()) {
            on_client(frontend, backend, idle);
        }
    }
}

void work(const stage& here, const workload& load) {
    zmq::socket_t socket(here.context, zmq::socket_type::req);
    socket.connect(load.backend);
    socket.send(zmq::message_t(std::string("READY")), zmq::send_flags::none);
    for (;;) {
        frames request = recv_frames(socket, 3);
        request[2] = zmq::message_t("re:" + request[2].to_string());
        (void)zmq::send_multipart(socket, request);
    }
}

// In each round every client first sends a request, then every client receives its reply.
void ask(const stage& here, const workload& load, std::size_t thread) {
    std::vector<zmq::socket_t> sockets;
    for (std::size_t i = thread; i < load.run.client_count; i += client_threads) {
        sockets.emplace_back(here.context, zmq::socket_type::req);
        sockets.back().connect(load.frontend);
    }
    lane& mine = load.shared.at(thread);
    for (std::uint64_t round = 0; !load.shared.is_over(); ++round) {
        std::vector<round_trip> asked;
        const auto question = [&](std::size_t i) {
            return std::to_string(i) + ":" + std::to_string(round);
        };
        for (std::size_t i = 0; i < sockets.size(); ++i) {
            asked.emplace_back();
            sockets[i].send(zmq::message_t(question(i)), zmq::send_flags::none);
            add(mine.sent);
        }
        for (std::size_t i = 0; i < sockets.size(); ++i) {
            zmq::message_t answer;
            (void)sockets[i].recv(answer);
            require(answer.to_string() == "re:" + question(i), "another answer came");
            asked[i].end(load.shared, mine);
        }
        if (round == 0) {
            load.shared.arrive();
        }
    }
    load.shared.arrive();
}

} // namespace

int main(int argument_count, char** arguments) {
    settings run;
    decode(run, argument_count, arguments,
           {stream_bench::number_option("--clients", "REQ sockets of four threads (1000)",
                                        run.client_count),
            stream_bench::number_option("--workers", "threads with a REQ socket each (100)",
                                        run.worker_count)});
    board shared(client_threads);
    const workload load{run, make_endpoint(run.transport, "frontend"),
                        make_endpoint(run.transport, "backend"), shared};
    cast parts(run.is_inproc(), run.io_threads);

    parts.start([&](const stage& here) { mediate(here, load); });
    shared.await(1);
    parts.start([&](const stage& here) {
        crew threads;
        for (std::size_t i = 0; i < run.worker_count; ++i) {
            threads.start([&] { work(here, load); });
        }
    });
    parts.start([&](const stage& here) {
        crew threads;
        for (std::size_t i = 0; i < client_threads; ++i) {
            threads.start([&, i] { ask(here, load, i); });
        }
    });
    shared.await(client_threads);
    const measurement measured = measure(run, shared, parts);
    shared.await(client_threads);
    parts.end();

    check_complete(shared.done(), shared.sent());
    print_result(measured, shared);
}
