// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace zlink {

/// Overwrites `octets` in a way that no optimiser takes for useless.
void wipe(std::span<std::byte> octets) noexcept;

/// A number of octets that are wiped before their memory goes back.
template<std::size_t Bytes>
class secret {
public:
    static constexpr std::size_t bytes = Bytes;

    secret() noexcept = default;
    secret(const secret&) noexcept = default;
    secret& operator=(const secret&) noexcept = default;
    ~secret() { wipe(octets_); }

    std::byte* data() noexcept { return octets_.data(); }
    const std::byte* data() const noexcept { return octets_.data(); }
    std::uint8_t* raw() noexcept { return reinterpret_cast<std::uint8_t*>(octets_.data()); }
    const std::uint8_t* raw() const noexcept {
        return reinterpret_cast<const std::uint8_t*>(octets_.data());
    }

private:
    std::array<std::byte, Bytes> octets_{};
};

/// Text that is wiped before its memory goes back.
class secret_text {
public:
    secret_text() noexcept = default;
    /// @throws std::bad_alloc
    secret_text(const secret_text&) = default;
    secret_text& operator=(const secret_text& from) {
        assign(from.text());
        return *this;
    }
    ~secret_text() { clear(); }

    /// @throws std::bad_alloc  Nothing changed.
    void assign(std::string_view text) {
        std::vector<char> fresh(text.begin(), text.end());
        characters_.swap(fresh);
        wipe(std::as_writable_bytes(std::span{fresh}));
    }
    void clear() noexcept {
        wipe(std::as_writable_bytes(std::span{characters_}));
        characters_.clear();
    }

    std::string_view text() const noexcept { return {characters_.data(), characters_.size()}; }

private:
    std::vector<char> characters_; ///< Never inside this object, as short strings are.
};

} // namespace zlink
