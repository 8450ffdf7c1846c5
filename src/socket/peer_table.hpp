// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zlink::socket {

/// Finds peers by numbers that count up.
///
/// A hash table with linear probing whose hash is the number itself: numbers that follow each other
/// lie side by side, so a search ends where it begins unless old peers are in the way. Its memory
/// follows the number of peers down again.
///
/// @threads The socket's.
template<class Peer>
class peer_table {
public:
    /// @return Null if there is none.
    Peer* find(std::uint32_t id) const noexcept {
        if (slots_.empty()) {
            return nullptr;
        }
        for (std::size_t at = home(id);; at = next(at)) {
            if (slots_[at].id == id) {
                return slots_[at].who;
            }
            if (slots_[at].who == nullptr) {
                return nullptr;
            }
        }
    }

    /// Adds a peer; there must be none with that id.
    /// @throws std::bad_alloc  Nothing changed.
    void insert(std::uint32_t id, Peer& added) {
        if ((count_ + 1) * 4 > slots_.size() * 3) {
            resize(slots_.empty() ? slots_min : slots_.size() * 2);
        }
        put(slots_, id, added);
        ++count_;
    }

    void erase(std::uint32_t id) noexcept {
        if (find(id) == nullptr) {
            return;
        }
        std::size_t hole = home(id);
        while (slots_[hole].id != id) {
            hole = next(hole);
        }
        // Whoever would no longer be found behind the hole moves into it.
        for (std::size_t at = next(hole); slots_[at].who != nullptr; at = next(at)) {
            const std::size_t from_home = (at - home(slots_[at].id)) & mask();
            if (from_home >= ((at - hole) & mask())) {
                slots_[hole] = slots_[at];
                hole = at;
            }
        }
        slots_[hole] = {};
        --count_;
        shrink();
    }

    std::size_t count() const noexcept { return count_; }
    /// Peers that there is room for, more or less: what the table takes.
    std::size_t slot_count() const noexcept { return slots_.size(); }

private:
    struct slot {
        std::uint32_t id = 0; ///< 0 is nobody's.
        Peer* who = nullptr;
    };
    using slots = std::vector<slot>;

    static constexpr std::size_t slots_min = 8;

    std::size_t mask() const noexcept { return slots_.size() - 1; }
    std::size_t home(std::uint32_t id) const noexcept { return id & mask(); }
    std::size_t next(std::size_t at) const noexcept { return (at + 1) & mask(); }

    static void put(slots& into, std::uint32_t id, Peer& added) noexcept {
        const std::size_t last = into.size() - 1;
        std::size_t at = id & last;
        while (into[at].who != nullptr) {
            at = (at + 1) & last;
        }
        into[at] = {id, &added};
    }

    void resize(std::size_t slot_count) {
        slots made(slot_count);
        for (const slot& each : slots_) {
            if (each.who != nullptr) {
                put(made, each.id, *each.who);
            }
        }
        slots_.swap(made);
    }

    void shrink() noexcept {
        if (slots_.size() <= slots_min || count_ * 8 > slots_.size()) {
            return;
        }
        try {
            resize(slots_.size() / 2);
        } catch (const std::bad_alloc&) {
            // It stays as large as it is.
        }
    }

    slots slots_;
    std::size_t count_ = 0;
};

} // namespace zlink::socket
