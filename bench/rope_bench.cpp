// SPDX-License-Identifier: MPL-2.0
//
// The cost of a message in the queue of a pipe, without sockets around it: copied into the rope and
// out of it again, on one thread and between two.

#include "pipe/block.hpp"
#include "pipe/message_queue.hpp"

#include <benchmark/benchmark.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

using zlink::pipe::block;
using zlink::pipe::frame;
using zlink::pipe::make_block;
using zlink::pipe::message_queue;

/// Sends a message.
void push(message_queue& queue, const std::vector<std::byte>& body) {
    bool wake_reader = false;
    if (!queue.push_at_once(body.data(), body.size(), wake_reader)) {
        queue.push_copy(body.data(), body.size(), 0);
        wake_reader = queue.finish_message();
    }
    benchmark::DoNotOptimize(wake_reader);
}

/// Copies the message at the front to `to` and removes it.
void pop(message_queue& queue, std::vector<std::byte>& to) {
    if (queue.take_at_once(to.data(), to.size()) == message_queue::nothing) {
        const frame front = queue.front();
        zlink::copy_bytes(to.data(), front.body, front.body_bytes);
        benchmark::DoNotOptimize(queue.pop(front));
    } else {
        benchmark::DoNotOptimize(queue.return_due_credit());
    }
}

/// Into the queue and out of it on one thread.
/// Arguments: bytes of a message, messages that are queued before they are taken.
void one_thread(benchmark::State& state) {
    const auto batch = state.range(1);
    message_queue queue{{.messages_max = 2000}};
    const std::vector<std::byte> body(static_cast<std::size_t>(state.range(0)));
    std::vector<std::byte> received(body.size());
    for (auto _ : state) {
        for (auto count = batch; count > 0; --count) {
            push(queue, body);
        }
        for (auto count = batch; count > 0 && queue.has_frame(); --count) {
            pop(queue, received);
        }
    }
    state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(one_thread)->ArgsProduct({{16, 64, 256, 1024, 4096}, {1, 64, 1000}});

/// From one thread to another, which polls the queue and never parks.
/// Arguments: bytes of a message.
void two_threads(benchmark::State& state) {
    message_queue queue{{.messages_max = 2000}};
    const std::vector<std::byte> body(static_cast<std::size_t>(state.range(0)));
    std::atomic<bool> is_over{false};
    std::uint64_t received_count = 0;
    std::thread reader([&] {
        std::vector<std::byte> received(body.size());
        while (!is_over.load(std::memory_order_relaxed) || queue.has_frame()) {
            while (queue.has_frame()) {
                pop(queue, received);
                ++received_count;
            }
        }
    });
    std::int64_t sent_count = 0;
    for (auto _ : state) {
        while (!queue.has_credit()) {
        }
        push(queue, body);
        ++sent_count;
    }
    is_over.store(true, std::memory_order_relaxed);
    reader.join();
    state.SetItemsProcessed(sent_count);
    if (received_count != static_cast<std::uint64_t>(sent_count)) {
        state.SkipWithError("not everything that was sent was received");
    }
}
BENCHMARK(two_threads)->Arg(16)->Arg(64)->Arg(256)->Arg(1024)->Arg(4096)->UseRealTime();

/// A payload passed by reference, in and out on one thread.
/// Arguments: bytes of the payload.
void by_reference(benchmark::State& state) {
    message_queue queue{{.messages_max = 2000}};
    const auto bytes = static_cast<std::size_t>(state.range(0));
    for (auto _ : state) {
        queue.push_reference(make_block(bytes), bytes, 0);
        benchmark::DoNotOptimize(queue.finish_message());
        benchmark::DoNotOptimize(queue.has_frame());
        const frame front = queue.front();
        front.drop_reference();
        benchmark::DoNotOptimize(queue.pop(front));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(by_reference)->Arg(8 * 1024)->Arg(64 * 1024)->Arg(1024 * 1024);

} // namespace

BENCHMARK_MAIN();
