// SPDX-License-Identifier: MPL-2.0
#include "socket/peer_table.hpp"

#include <algorithm>
#include <cstdint>
#include <doctest/doctest.h>
#include <map>
#include <random>
#include <vector>

using zlink::socket::peer_table;

namespace {

struct someone {};

} // namespace

TEST_SUITE("socket") {

    TEST_CASE("peer table: finds the peers that were inserted, and no others") {
        peer_table<someone> table;
        CHECK(table.find(1) == nullptr);
        std::vector<someone> peers(100);
        for (std::uint32_t id = 1; id <= 100; ++id) {
            table.insert(id, peers[id - 1]);
        }
        for (std::uint32_t id = 1; id <= 100; ++id) {
            CHECK(table.find(id) == &peers[id - 1]);
        }
        CHECK(table.find(0) == nullptr);
        CHECK(table.find(101) == nullptr);
        CHECK(table.count() == 100);
    }

    TEST_CASE("peer table: is the same as a map, whatever comes and goes") {
        std::minstd_rand random{7};
        peer_table<someone> table;
        std::map<std::uint32_t, someone*> model;
        std::vector<someone> peers(1000);
        for (int step = 0; step < 20'000; ++step) {
            // Few ids, so that they collide in every way; some of them far apart.
            const std::uint32_t id =
                static_cast<std::uint32_t>(1 + random() % 300 + (random() % 3) * 0x1000'0000);
            if (const auto found = model.find(id); found != model.end()) {
                table.erase(id);
                model.erase(found);
            } else {
                someone& added = peers[random() % peers.size()];
                table.insert(id, added);
                model[id] = &added;
            }
            if (step % 97 == 0) {
                for (const auto& [known, who] : model) {
                    REQUIRE(table.find(known) == who);
                }
            }
            REQUIRE(table.count() == model.size());
            REQUIRE(table.find(id) == (model.contains(id) ? model[id] : nullptr));
        }
    }

    TEST_CASE("peer table: inserting does not move many peers again and again, whichever stay") {
        // Long runs of ids that differ in their upper bytes only.
        peer_table<someone> table;
        std::vector<someone> peers(12'000);
        std::map<std::uint32_t, someone*> model;
        std::uint32_t index = 0;
        for (std::uint32_t layer = 0; layer < 3; ++layer) {
            for (std::uint32_t number = 0; number < 4000; ++number, ++index) {
                const std::uint32_t id = 1 + number + layer * 0x10'0000;
                table.insert(id, peers[index]);
                model[id] = &peers[index];
            }
        }
        std::size_t longest = 0;
        for (const auto& [id, who] : model) {
            REQUIRE(table.find(id) == who);
            longest = std::max(longest, table.steps_to(id));
        }
        CHECK(longest < 1000); // 8000 if they lay one behind the other in one run.
        for (const auto& [id, who] : model) {
            table.erase(id);
            REQUIRE(table.find(id) == nullptr);
        }
        CHECK(table.count() == 0);
    }

    TEST_CASE("peer table: consecutive ids lie in their own slots") {
        peer_table<someone> table;
        std::vector<someone> peers(12'000);
        for (std::uint32_t id = 1; id <= peers.size(); ++id) {
            table.insert(id, peers[id - 1]);
        }
        for (std::uint32_t id = 1; id <= peers.size(); ++id) {
            REQUIRE(table.steps_to(id) == 0);
        }
    }

    TEST_CASE("peer table: takes little for few, also where one outlasts a great many") {
        peer_table<someone> table;
        someone lasting;
        someone passing;
        table.insert(1, lasting);
        for (std::uint32_t id = 2; id < 100'000; ++id) {
            table.insert(id, passing);
            if (id > 1000) {
                table.erase(id - 1000);
            }
        }
        CHECK(table.slot_count() <= 4096);
        for (std::uint32_t id = 100'000 - 1000; id < 100'000; ++id) {
            table.erase(id);
        }
        CHECK(table.slot_count() == 8);
        CHECK(table.find(1) == nullptr); // Erased when 1001 was inserted.
    }

} // TEST_SUITE
