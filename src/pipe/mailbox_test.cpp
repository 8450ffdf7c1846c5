// SPDX-License-Identifier: MPL-2.0
#include "pipe/mailbox.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <poll.h>
#include <pthread.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using boost::intrusive_ptr;
using zlink::errc;
using zlink::result;
using monotonic = zlink::pipe::clock;
using zlink::pipe::letter;
using zlink::pipe::waiting_mailbox;

namespace {

struct counted_letter final : letter {
    void retain() noexcept override { ++holders; }
    void release() noexcept override { --holders; }

    std::atomic<int> holders{0};
};

using deliveries = std::vector<std::pair<letter*, std::uint32_t>>;

deliveries collect_all(waiting_mailbox& from) {
    deliveries collected;
    from.collect(
        [&](letter& about, std::uint32_t happened) { collected.emplace_back(&about, happened); });
    return collected;
}

/// A mailbox whose owner takes each letter before its delivery is complete.
class hasty_mailbox final : public waiting_mailbox {
public:
    deliveries collected;

private:
    void on_first_letter() noexcept override {
        collected = collect_all(*this);
        waiting_mailbox::on_first_letter();
    }
};

intrusive_ptr<waiting_mailbox> make_mailbox() {
    return intrusive_ptr<waiting_mailbox>{new waiting_mailbox};
}

bool is_readable(int descriptor) {
    pollfd asked{descriptor, POLLIN, 0};
    return ::poll(&asked, 1, 0) == 1;
}

} // namespace

