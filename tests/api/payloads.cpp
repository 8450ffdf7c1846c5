// SPDX-License-Identifier: MPL-2.0
#include "payloads.hpp"

#include <algorithm>
#include <iterator>
#include <random>
#include <string_view>

namespace api_test {

namespace {

constexpr std::size_t referenced_bytes_min = 8192;

std::optional<unsigned> used_seed;

/// Gives the same numbers to a test each time it is run with this seed.
std::mt19937 make_generator(unsigned which) {
    const doctest::ContextOptions& run = *doctest::getContextOptions();
    used_seed = run.rand_seed;
    std::vector<unsigned> seeds{run.rand_seed, which};
    const std::string_view name = run.currentTest->m_name;
    std::copy(name.begin(), name.end(), std::back_inserter(seeds));
    std::seed_seq sequence(seeds.begin(), seeds.end());
    return std::mt19937{sequence};
}

} // namespace

std::vector<std::size_t> payload_sizes_and(std::initializer_list<std::size_t> others) {
    std::vector<std::size_t> sizes(payload_sizes.begin(), payload_sizes.end());
    sizes.insert(sizes.end(), others);
    return sizes;
}

std::string payload_of(std::size_t bytes, unsigned which) {
    constexpr std::size_t period = 251;
    std::mt19937 numbers{static_cast<unsigned>(bytes) * 31 + which};
    std::array<unsigned, period> pattern{};
    std::generate(pattern.begin(), pattern.end(), numbers);
    std::string made(bytes, '\0');
    unsigned turn = 0;
    for (std::size_t begin = 0; begin < bytes; begin += period, ++turn) {
        for (std::size_t index = begin; index < std::min(begin + period, bytes); ++index) {
            made[index] = static_cast<char>('a' + (pattern[index - begin] + turn) % 16);
        }
    }
    return made;
}

std::vector<std::string> every_payload(unsigned which) {
    std::vector<std::string> made;
    for (const std::size_t bytes : payload_sizes) {
        made.push_back(payload_of(bytes, which));
    }
    return made;
}

std::optional<unsigned> payload_seed() {
    return used_seed;
}

std::vector<std::string> some_payloads(unsigned which) {
    constexpr std::size_t count = 3;
    std::mt19937 generator = make_generator(which);
    std::array<std::size_t, count> chosen{};
    do {
        std::sample(payload_sizes.begin(), payload_sizes.end(), chosen.begin(), count, generator);
    } while (chosen.back() < referenced_bytes_min);
    std::vector<std::string> made;
    for (const std::size_t bytes : chosen) {
        made.push_back(payload_of(bytes, which));
    }
    return made;
}

} // namespace api_test
