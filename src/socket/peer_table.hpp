// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "base/random_bytes.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace zlink::socket {

/// Finds peers by numbers that count up.
///
/// A hash table with linear probing whose hash is the number itself: numbers that follow each other
/// lie side by side, so a search ends where it begins unless old peers are in the way. Once so many
/// are that one who comes moves more than limits::peer_moves_max of them, the hash becomes one that
/// nobody can foresee: by coming and going peers choose whose numbers stay. Its memory follows the
/// number of peers down again.
///
/// Invariants
///  1. Who is searched for lies behind its home, with no free slot in between.
///  2. In a row of slots that are taken they lie in the order of their homes: who comes moves those
///     that are nearer to theirs, and who lies at home has nobody behind it whose home is before.
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
        if (moves > limits::peer_moves_max && !is_scattered()) {
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
        // Those behind it move up, to the first one that lies at home. (Invariant 2.)
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
    /// How far from where its search begins a peer lies that is here.
    std::size_t steps_to(std::uint32_t id) const noexcept {
        std::size_t steps = 0;
        for (std::size_t at = home(id); slots_[at].id != id; at = next(at)) {
            ++steps;
        }
        return steps;
    }
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
    std::uint64_t hash(std::uint32_t id) const noexcept { return id * factor_ >> shift_; }
    std::size_t home(std::uint32_t id) const noexcept { return hash(id) & mask(); }
    std::size_t next(std::size_t at) const noexcept { return (at + 1) & mask(); }

    /// @return How many slots it looked at that were taken.
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

    /// Numbers that follow each other lie anywhere from now on.
    void scatter() noexcept {
        constexpr unsigned upper_half = 32;
        const std::uint64_t factor_before = factor_;
        factor_ = std::bit_cast<std::uint64_t>(std::array{random_bytes(), random_bytes()}) | 1;
        shift_ = upper_half;
        try {
            resize(slots_.size());
        } catch (const std::bad_alloc&) {
            factor_ = factor_before; // It stays as it is.
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
            // It stays as large as it is.
        }
    }

    slots slots_;
    std::size_t count_ = 0;
    std::uint64_t factor_ = 1; ///< Of the hash.
    unsigned shift_ = 0;       ///< Likewise.
};

} // namespace zlink::socket