TEST_SUITE("pipe") {

    TEST_CASE("mailbox: gives what was delivered once, oldest first") {
        const auto box = make_mailbox();
        counted_letter one;
        counted_letter two;
        counted_letter three;
        CHECK(!box->has_mail());
        box->deliver(one, 1);
        box->deliver(two, 2);
        box->deliver(three, 4);
        CHECK(box->has_mail());
        CHECK(collect_all(*box) == deliveries{{&one, 1}, {&two, 2}, {&three, 4}});
        CHECK(!box->has_mail());
        CHECK(collect_all(*box).empty());
    }

    TEST_CASE("mailbox: gathers the events of a letter that lies in it") {
        const auto box = make_mailbox();
        counted_letter about;
        box->deliver(about, 1);
        box->deliver(about, 4);
        box->deliver(about, 4);
        CHECK(collect_all(*box) == deliveries{{&about, 5}});
        box->deliver(about, 8);
        CHECK(collect_all(*box) == deliveries{{&about, 8}});
    }

    TEST_CASE("mailbox: keeps a letter alive while it lies in it, and while it is visited") {
        const auto box = make_mailbox();
        counted_letter about;
        box->deliver(about, 1);
        box->deliver(about, 2);
        CHECK(about.holders == 1);
        box->collect([&](letter&, std::uint32_t) { CHECK(about.holders == 1); });
        CHECK(about.holders == 0);
    }

    TEST_CASE("mailbox: may be delivered to while it is collected") {
        const auto box = make_mailbox();
        counted_letter one;
        counted_letter two;
        box->deliver(one, 1);
        box->deliver(two, 1);
        deliveries first;
        box->collect([&](letter& about, std::uint32_t happened) {
            first.emplace_back(&about, happened);
            box->deliver(one, 16);
            box->deliver(two, 32);
        });
        // Two was visited after its second event, which was collected with the first one.
        CHECK(first == deliveries{{&one, 1}, {&two, 33}});
        CHECK(collect_all(*box) == deliveries{{&one, 16}, {&two, 32}});
    }

    TEST_CASE("mailbox: lets go of what nobody collected") {
        counted_letter about;
        {
            const auto box = make_mailbox();
            box->deliver(about, 1);
        }
        CHECK(about.holders == 0);
    }

    TEST_CASE("mailbox: takes nothing any more once it is shut") {
        const auto box = make_mailbox();
        counted_letter before;
        counted_letter after;
        box->deliver(before, 3);
        deliveries last;
        box->shut(
            [&](letter& about, std::uint32_t happened) { last.emplace_back(&about, happened); });
        CHECK(last == deliveries{{&before, 3}});
        CHECK(before.holders == 0);
        box->deliver(before, 1);
        box->deliver(after, 1);
        box->deliver(after, 2);
        CHECK(before.holders == 0);
        CHECK(after.holders == 0);
    }

    TEST_CASE("waiting mailbox: does not wait while there is mail") {
        const auto box = make_mailbox();
        counted_letter about;
        box->deliver(about, 1);
        CHECK(box->wait({}));
        CHECK(box->wait({}));
        CHECK(collect_all(*box).size() == 1);
    }

    TEST_CASE("waiting mailbox: waits until its deadline, and not at all if that has passed") {
        const auto box = make_mailbox();
        CHECK(box->wait(monotonic::now() - 1h).error() == errc::again);
        CHECK(box->wait(monotonic::now()).error() == errc::again);
        const monotonic::time_point until = monotonic::now() + 2ms;
        CHECK(box->wait(until).error() == errc::again);
        CHECK(monotonic::now() >= until);
    }

    TEST_CASE("waiting mailbox: returns for a nudge, or the next time if nobody waits") {
        const auto box = make_mailbox();
        box->nudge();
        box->nudge();
        CHECK(box->wait({}));
        CHECK(box->wait(monotonic::now()).error() == errc::again); // The nudges are used up.
        counted_letter about;
        box->nudge();
        box->deliver(about, 1);
        CHECK(box->wait({}));
        CHECK(collect_all(*box).size() == 1);
    }

    TEST_CASE("waiting mailbox: is woken by each delivery that it waits for") {
        const auto here = make_mailbox();
        const auto there = make_mailbox();
        counted_letter ping;
        counted_letter pong;
        constexpr int rounds = 2000;
        std::thread other{[&] {
            for (int round = 0; round < rounds; ++round) {
                while (collect_all(*there).empty()) {
                    (void)there->wait({});
                }
                here->deliver(pong, 1);
            }
        }};
        for (int round = 0; round < rounds; ++round) {
            there->deliver(ping, 1);
            while (collect_all(*here).empty()) {
                CHECK(here->wait({}));
            }
        }
        other.join();
    }

    TEST_CASE("waiting mailbox: is woken by a nudge from another thread") {
        const auto here = make_mailbox();
        const auto there = make_mailbox();
        constexpr int rounds = 2000;
        std::thread other{[&] {
            for (int round = 0; round < rounds; ++round) {
                (void)there->wait({});
                here->nudge();
            }
        }};
        for (int round = 0; round < rounds; ++round) {
            there->nudge();
            CHECK(here->wait({}));
        }
        other.join();
    }

    TEST_CASE("waiting mailbox: loses no delivery of several threads") {
        const auto box = make_mailbox();
        constexpr std::size_t thread_count = 3;
        constexpr std::uint32_t events_each = 5000;
        struct {
            counted_letter about;
            std::atomic<std::uint32_t> delivered{0};
        } senders[thread_count];
        std::vector<std::thread> threads;
        for (auto& sender : senders) {
            threads.emplace_back([&] {
                for (std::uint32_t count = 0; count < events_each; ++count) {
                    sender.delivered.fetch_add(1, std::memory_order_relaxed);
                    box->deliver(sender.about, 1);
                }
            });
        }
        // The receiver of an event sees everything that its sender did before.
        std::size_t finished = 0;
        while (finished < thread_count) {
            CHECK(box->wait({}));
            box->collect([&](letter& about, std::uint32_t) {
                for (auto& sender : senders) {
                    if (&about == &sender.about &&
                        sender.delivered.load(std::memory_order_relaxed) == events_each) {
                        // The last events may be reported twice.
                        finished += sender.delivered.exchange(0) == events_each ? 1 : 0;
                    }
                }
            });
        }
        for (std::thread& each : threads) {
            each.join();
        }
        collect_all(*box);
        for (auto& sender : senders) {
            CHECK(sender.about.holders == 0);
        }
    }

    TEST_CASE("waiting mailbox: returns when a signal handler ran") {
        struct sigaction before;
        struct sigaction handled {};
        handled.sa_handler = [](int) {};
        handled.sa_flags = SA_RESTART;
        REQUIRE(::sigaction(SIGUSR1, &handled, &before) == 0);

        std::atomic<bool> is_over{false};
        const pthread_t waiter = ::pthread_self();
        std::thread other{[&] {
            while (!is_over) {
                ::pthread_kill(waiter, SIGUSR1);
                std::this_thread::yield();
            }
        }};
        const auto box = make_mailbox();
        const result<void> waited = box->wait({});
        is_over = true;
        other.join();
        ::sigaction(SIGUSR1, &before, nullptr);
        CHECK(waited.error() == errc::interrupted);
    }

    TEST_CASE("waiting mailbox: has a descriptor that is readable while there is mail") {
        const auto box = make_mailbox();
        const int descriptor = *box->descriptor();
        CHECK(*box->descriptor() == descriptor);
        CHECK(!is_readable(descriptor));
        counted_letter one;
        counted_letter two;
        box->deliver(one, 1);
        CHECK(is_readable(descriptor));
        box->deliver(two, 1);
        CHECK(collect_all(*box).size() == 2);
        CHECK(!is_readable(descriptor));
        box->deliver(one, 1);
        CHECK(is_readable(descriptor));
        CHECK(box->wait({}));
        collect_all(*box);
        CHECK(!is_readable(descriptor));
    }

    TEST_CASE("waiting mailbox: opens its descriptor readable if there is mail already") {
        const auto box = make_mailbox();
        counted_letter about;
        box->deliver(about, 1);
        CHECK(is_readable(*box->descriptor()));
        collect_all(*box);
        CHECK(!is_readable(*box->descriptor()));
    }

    TEST_CASE("waiting mailbox: its descriptor is not readable for ever if mail was taken early") {
        const intrusive_ptr<hasty_mailbox> box{new hasty_mailbox};
        const int descriptor = *box->descriptor();
        counted_letter about;
        box->deliver(about, 1);
        CHECK(box->collected == deliveries{{&about, 1}});
        CHECK(is_readable(descriptor)); // Until the owner checks, in vain.
        CHECK(collect_all(*box).empty());
        CHECK(!is_readable(descriptor));
    }

} // TEST_SUITE
