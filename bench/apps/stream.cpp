// SPDX-License-Identifier: MPL-2.0
//
// One PUSH sends zmq::message_t, or messages of several frames, to one PULL as fast as the PULL
// receives them.

#include "measurement.hpp"
#include "sockets.hpp"

#include <zmq_addon.hpp>

#include <iterator>
#include <string>
#include <vector>

using namespace app_bench;

namespace {

struct settings : run_settings {
    std::size_t body_bytes = 64;
    std::size_t frame_count = 1;
    int high_water_mark = 0; // 0: the default.
    bool is_watched = false;
};

struct workload {
    const settings& run;
    std::string endpoint;
    body_format bodies;
    board& shared;
};

void prepare(const stage& here, const workload& load, zmq::socket_t& socket, crew& readers) {
    if (load.run.high_water_mark != 0) {
        socket.set(zmq::sockopt::sndhwm, load.run.high_water_mark);
        socket.set(zmq::sockopt::rcvhwm, load.run.high_water_mark);
    }
    if (load.run.is_watched) {
        watch(here.context, socket, readers);
    }
}

// Frame i of message n carries i and n; the last message is one frame that carries the number of
// messages before it.
void send_message(zmq::socket_t& socket, const workload& load, std::uint64_t number) {
    if (load.run.frame_count == 1) {
        socket.send(load.bodies.make(number), zmq::send_flags::none);
        return;
    }
    std::vector<zmq::message_t> frames;
    for (std::size_t i = 0; i < load.run.frame_count; ++i) {
        frames.push_back(load.bodies.make(number, i));
    }
    (void)zmq::send_multipart(socket, frames);
}

void send_all(const stage& here, const workload& load) {
    crew readers;
    zmq::socket_t socket(here.context, zmq::socket_type::push);
    prepare(here, load, socket, readers);
    socket.connect(load.endpoint);
    lane& mine = load.shared.at(0);
    while (!load.shared.is_over()) {
        send_message(socket, load, mine.sent.load(std::memory_order_relaxed));
        add(mine.sent);
    }
    socket.send(load.bodies.make(end_sequence, mine.sent.load()), zmq::send_flags::none);
    here.await_end();
    socket.close();
}

// @return Whether the message counts; the last one does not.
bool recv_message(zmq::socket_t& socket, const workload& load, std::uint64_t number) {
    std::vector<zmq::message_t> frames;
    if (load.run.frame_count == 1) {
        frames.emplace_back();
        (void)socket.recv(frames.front());
    } else {
        (void)zmq::recv_multipart(socket, std::back_inserter(frames));
    }
    if (load.bodies.check(frames.front()) == end_sequence) {
        check_complete(number, body_format::origin_of(frames.front()));
        return false;
    }
    require(frames.size() == load.run.frame_count, "a message of another number of frames came");
    for (std::size_t i = 0; i < frames.size(); ++i) {
        require(load.bodies.check(frames[i]) == number && body_format::origin_of(frames[i]) == i,
                "a message was lost or came out of order");
    }
    return true;
}

void recv_all(const stage& here, const workload& load) {
    crew readers;
    zmq::socket_t socket(here.context, zmq::socket_type::pull);
    prepare(here, load, socket, readers);
    socket.bind(load.endpoint);
    load.shared.arrive();
    lane& mine = load.shared.at(1);
    while (recv_message(socket, load, mine.done.load(std::memory_order_relaxed))) {
        add(mine.done);
    }
    load.shared.arrive();
    socket.close();
}

} // namespace

int main(int argument_count, char** arguments) {
    settings run;
    decode(run, argument_count, arguments,
           {stream_bench::number_option("--size", "bytes of a frame (64)", run.body_bytes),
            stream_bench::number_option("--frames", "of a message (1)", run.frame_count),
            stream_bench::number_option("--hwm", "high-water mark of both; 0: the default (0)",
                                        run.high_water_mark),
            stream_bench::number_option("--monitors", "1: both sockets have one (0)",
                                        run.is_watched)});
    board shared(2);
    const workload load{run, make_endpoint(run.transport, "stream"), body_format(run.body_bytes),
                        shared};
    cast parts(run.is_inproc(), run.io_threads);

    parts.start([&](const stage& here) { recv_all(here, load); });
    shared.await(1);
    parts.start([&](const stage& here) { send_all(here, load); });
    const measurement measured = measure(run, shared, parts);
    shared.await(1);
    parts.end();

    check_complete(shared.done(), shared.sent());
    print_result(measured, shared);
}
