// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

namespace zlink::socket {

/// Calls one thread that waits for its turn to drive.
class driver_call {
public:
    /// Ends that thread's rest, or the next one if it does not rest at present. @threads any
    virtual void call() noexcept = 0;

protected:
    ~driver_call() = default;
};

/// Decides which of the threads that wait, in a context without I/O threads, runs its reactor.
///
/// One thread drives. The others rest, each as it can: in the parking place of its mailbox, or with
/// poll(2) for several descriptors. A thread that stops to drive calls one of them to take over,
/// and so does one that stops to wait.
///
/// Invariants
///  1. Each waiting thread is in the list once, from before its first attempt to drive until it
///     stops to wait, with a call of its own. Two threads that wait for one mailbox (one of them
///     leads those that share the socket, others poll several) have two: a call that one of them
///     takes is not taken from the other, and one that leaves does not remove the other.
///  2. After a thread has stopped to drive, and after one that was perhaps called leaves the list,
///     it calls one that is still in it.
///
/// @param Mutex  std::mutex, or one that is explored.
/// @threads any
template<class Mutex>
class basic_driving {
public:
    /// Waits until is_over(), and drives whenever no other thread does.
    /// @param mine     Of the calling thread; it lives until this returns.
    /// @param is_late  Whether the wait has lasted too long.
    /// @param drive    Called while no other thread drives: runs the reactor until is_over() or
    ///                 is_late().
    /// @param rest     Called otherwise: returns a result when is_over() or is_late() may have
    ///                 become true, or mine.call() was called.
    /// @error again    is_late(). Also the errors of `rest`.
    /// @throws std::bad_alloc, and what `drive` and `rest` throw
    template<class IsOver, class IsLate, class Drive, class Rest>
    result<void> wait(driver_call& mine, IsOver&& is_over, IsLate&& is_late, Drive&& drive,
                      Rest&& rest) {
        const entry listed{*this, mine};
        while (!is_over()) {
            if (is_late()) {
                return errc::again;
            }
            if (const std::unique_lock turn{turn_, std::try_to_lock}; turn) {
                drive();
            } else if (const result<void> rested = rest(); !rested) {
                return rested.error();
            }
        }
        return {};
    }

    /// Calls `drive` unless a thread drives.
    /// @return Whether it was called.
    template<class Drive>
    bool try_drive(Drive&& drive) {
        if (!turn_.try_lock()) {
            return false;
        }
        const handing_over after{*this};
        const std::unique_lock turn{turn_, std::adopt_lock};
        drive();
        return true;
    }

    /// Calls `drive` when no other thread drives.
    /// @blocks  While one does.
    template<class Drive>
    void drive_alone(Drive&& drive) {
        const handing_over after{*this};
        const std::lock_guard turn{turn_};
        drive();
    }

    /// For explorations: the state besides the mutexes.
    const std::vector<driver_call*>& waiting() const noexcept { return waiting_; }

private:
    /// Calls a waiting thread once another one has stopped to drive: it may have been refused
    /// meanwhile, and rest.
    class handing_over {
    public:
        explicit handing_over(basic_driving& of) noexcept : of_(of) {}
        handing_over(const handing_over&) = delete;
        handing_over& operator=(const handing_over&) = delete;
        ~handing_over() {
            const std::lock_guard lock{of_.list_};
            if (!of_.waiting_.empty()) {
                of_.waiting_.front()->call();
            }
        }

    private:
        basic_driving& of_;
    };

    class entry {
    public:
        /// @throws std::bad_alloc
        entry(basic_driving& in, driver_call& mine) : in_(in), mine_(mine) {
            const std::lock_guard lock{in_.list_};
            in_.waiting_.push_back(&mine_);
        }
        entry(const entry&) = delete;
        entry& operator=(const entry&) = delete;
        ~entry() {
            const handing_over after{in_};
            const std::lock_guard lock{in_.list_};
            std::erase(in_.waiting_, &mine_);
        }

    private:
        basic_driving& in_;
        driver_call& mine_;
    };

    Mutex turn_; ///< Held by the thread that drives.
    Mutex list_;
    std::vector<driver_call*> waiting_;
};

using driving = basic_driving<std::mutex>;

} // namespace zlink::socket
