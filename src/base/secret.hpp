// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace zlink {

/// Overwrites `data`; the compiler cannot optimise it away.
void wipe(std::span<std::byte> data) noexcept;

/// A number of bytes that are wiped before their memory goes back.
template<std::size_t Bytes>
class secret {
public:
    static constexpr std::size_t bytes = Bytes;

    secret() noexcept = default;
    secret(const secret&) noexcept = default;
    secret& operator=(const secret&) noexcept = default;
    ~secret() { wipe(data_); }

    std::byte* data() noexcept { return data_.data(); }
    const std::byte* data() const noexcept { return data_.data(); }
    std::uint8_t* raw() noexcept { return reinterpret_cast<std::uint8_t*>(data_.data()); }
    const std::uint8_t* raw() const noexcept {
        return reinterpret_cast<const std::uint8_t*>(data_.data());
    }

private:
    std::array<std::byte, Bytes> data_{};
};

/// Wipes the memory that it frees: for containers, which leave copies behind when they grow.
template<class T>
class wiping_allocator {
public:
    using value_type = T;

    wiping_allocator() noexcept = default;
    template<class Other>
    wiping_allocator(const wiping_allocator<Other>&) noexcept {}

    T* allocate(std::size_t count) { return std::allocator<T>{}.allocate(count); }
    void deallocate(T* memory, std::size_t count) noexcept {
        wipe(std::as_writable_bytes(std::span{memory, count}));
        std::allocator<T>{}.deallocate(memory, count);
    }

    friend bool operator==(wiping_allocator, wiping_allocator) noexcept { return true; }
};

/// Bytes that are wiped before their memory goes back.
using secret_bytes = std::vector<std::byte, wiping_allocator<std::byte>>;

/// Text that is wiped before its memory goes back.
class secret_text {
public:
    secret_text() noexcept = default;
    /// @throws std::bad_alloc
    explicit secret_text(std::string_view text) : characters_(text.begin(), text.end()) {}

    /// @throws std::bad_alloc  Nothing changed.
    void assign(std::string_view text) { secret_text{text}.characters_.swap(characters_); }
    void clear() noexcept { secret_text{}.characters_.swap(characters_); }

    std::string_view text() const noexcept { return {characters_.data(), characters_.size()}; }

private:
    /// Not a string, which keeps short texts inside this object.
    std::vector<char, wiping_allocator<char>> characters_;
};

} // namespace zlink
