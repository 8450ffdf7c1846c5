// SPDX-License-Identifier: MPL-2.0
//
// malloc(3) and its relatives, replacing the system's for the whole program and its libraries.
#include "refusal.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <execinfo.h>
#include <netdb.h>
#include <new>
#include <unistd.h>

// The address sanitizer's allocator has names of its own, and so have the C library's functions.
#ifdef __SANITIZE_ADDRESS__
#define REAL(function) __interceptor_##function
#else
#define REAL(function) __libc_##function
#endif

extern "C" {
void* REAL(malloc)(std::size_t bytes);
void* REAL(calloc)(std::size_t count, std::size_t bytes);
void* REAL(realloc)(void* memory, std::size_t bytes);
void* REAL(memalign)(std::size_t alignment, std::size_t bytes);
}

namespace {

constinit std::atomic<bool> is_on{false};
constinit std::atomic<long> counted{0};
constinit std::atomic<bool> is_done{false};
constinit long refused_number = -1;
constinit refusal::where refused_where = refusal::where::caller;
constinit std::array<void*, 40> calls{};
constinit int call_count = 0;

constinit thread_local bool is_caller = false;
constinit thread_local bool is_exempt = false;

void note_calls() noexcept {
    const refusal::exempt_scope looking;
    call_count = ::backtrace(calls.data(), static_cast<int>(calls.size()));
}

bool is_refused() noexcept {
    const bool counts = is_caller == (refused_where == refusal::where::caller);
    if (!is_on.load(std::memory_order_acquire) || !counts || is_exempt ||
        counted.fetch_add(1, std::memory_order_relaxed) != refused_number) {
        return false;
    }
    note_calls();
    is_done = true;
    errno = ENOMEM;
    return true;
}

void* new_memory(std::size_t bytes, std::size_t alignment) {
    void* const memory = is_refused() ? nullptr
                         : alignment <= alignof(std::max_align_t)
                             ? REAL(malloc)(bytes != 0 ? bytes : 1)
                             : REAL(memalign)(alignment, bytes);
    if (memory == nullptr) {
        throw std::bad_alloc{};
    }
    return memory;
}

} // namespace

void refusal::begin(where where_counted, long number) noexcept {
    std::array<void*, 4> first; // Loads the library that backtrace(3) needs.
    ::backtrace(first.data(), static_cast<int>(first.size()));
    is_caller = true;
    refused_where = where_counted;
    refused_number = number;
    counted = 0;
    is_done = false;
    is_on.store(true, std::memory_order_release);
}

void refusal::end() noexcept {
    is_on = false;
}

refusal::exempt_scope::exempt_scope() noexcept {
    is_exempt = true;
}

refusal::exempt_scope::~exempt_scope() {
    is_exempt = false;
}

long refusal::count() noexcept {
    return counted;
}

bool refusal::has_happened() noexcept {
    return is_done;
}

void refusal::show() noexcept {
    if (is_done) {
        const exempt_scope looking;
        ::backtrace_symbols_fd(calls.data(), call_count, STDERR_FILENO);
    }
}

// Makes them visible to the libraries.
#pragma GCC visibility push(default)

extern "C" {

// The C library's resolver ends the process if it is refused memory (nss_database.c).
int getaddrinfo(const char* host, const char* service, const addrinfo* wanted, addrinfo** found) {
    static const auto real =
        reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
    const refusal::exempt_scope resolving;
    return real(host, service, wanted, found);
}

void* malloc(std::size_t bytes) {
    return is_refused() ? nullptr : REAL(malloc)(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) {
    return is_refused() ? nullptr : REAL(calloc)(count, bytes);
}

void* realloc(void* memory, std::size_t bytes) {
    return bytes != 0 && is_refused() ? nullptr : REAL(realloc)(memory, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) {
    return is_refused() ? nullptr : REAL(memalign)(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    return is_refused() ? nullptr : REAL(memalign)(alignment, bytes);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
    if (is_refused()) {
        return ENOMEM;
    }
    *memory = REAL(memalign)(alignment, bytes);
    return *memory == nullptr ? ENOMEM : 0;
}

} // extern "C"

#pragma GCC visibility pop

// The address sanitizer has its own operators, which would bypass malloc.

void* operator new(std::size_t bytes) {
    return new_memory(bytes, 1);
}
void* operator new[](std::size_t bytes) {
    return new_memory(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return new_memory(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return new_memory(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return malloc(bytes != 0 ? bytes : 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    return malloc(bytes != 0 ? bytes : 1);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
