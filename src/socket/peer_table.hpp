// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/random_bytes.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace zlink::tuning {

/// Entries that the insertion of a STREAM's peer may move in the table of peer numbers, before the
/// table switches to a scattering hash (peer_table.hpp). With that hash an insertion hardly ever
/// moves as many.
constexpr std::size_t peer_moves_max = 64;

} // namespace zlink::tuning

namespace zlink::socket {

/// Finds peers by ids that count up.
///
/// A hash table with linear probing and the identity as hash: consecutive ids are adjacent, so a
/// search ends at its first slot unless old peers occupy it. If an insertion moves more than
/// tuning::peer_moves_max slots, the table switches to an unpredictable hash: peers could otherwise
/// choose the remaining ids by their connects and disconnects. The memory shrinks with the number
/// of peers.
///
/// Invariants
///  1. An entry lies at or behind its home slot, with no free slot in between.
///  2. Adjacent entries are ordered by their homes: an insertion displaces entries that are nearer
///     to theirs, and behind an entry at its home no entry has an earlier home.
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
        const std::size_t moves = put(slots_, id, added);
        ++count_;
        if (moves > tuning::peer_moves_max && !is_scattered()) {
            scatter();
        }
    }

    void erase(std::uint32_t id) noexcept {
        if (find(id) == nullptr) {
            return;
        }
        std::size_t hole = home(id);
        while (slots_[hole].id != id) {
            hole = next(hole);
        }
        // The entries behind it move up, to the first one at its home. (Invariant 2.)
        for (std::size_t at = next(hole); slots_[at].who != nullptr && home(slots_[at].id) != at;
             at = next(at)) {
            slots_[hole] = slots_[at];
            hole = at;
        }
        slots_[hole] = {};
        --count_;
        shrink();
    }

    std::size_t count() const noexcept { return count_; }
    /// The distance of an existing entry from the start of its search.
    std::size_t steps_to(std::uint32_t id) const noexcept {
        std::size_t steps = 0;
        for (std::size_t at = home(id); slots_[at].id != id; at = next(at)) {
            ++steps;
        }
        return steps;
    }
    /// The number of slots, a measure of the table's memory.
    std::size_t slot_count() const noexcept { return slots_.size(); }

private:
    struct slot {
        std::uint32_t id = 0; ///< 0: free.
        Peer* who = nullptr;
    };
    using slots = std::vector<slot>;

    static constexpr std::size_t slots_min = 8;

    std::size_t mask() const noexcept { return slots_.size() - 1; }
    std::uint64_t hash(std::uint32_t id) const noexcept { return id * factor_ >> shift_; }
    std::size_t home(std::uint32_t id) const noexcept { return hash(id) & mask(); }
    std::size_t next(std::size_t at) const noexcept { return (at + 1) & mask(); }

    /// @return The number of occupied slots visited.
    std::size_t put(slots& into, std::uint32_t id, Peer& added) const noexcept {
        const std::size_t last = into.size() - 1;
        slot placed{id, &added};
        std::size_t moves = 0;
        std::size_t from_home = 0;
        for (std::size_t at = hash(id) & last;; at = (at + 1) & last) {
            if (into[at].who == nullptr) {
                into[at] = placed;
                return moves;
            }
            const std::size_t others = (at - hash(into[at].id)) & last;
            if (others < from_home) { // Invariant 2.
                std::swap(into[at], placed);
                from_home = others;
            }
            ++from_home;
            ++moves;
        }
    }

    bool is_scattered() const noexcept { return shift_ != 0; }

    /// Spreads consecutive ids over the whole table from now on.
    void scatter() noexcept {
        constexpr unsigned upper_half = 32;
        const std::uint64_t factor_before = factor_;
        factor_ = std::bit_cast<std::uint64_t>(std::array{random_bytes(), random_bytes()}) | 1;
        shift_ = upper_half;
        try {
            resize(slots_.size());
        } catch (const std::bad_alloc&) {
            factor_ = factor_before; // Keeps the present order.
            shift_ = 0;
        }
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
            // Keeps the present size.
        }
    }

    slots slots_;
    std::size_t count_ = 0;
    std::uint64_t factor_ = 1; ///< Of the hash.
    unsigned shift_ = 0;       ///< Likewise.
};

} // namespace zlink::socket
