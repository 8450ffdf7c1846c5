// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace zlink::session {

/// Some of the states of a state machine.
template<class State>
class state_set {
public:
    template<class... States>
    constexpr state_set(States... members) noexcept : bits_((bit(members) | ... | 0U)) {}

    constexpr bool has(State which) const noexcept { return (bits_ & bit(which)) != 0; }

private:
    static constexpr std::uint32_t bit(State which) noexcept {
        return std::uint32_t{1} << static_cast<unsigned>(which);
    }

    std::uint32_t bits_;
};

} // namespace zlink::session
