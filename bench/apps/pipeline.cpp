// SPDX-License-Identifier: MPL-2.0
//
// A ventilator distributes tasks to workers, and a sink collects their results: one process each,
// or threads of one process over inproc.

#include "measurement.hpp"
#include "sockets.hpp"

#include <string>

using namespace app_bench;

namespace {

struct settings : run_settings {
    int worker_count = 8;
    std::size_t body_bytes = 64;
};

struct workload {
    std::string tasks;
    std::string results;
    body_format bodies;
    board& shared;
};

// The longest time without a result while results are missing.
constexpr std::chrono::seconds patience{5};
constexpr std::chrono::milliseconds look_interval{50};

void ventilate(const stage& here, const workload& load) {
    zmq::socket_t out(here.context, zmq::socket_type::push);
    out.bind(load.tasks);
    load.shared.arrive();
    // The first send blocks until the first worker connects, as every send blocks until there is
    // room.
    lane& mine = load.shared.at(0);
    while (!load.shared.is_over()) {
        out.send(load.bodies.make(mine.sent.load(std::memory_order_relaxed)),
                 zmq::send_flags::none);
        add(mine.sent);
    }
    load.shared.arrive();
    here.await_end();
}

void work(const stage& here, const workload& load) {
    zmq::socket_t in(here.context, zmq::socket_type::pull);
    zmq::socket_t out(here.context, zmq::socket_type::push);
    in.connect(load.tasks);
    out.connect(load.results);
    for (;;) {
        zmq::message_t task;
        (void)in.recv(task);
        out.send(load.bodies.make(load.bodies.check(task), 1), zmq::send_flags::none);
    }
}

void collect(const stage& here, const workload& load) {
    zmq::socket_t in(here.context, zmq::socket_type::pull);
    in.bind(load.results);
    in.set(zmq::sockopt::rcvtimeo, static_cast<int>(look_interval.count()));
    load.shared.arrive();
    lane& mine = load.shared.at(1);
    // The sum of the numbers shows that each task was done once.
    std::uint64_t sum = 0;
    auto last = monotonic::now();
    bool has_drained = false;
    for (zmq::message_t result;;) {
        if (in.recv(result)) {
            sum += load.bodies.check(result);
            require(body_format::origin_of(result) == 1, "a task came past the workers");
            add(mine.done);
            has_drained = false;
            continue;
        }
        const auto now = monotonic::now();
        last = has_drained ? last : now;
        has_drained = true;
        const std::uint64_t sent = load.shared.sent();
        if (load.shared.is_over() && (mine.done.load() == sent || now - last > patience)) {
            check_complete(mine.done.load(), sent);
            require(sum == sent * (sent - 1) / 2, "a task came twice, another not at all");
            break;
        }
    }
    load.shared.arrive();
}

} // namespace

int main(int argument_count, char** arguments) {
    settings run;
    decode(run, argument_count, arguments,
           {stream_bench::number_option("--workers", "between ventilator and sink (8)",
                                        run.worker_count),
            stream_bench::number_option("--size", "bytes of a body (64)", run.body_bytes)});
    board shared(2);
    const workload load{make_endpoint(run.transport, "tasks"),
                        make_endpoint(run.transport, "results"), body_format(run.body_bytes),
                        shared};
    cast parts(run.is_inproc(), run.io_threads);

    parts.start([&](const stage& here) { collect(here, load); });
    parts.start([&](const stage& here) { ventilate(here, load); });
    shared.await(2);
    for (int i = 0; i < run.worker_count; ++i) {
        parts.start([&](const stage& here) { work(here, load); });
    }
    const measurement measured = measure(run, shared, parts);
    shared.await(2);
    parts.end();

    print_result(measured, shared);
}
