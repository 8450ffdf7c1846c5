// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace stream_bench {

/// Counts values in buckets that are at most 1/128 of their value wide, so its results are within
/// 0.8 %. Each worker has a histogram of its own; they are merged at the end.
class histogram {
public:
    void add(std::uint64_t value) noexcept {
        ++counts_[bucket_of(value)];
        ++total_;
    }

    void merge(const histogram& other) noexcept {
        for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
            counts_[bucket] += other.counts_[bucket];
        }
        total_ += other.total_;
    }

    [[nodiscard]] std::uint64_t total() const noexcept { return total_; }

    /// The smallest value that at least `share` of all values do not exceed, as the upper end of
    /// its bucket; 0 if there are no values.
    ///
    /// @param share  From 0 to 1.
    [[nodiscard]] std::uint64_t percentile(double share) const noexcept {
        const auto wanted =
            static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total_)));
        const std::uint64_t rank = std::max<std::uint64_t>(wanted, 1);
        std::uint64_t seen = 0;
        for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
            seen += counts_[bucket];
            if (seen >= rank) {
                return upper_end(bucket);
            }
        }
        return 0;
    }

private:
    static constexpr unsigned precision_bits = 7;
    static constexpr std::size_t buckets_per_octave = std::size_t{1} << precision_bits;
    static constexpr std::size_t octave_count = 64 - precision_bits;

    // The first 2 * 128 values have a bucket each; above them each octave has 128.
    static std::size_t bucket_of(std::uint64_t value) noexcept {
        if (value < buckets_per_octave) {
            return value;
        }
        const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - precision_bits - 1;
        return (shift * buckets_per_octave) + (value >> shift);
    }

    static std::uint64_t upper_end(std::size_t bucket) noexcept {
        if (bucket < 2 * buckets_per_octave) {
            return bucket;
        }
        const std::size_t shift = bucket / buckets_per_octave - 1;
        const std::uint64_t mantissa = buckets_per_octave + bucket % buckets_per_octave;
        return ((mantissa + 1) << shift) - 1;
    }

    std::array<std::uint64_t, (octave_count + 1) * buckets_per_octave> counts_{};
    std::uint64_t total_ = 0;
};

} // namespace stream_bench
