// SPDX-License-Identifier: MPL-2.0
//
// Messages: frames that own their bytes, and several of them.
#pragma once

#include <zlink/error.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace zlink {

namespace detail {

template<class T>
concept number_or_byte = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// A range of numbers or bytes that lie in memory one behind the other. A char[] is a text instead.
template<class R>
concept readable_bytes = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    number_or_byte<std::ranges::range_value_t<R>> &&
    !std::is_same_v<std::remove_cv_t<std::remove_extent_t<R>>, char>;

template<class T>
concept text_pointer = std::is_same_v<T, const char*> || std::is_same_v<T, char*>;

} // namespace detail

/// Bytes of somebody else, for the duration of a call: a text, an array, vector or span of numbers
/// or bytes. A char* and a char[] end at the first zero byte.
class const_bytes {
public:
    const_bytes() noexcept = default;
    const_bytes(const void* data, std::size_t size) noexcept : data_(data), size_(size) {}
    template<detail::text_pointer Text>
    const_bytes(const Text& text) noexcept : const_bytes(text, std::strlen(text)) {}
    template<std::size_t Room>
    const_bytes(const char (&text)[Room]) noexcept : const_bytes(text, ::strnlen(text, Room)) {}
    const_bytes(std::string_view text) noexcept : const_bytes(text.data(), text.size()) {}

    const_bytes(const detail::readable_bytes auto& range) noexcept
        : const_bytes(std::ranges::data(range),
                      std::ranges::size(range) *
                          sizeof(std::ranges::range_value_t<decltype(range)>)) {}

    const void* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

private:
    const void* data_ = nullptr;
    std::size_t size_ = 0;
};

/// One frame. Moved, not copied: share() makes another one with the same content.
class message {
public:
    message() noexcept { zlink_msg_init(&raw_); }

    /// Of `size` bytes, whose content is undefined.
    /// @throws std::bad_alloc
    explicit message(std::size_t size) {
        if (zlink_msg_init_size(&raw_, size) != 0) {
            throw std::bad_alloc();
        }
    }

    /// With a copy of `content`.
    /// @throws std::bad_alloc
    explicit message(const_bytes content) : message(content.size()) {
        if (content.size() != 0) {
            std::memcpy(data(), content.data(), content.size());
        }
    }

    /// That refers to `size` bytes at `data` instead of copying them. `release` is called with
    /// `data` and `hint` when they are no longer needed, on any thread.
    /// @throws std::bad_alloc  The data still belongs to the caller.
    message(void* data, std::size_t size, zlink_free_fn* release, void* hint = nullptr) {
        if (zlink_msg_init_data(&raw_, data, size, release, hint) != 0) {
            throw std::bad_alloc();
        }
    }

    message(message&& from) noexcept : message() { zlink_msg_move(&raw_, &from.raw_); }
    message& operator=(message&& from) noexcept {
        if (this != &from) {
            zlink_msg_move(&raw_, &from.raw_);
        }
        return *this;
    }
    message(const message&) = delete;
    message& operator=(const message&) = delete;
    ~message() { zlink_msg_close(&raw_); }

    /// Another message with this one's content, which must no longer be written to.
    message share() {
        message made;
        zlink_msg_copy(&made.raw_, &raw_);
        return made;
    }

    std::byte* data() noexcept { return static_cast<std::byte*>(zlink_msg_data(&raw_)); }
    const std::byte* data() const noexcept {
        return static_cast<const std::byte*>(zlink_msg_data(const_cast<zlink_msg_t*>(&raw_)));
    }
    std::size_t size() const noexcept { return zlink_msg_size(&raw_); }
    bool empty() const noexcept { return size() == 0; }

    std::span<std::byte> bytes() noexcept { return {data(), size()}; }
    std::span<const std::byte> bytes() const noexcept { return {data(), size()}; }
    std::string_view text() const noexcept {
        return {reinterpret_cast<const char*>(data()), size()};
    }
    operator const_bytes() const noexcept { return {data(), size()}; }

    /// Whether more frames of the same message follow this one, which was received.
    bool more() const noexcept { return zlink_msg_more(&raw_) != 0; }

    /// Whether it was received from a WebSocket peer as text, or is to be sent as text, and so must
    /// be UTF-8.
    bool is_text() const noexcept { return zlink_msg_get(&raw_, ZLINK_TEXT) == 1; }
    void mark_text(bool is_text = true) noexcept { zlink_msg_set(&raw_, ZLINK_TEXT, is_text); }

    /// Whether it is an HTTP request (zlink/http.hpp).
    bool is_request() const noexcept { return zlink_msg_get(&raw_, ZLINK_HTTP_REQUEST) == 1; }

    /// What is known of the connection through which it came: "Peer-Address", "User-Id", "Path".
    /// Null if there is nothing of that name; valid until the message changes.
    const char* property(const char* name) const noexcept { return zlink_msg_gets(&raw_, name); }

    /// For functions of zlink.h.
    zlink_msg_t* native_handle() noexcept { return &raw_; }
    const zlink_msg_t* native_handle() const noexcept { return &raw_; }

    friend bool operator==(const message& one, std::string_view text) noexcept {
        return one.text() == text;
    }

#ifdef ZLINK_BUILD_DRAFT_API
    /// The peer that a SERVER or PEER received it from, or will send it to; 0: none.
    std::uint32_t routing_id() const noexcept {
        return zlink_msg_routing_id(const_cast<zlink_msg_t*>(&raw_));
    }
    /// @error EINVAL  `peer` is 0.
    result<void> set_routing_id(std::uint32_t peer) noexcept {
        return detail::checked(zlink_msg_set_routing_id(&raw_, peer));
    }
    void set_routing_id(std::uint32_t peer, throws_t) {
        detail::unwrap(set_routing_id(peer));
    }

    /// The group that a DISH received it for, or a RADIO will send it to. Valid until the message
    /// changes.
    const char* group() const noexcept {
        return zlink_msg_group(const_cast<zlink_msg_t*>(&raw_));
    }
    /// @error EINVAL  It is longer than ZLINK_GROUP_MAX_LENGTH, or has a zero byte.
    result<void> set_group(const std::string& name) noexcept {
        return detail::with_texts({name}, [&] { return zlink_msg_set_group(&raw_, name.c_str()); });
    }
    void set_group(const std::string& name, throws_t) {
        detail::unwrap(set_group(name));
    }
#endif

private:
    zlink_msg_t raw_;
};

/// A message of several frames, in order.
class multipart {
public:
    multipart() = default;

    /// Copies of the given frames: multipart{"topic", "content"}.
    /// @throws std::bad_alloc
    multipart(std::initializer_list<const_bytes> frames) {
        frames_.reserve(frames.size());
        for (const const_bytes& each : frames) {
            frames_.emplace_back(each);
        }
    }

    /// @throws std::bad_alloc
    message& push_back(message frame) { return frames_.emplace_back(std::move(frame)); }
    void clear() noexcept { frames_.clear(); }

    std::size_t size() const noexcept { return frames_.size(); }
    bool empty() const noexcept { return frames_.empty(); }
    message& operator[](std::size_t index) noexcept { return frames_[index]; }
    const message& operator[](std::size_t index) const noexcept { return frames_[index]; }
    message& front() noexcept { return frames_.front(); }
    message& back() noexcept { return frames_.back(); }
    auto begin() noexcept { return frames_.begin(); }
    auto end() noexcept { return frames_.end(); }
    auto begin() const noexcept { return frames_.begin(); }
    auto end() const noexcept { return frames_.end(); }

private:
    std::vector<message> frames_;
};

} // namespace zlink
