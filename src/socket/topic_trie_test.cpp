// SPDX-License-Identifier: MPL-2.0
// Single behaviours first; then random operations against a naive model
// (testing/topic_operations.hpp), and topics that are long or deep.
#include "socket/topic_trie.hpp"

#include "testing/bytes.hpp"
#include "testing/topic_operations.hpp"

#include <doctest/doctest.h>

#include <array>
#include <random>
#include <set>
#include <string>
#include <vector>

using zlink::socket::topic_counts;
using zlink::socket::topic_subscribers;
using zlink::socket::topic_view;
using zlink::testing::bytes_of;
using zlink::testing::text;

namespace {

std::multiset<void*> matching(const topic_subscribers& subscribers, std::string_view data) {
    std::multiset<void*> visited;
    subscribers.match(bytes_of(data), [&](void* each) { visited.insert(each); });
    return visited;
}

std::set<std::string> topics_of(const topic_counts& counts) {
    std::set<std::string> topics;
    counts.for_each([&](topic_view topic) { topics.emplace(text(topic)); });
    return topics;
}

} // namespace

TEST_SUITE("socket") {

    TEST_CASE("topic counts: match data that begins with a topic") {
        topic_counts counts;
        CHECK(!counts.matches(bytes_of("")));
        CHECK(!counts.matches(bytes_of("abc")));

        CHECK(counts.add(bytes_of("ab")));
        CHECK(counts.matches(bytes_of("ab")));
        CHECK(counts.matches(bytes_of("abc")));
        CHECK(!counts.matches(bytes_of("a")));
        CHECK(!counts.matches(bytes_of("ac")));
        CHECK(!counts.matches(bytes_of("")));
    }

    TEST_CASE("topic counts: match everything with the empty topic") {
        topic_counts counts;
        CHECK(counts.add({}));
        CHECK(counts.matches({}));
        CHECK(counts.matches(bytes_of("abc")));
        CHECK(counts.remove({}) == topic_counts::removal::last);
        CHECK(!counts.matches({}));
    }

    TEST_CASE("topic counts: drop a topic when it was removed as often as it was added") {
        topic_counts counts;
        CHECK(counts.add(bytes_of("a")));
        CHECK(!counts.add(bytes_of("a")));
        CHECK(counts.remove(bytes_of("a")) == topic_counts::removal::not_last);
        CHECK(counts.matches(bytes_of("a")));
        CHECK(counts.remove(bytes_of("a")) == topic_counts::removal::last);
        CHECK(!counts.matches(bytes_of("a")));
        CHECK(counts.remove(bytes_of("a")) == topic_counts::removal::unknown);
    }

    TEST_CASE("topic counts: know neither a part of a topic nor where topics part") {
        topic_counts counts;
        counts.add(bytes_of("abcd"));
        counts.add(bytes_of("abxy"));
        CHECK(counts.remove(bytes_of("")) == topic_counts::removal::unknown);
        CHECK(counts.remove(bytes_of("a")) == topic_counts::removal::unknown);
        CHECK(counts.remove(bytes_of("ab")) == topic_counts::removal::unknown);
        CHECK(counts.remove(bytes_of("abc")) == topic_counts::removal::unknown);
        CHECK(counts.remove(bytes_of("abcde")) == topic_counts::removal::unknown);
        CHECK(!counts.matches(bytes_of("abc")));
        CHECK(topics_of(counts) == std::set<std::string>{"abcd", "abxy"});
    }

    TEST_CASE("topic counts: list each topic once") {
        topic_counts counts;
        for (const char* topic : {"", "a", "ab", "abc", "b", "abd", "a"}) {
            counts.add(bytes_of(topic));
        }
        CHECK(topics_of(counts) == std::set<std::string>{"", "a", "ab", "abc", "abd", "b"});
        counts.remove(bytes_of("ab"));
        CHECK(topics_of(counts) == std::set<std::string>{"", "a", "abc", "abd", "b"});
    }

    TEST_CASE("topic counts: tell all 256 bytes apart") {
        topic_counts counts;
        for (int byte = 0; byte < 256; byte += 2) {
            CHECK(counts.add(bytes_of(std::string(1, static_cast<char>(byte)))));
        }
        for (int byte = 0; byte < 256; ++byte) {
            CHECK(counts.matches(bytes_of(std::string(2, static_cast<char>(byte)))) ==
                  (byte % 2 == 0));
        }
    }

    TEST_CASE("topic subscribers: are visited for each of their topics that data begins with") {
        std::array<int, 3> peers;
        topic_subscribers subscribers;
        CHECK(subscribers.add({}, &peers[0]) == topic_subscribers::addition::first);
        CHECK(subscribers.add(bytes_of("a"), &peers[0]) == topic_subscribers::addition::first);
        CHECK(subscribers.add(bytes_of("ab"), &peers[1]) == topic_subscribers::addition::first);
        CHECK(subscribers.add(bytes_of("ab"), &peers[2]) == topic_subscribers::addition::not_first);

        CHECK(matching(subscribers, "") == std::multiset<void*>{&peers[0]});
        CHECK(matching(subscribers, "b") == std::multiset<void*>{&peers[0]});
        CHECK(matching(subscribers, "a") == std::multiset<void*>{&peers[0], &peers[0]});
        CHECK(matching(subscribers, "abc") ==
              std::multiset<void*>{&peers[0], &peers[0], &peers[1], &peers[2]});
    }

    TEST_CASE("topic subscribers: have a topic once, however often they add it") {
        std::array<int, 2> peers;
        topic_subscribers subscribers;
        subscribers.add(bytes_of("a"), &peers[0]);
        CHECK(subscribers.add(bytes_of("a"), &peers[0]) == topic_subscribers::addition::not_first);
        CHECK(matching(subscribers, "a") == std::multiset<void*>{&peers[0]});
        CHECK(subscribers.remove(bytes_of("a"), &peers[1]) == topic_subscribers::removal::unknown);
        CHECK(subscribers.remove(bytes_of("a"), &peers[0]) == topic_subscribers::removal::last);
        CHECK(subscribers.remove(bytes_of("a"), &peers[0]) == topic_subscribers::removal::unknown);
        CHECK(matching(subscribers, "a").empty());
    }

    TEST_CASE("topic subscribers: lose all their topics at once, nested ones too") {
        std::array<int, 2> peers;
        topic_subscribers subscribers;
        for (const char* topic : {"", "a", "ab", "abc", "x"}) {
            subscribers.add(bytes_of(topic), &peers[0]);
        }
        subscribers.add(bytes_of("ab"), &peers[1]);
        CHECK(subscribers.topic_count(&peers[0]) == 5);

        std::set<std::pair<std::string, bool>> removed;
        subscribers.remove_all(&peers[0], [&](topic_view topic, bool is_last) {
            removed.emplace(text(topic), is_last);
        });

        CHECK(removed == std::set<std::pair<std::string, bool>>{
                             {"", true}, {"a", true}, {"ab", false}, {"abc", true}, {"x", true}});
        CHECK(subscribers.topic_count(&peers[0]) == 0);
        CHECK(matching(subscribers, "abc") == std::multiset<void*>{&peers[1]});
    }

    TEST_CASE("topic subscribers: lose their topics in parts, and match the rest meanwhile") {
        topic_subscribers all;
        int leaving = 0;
        int staying = 0;
        constexpr std::size_t topic_count = 1000;
        for (std::size_t number = 0; number < topic_count; ++number) {
            all.add(bytes_of("topic " + std::to_string(number) + "."), &leaving);
            all.add(bytes_of("topic " + std::to_string(number) + "."), &staying);
        }
        std::set<std::string> removed;
        const auto note = [&](topic_view topic, bool is_last) {
            CHECK(!is_last);
            removed.insert(std::string(text(topic)));
        };
        for (std::size_t part = 1; part <= topic_count / 100; ++part) {
            std::size_t work = 100;
            const bool is_done = all.remove_some(&leaving, work, note);
            CHECK(is_done == (removed.size() == topic_count));
            CHECK(removed.size() == part * 100);
            CHECK(all.topic_count(&leaving) == topic_count - removed.size());
            for (std::size_t number = 0; number < topic_count; number += 37) {
                const std::string topic = "topic " + std::to_string(number) + ".";
                std::set<void*> expected{&staying};
                if (!removed.contains(topic)) {
                    expected.insert(&leaving);
                }
                std::set<void*> found;
                all.match(bytes_of(topic), [&](void* who) { found.insert(who); });
                REQUIRE(found == expected);
            }
        }
        CHECK(all.topic_count(&staying) == topic_count);
        std::size_t work = 100;
        CHECK(all.remove_some(&leaving, work, note));
        CHECK(work == 100);
    }

    TEST_CASE("topic subscribers: long topics cost more when they are removed") {
        topic_subscribers all;
        int leaving = 0;
        for (char first = 'a'; first < 'k'; ++first) {
            all.add(bytes_of(first + std::string(10 * 1024, 'x')), &leaving);
        }
        std::size_t removed_count = 0;
        std::size_t work = 30;
        CHECK(!all.remove_some(&leaving, work, [&](topic_view, bool) { ++removed_count; }));
        CHECK(removed_count == 3);
        CHECK(work == 0);
    }

    TEST_CASE("topic subscribers: a subscriber without topics loses none") {
        int peer = 0;
        topic_subscribers subscribers;
        subscribers.remove_all(&peer, [](topic_view, bool) { FAIL("there is nothing to visit"); });
        CHECK(subscribers.remove({}, &peer) == topic_subscribers::removal::unknown);
    }

    TEST_CASE("topic subscribers: are refused what is above their limits") {
        using enum topic_subscribers::addition;
        std::array<int, 2> peers;
        topic_subscribers subscribers{
            {.topic_bytes_max = 4, .topic_count_max = 3, .total_topic_bytes_max = 7}};

        CHECK(subscribers.add(bytes_of("abcde"), &peers[0]) == refused);
        CHECK(subscribers.add(bytes_of("abcd"), &peers[0]) == first);
        CHECK(subscribers.add(bytes_of("efgh"), &peers[0]) == refused); // 8 bytes in all.
        CHECK(subscribers.add(bytes_of("efg"), &peers[0]) == first);    // 7.
        CHECK(subscribers.add(bytes_of(""), &peers[0]) == first);
        CHECK(subscribers.add(bytes_of(""), &peers[0]) == not_first); // It has that topic already.

        CHECK(subscribers.remove(bytes_of("efg"), &peers[0]) == topic_subscribers::removal::last);
        CHECK(subscribers.add(bytes_of("i"), &peers[0]) == first);
        CHECK(subscribers.add(bytes_of("j"), &peers[0]) == refused); // A fourth topic.
        CHECK(subscribers.add(bytes_of("abcd"), &peers[1]) == not_first);
        CHECK(matching(subscribers, "j") == std::multiset<void*>{&peers[0]});
    }

    TEST_CASE("topic subscribers: of one topic may be many") {
        std::vector<int> peers(2000);
        topic_subscribers subscribers;
        for (int& peer : peers) {
            subscribers.add({}, &peer);
        }
        std::size_t visits = 0;
        subscribers.match(bytes_of("data"), [&](void*) { ++visits; });
        CHECK(visits == 2000);
        for (int& peer : peers) {
            subscribers.remove_all(&peer, [](topic_view, bool) {});
        }
        CHECK(matching(subscribers, "data").empty());
    }

    TEST_CASE("topics: around the length of an edge are kept whole") {
        int peer = 0;
        for (const std::size_t bytes : {4095u, 4096u, 4097u, 8191u, 8192u, 8193u}) {
            CAPTURE(bytes);
            const std::string topic(bytes, 'a');
            topic_subscribers subscribers;
            CHECK(subscribers.add(bytes_of(topic), &peer) == topic_subscribers::addition::first);
            CHECK(matching(subscribers, topic).size() == 1);
            CHECK(matching(subscribers, topic + "b").size() == 1);
            CHECK(matching(subscribers, topic.substr(1)).empty());
            subscribers.add(bytes_of(topic.substr(0, 4000)), &peer);
            CHECK(matching(subscribers, topic).size() == 2);
            subscribers.remove(bytes_of(topic.substr(0, 4000)), &peer);
            CHECK(matching(subscribers, topic).size() == 1);
            CHECK(subscribers.remove(bytes_of(topic), &peer) == topic_subscribers::removal::last);
        }
    }

    TEST_CASE("topics: of 1 MiB are stored, found and removed") {
        const std::string topic(std::size_t{1} << 20, 'a');
        topic_counts counts;
        CHECK(counts.add(bytes_of(topic)));
        CHECK(counts.matches(bytes_of(topic + "b")));
        CHECK(!counts.matches(bytes_of(std::string_view{topic}.substr(1))));
        CHECK(topics_of(counts) == std::set<std::string>{topic});
        CHECK(counts.remove(bytes_of(topic)) == topic_counts::removal::last);
        CHECK(topics_of(counts).empty());
    }

    TEST_CASE("topics: may be nested 3000 deep, and the containers destroyed so") {
        int peer = 0;
        const std::string deepest(3000, 'a');
        topic_subscribers subscribers;
        topic_counts counts;
        for (std::size_t bytes = 1; bytes <= deepest.size(); ++bytes) {
            const auto topic = bytes_of(std::string_view{deepest}.substr(0, bytes));
            subscribers.add(topic, &peer);
            counts.add(topic);
        }
        std::size_t visits = 0;
        subscribers.match(bytes_of(deepest), [&](void*) { ++visits; });
        CHECK(visits == 3000);
        std::size_t topics = 0;
        counts.for_each([&](topic_view) { ++topics; });
        CHECK(topics == 3000);
    }

    TEST_CASE("topics: behave as naive models under random operations") {
        const unsigned given = doctest::getContextOptions()->rand_seed;
        const unsigned first_seed = given != 0 ? given : std::random_device{}();
        for (unsigned round = 0; round < 60; ++round) {
            const unsigned seed = first_seed + round;
            CAPTURE(seed); // To repeat a failure: unit_tests --rand-seed=<seed>.
            std::mt19937 random{seed};
            // Few different bytes make topics that share prefixes.
            const unsigned letters = 1 + random() % 4;
            std::vector<std::byte> script;
            for (int operation = 0; operation < 400; ++operation) {
                const unsigned bytes = random() % 8;
                script.push_back(static_cast<std::byte>(random() % 8));
                script.push_back(static_cast<std::byte>(random() % 256));
                script.push_back(static_cast<std::byte>(bytes));
                for (unsigned byte = 0; byte < bytes; ++byte) {
                    script.push_back(static_cast<std::byte>(random() % letters));
                }
            }
            CHECK(zlink::testing::topic_operations{script}.run());
        }
    }

} // TEST_SUITE
