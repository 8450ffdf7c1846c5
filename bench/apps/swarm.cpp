// SPDX-License-Identifier: MPL-2.0
//
// Thousands of DEALERs in several processes on one ROUTER that replies; each DEALER sends a message
// a second. The load is paced: libraries differ in CPU time and in the time until a reply.

#include "measurement.hpp"
#include "sockets.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace app_bench;

namespace {

struct settings : run_settings {
    std::size_t client_count = 10000;
    std::size_t process_count = 4;
    double interval_seconds = 1; // Between two messages of a client.
};

struct workload {
    const settings& run;
    std::string endpoint;
    body_format bodies;
    board& shared;
};

constexpr int backlog = 4096;
constexpr std::size_t connecting_max = 100;  // At a time, in one process.
constexpr std::uint64_t timed_interval = 16; // One of so many replies is awaited at once.

void answer(const stage& here, const workload& load) {
    zmq::socket_t socket(here.context, zmq::socket_type::router);
    socket.set(zmq::sockopt::backlog, backlog);
    socket.bind(load.endpoint);
    load.shared.arrive();
    for (;;) {
        zmq::message_t client;
        zmq::message_t question;
        (void)socket.recv(client);
        (void)socket.recv(question);
        socket.send(client, zmq::send_flags::sndmore);
        socket.send(question, zmq::send_flags::none);
    }
}

// The clients of one process.
class clients {
public:
    clients(const stage& here, const workload& load, std::size_t process)
        : load_{load}, process_{process}, mine_{load.shared.at(process)},
          sockets_(load.run.client_count / load.run.process_count) {
        here.context.set(zmq::ctxopt::max_sockets, static_cast<int>(sockets_.size()) + 1);
        for (std::size_t first = 0; first < sockets_.size(); first += connecting_max) {
            const std::size_t last = std::min(first + connecting_max, sockets_.size());
            for (std::size_t i = first; i < last; ++i) {
                sockets_[i] = zmq::socket_t(here.context, zmq::socket_type::dealer);
                sockets_[i].connect(load.endpoint);
                send(i, 0);
            }
            for (std::size_t i = first; i < last; ++i) {
                take(i, 0);
            }
        }
    }

    // Each client receives the reply to its last message, unless it has it, and sends the next one.
    void run() {
        const auto interval =
            std::chrono::duration_cast<monotonic::duration>(std::chrono::duration<double>(
                load_.run.interval_seconds / static_cast<double>(sockets_.size())));
        auto due = monotonic::now();
        for (std::uint64_t turn = 0; !load_.shared.is_over(); ++turn, due += interval) {
            std::this_thread::sleep_until(due);
            const std::size_t i = turn % sockets_.size();
            const std::uint64_t number = turn / sockets_.size() + 1;
            const std::uint64_t last_turn = turn - sockets_.size();
            if (number > 1 && last_turn % timed_interval != 0) {
                take(i, number - 1);
            }
            const round_trip asked;
            send(i, number);
            if (turn % timed_interval == 0) {
                recv(i, number);
                asked.end(load_.shared, mine_);
            }
            turn_count_ = turn + 1;
        }
    }

    void take_the_rest() {
        const std::uint64_t first =
            turn_count_ - std::min<std::uint64_t>(turn_count_, sockets_.size());
        for (std::uint64_t turn = first; turn < turn_count_; ++turn) {
            if (turn % timed_interval != 0) {
                take(turn % sockets_.size(), turn / sockets_.size() + 1);
            }
        }
    }

private:
    [[nodiscard]] std::uint64_t origin(std::size_t i) const {
        return process_ * sockets_.size() + i;
    }

    void send(std::size_t i, std::uint64_t number) {
        sockets_[i].send(load_.bodies.make(number, origin(i)), zmq::send_flags::none);
        add(mine_.sent);
    }

    void recv(std::size_t i, std::uint64_t number) {
        zmq::message_t reply;
        (void)sockets_[i].recv(reply);
        require(load_.bodies.check(reply) == number && body_format::origin_of(reply) == origin(i),
                "another answer came");
    }

    void take(std::size_t i, std::uint64_t number) {
        recv(i, number);
        add(mine_.done);
    }

    const workload& load_;
    std::size_t process_;
    lane& mine_;
    std::vector<zmq::socket_t> sockets_;
    std::uint64_t turn_count_ = 0;
};

} // namespace

int main(int argument_count, char** arguments) {
    settings run;
    decode(
        run, argument_count, arguments,
        {stream_bench::number_option("--clients", "DEALERs (10000)", run.client_count),
         stream_bench::number_option("--processes", "that have them (4)", run.process_count),
         stream_bench::number_option("--interval", "seconds between two messages of a client (1)",
                                     run.interval_seconds)});
    require(!run.is_inproc(), "the clients are in processes of their own");
    // Fewer replies come until each client has sent once and received its reply.
    run.warmup_seconds = std::max(run.warmup_seconds, run.interval_seconds);
    board shared(run.process_count);
    const workload load{run, make_endpoint(run.transport, "swarm"), body_format(64), shared};
    cast parts(false, run.io_threads);

    parts.start([&](const stage& here) { answer(here, load); });
    shared.await(1);
    for (std::size_t i = 0; i < run.process_count; ++i) {
        parts.start([&, i](const stage& here) {
            clients many(here, load, i);
            shared.arrive();
            many.run();
            many.take_the_rest();
            shared.arrive();
        });
    }
    shared.await(run.process_count);
    const measurement measured = measure(run, shared, parts);
    shared.await(run.process_count);
    parts.end();

    check_complete(shared.done(), shared.sent());
    print_result(measured, shared);
}
