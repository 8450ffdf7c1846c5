// SPDX-License-Identifier: MPL-2.0
#include "wire/http/date.hpp"

#include "wire/field_text.hpp"

#include <algorithm>

namespace zlink::wire::http {

namespace {

using namespace std::chrono;

constexpr std::array<std::string_view, 7> long_day_names{
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> month_names{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::size_t name_bytes = 3;
constexpr int century_years = 100;
constexpr years future_max{50};

constexpr sys_seconds first_time = sys_days{year{0} / January / 1};
constexpr sys_seconds last_time = sys_days{year{10000} / January / 1} - seconds{1};

/// Writes text and numbers from the front of a buffer that has room for them.
class text_writer {
public:
    explicit text_writer(char* to) noexcept : to_(to) {}

    void put(std::string_view text) noexcept { to_ = std::ranges::copy(text, to_).out; }

    void put(unsigned number, std::size_t digit_count) noexcept {
        constexpr unsigned ten = 10;
        for (std::size_t index = digit_count; index > 0; --index) {
            to_[index - 1] = static_cast<char>('0' + number % ten);
            number /= ten;
        }
        to_ += digit_count;
    }

private:
    char* to_;
};

/// Reads text and numbers from the front of a text. Once one is not there, is_valid() is false.
class text_reader {
public:
    explicit text_reader(std::string_view text) noexcept : rest_(text) {}

    bool is_valid() const noexcept { return is_valid_; }
    bool is_at_end() const noexcept { return rest_.empty(); }

    void skip(std::string_view text) noexcept {
        is_valid_ = is_valid_ && rest_.starts_with(text);
        rest_.remove_prefix(is_valid_ ? text.size() : 0);
    }

    unsigned number(std::size_t digit_count) noexcept {
        unsigned number = 0;
        const std::string_view digits = rest_.substr(0, digit_count);
        is_valid_ =
            is_valid_ && digits.size() == digit_count && std::ranges::all_of(digits, is_digit);
        for (const char digit : is_valid_ ? digits : std::string_view{}) {
            number = number * 10 + hex_value(digit);
        }
        rest_.remove_prefix(digits.size());
        return number;
    }

    /// @return The index of the name that is next, of which the first `bytes_max` characters count.
    template<std::size_t count>
    unsigned name(const std::array<std::string_view, count>& names,
                  std::size_t bytes_max = std::string_view::npos) noexcept {
        const auto found = std::ranges::find_if(names, [&](std::string_view each) {
            return rest_.starts_with(each.substr(0, bytes_max));
        });
        is_valid_ = is_valid_ && found != names.end();
        rest_.remove_prefix(is_valid_ ? std::min(found->size(), bytes_max) : 0);
        return static_cast<unsigned>(found - names.begin());
    }

    month month_name() noexcept { return month{name(month_names) + 1}; }

private:
    std::string_view rest_;
    bool is_valid_ = true;
};

/// A date and a time that were read, of which nothing is checked.
struct date_parts {
    year_month_day date{};
    unsigned hour = 0;
    unsigned minute = 0;
    unsigned second = 0;

    /// Impossible days are those of the next month.
    sys_seconds time() const noexcept {
        return sys_days{date} + hours{hour} + minutes{minute} + seconds{second};
    }

    /// A second may be the 60th, a leap second (RFC 9110, 5.6.7).
    bool is_valid() const noexcept {
        constexpr unsigned hour_max = 23;
        constexpr unsigned minute_max = 59;
        constexpr unsigned second_max = 60;
        return date.ok() && hour <= hour_max && minute <= minute_max && second <= second_max;
    }
};

/// hour ":" minute ":" second
void read_time(text_reader& from, date_parts& to) noexcept {
    to.hour = from.number(2);
    from.skip(":");
    to.minute = from.number(2);
    from.skip(":");
    to.second = from.number(2);
}

/// Sun, 06 Nov 1994 08:49:37 GMT
date_parts read_imf_fixdate(text_reader& from) noexcept {
    date_parts parts;
    from.name(long_day_names, name_bytes);
    from.skip(", ");
    const day of_month{from.number(2)};
    from.skip(" ");
    const month of_year = from.month_name();
    from.skip(" ");
    parts.date = year{static_cast<int>(from.number(4))} / of_year / of_month;
    from.skip(" ");
    read_time(from, parts);
    from.skip(" GMT");
    return parts;
}

/// Sunday, 06-Nov-94 08:49:37 GMT
date_parts read_rfc850_date(text_reader& from, sys_seconds now) noexcept {
    date_parts parts;
    from.name(long_day_names);
    from.skip(", ");
    const day of_month{from.number(2)};
    from.skip("-");
    const month of_year = from.month_name();
    from.skip("-");
    const auto in_century = static_cast<int>(from.number(2));
    from.skip(" ");
    read_time(from, parts);
    from.skip(" GMT");
    if (!from.is_valid()) {
        return parts;
    }
    // The last year with these digits that is not too far in the future.
    const sys_days today = floor<days>(now);
    const year_month_day latest = year_month_day{today} + future_max;
    const int century = static_cast<int>(latest.year()) / century_years * century_years;
    parts.date = year{century + in_century} / of_year / of_month;
    if (parts.time() > sys_days{latest} + (now - today)) {
        parts.date -= years{century_years};
    }
    return parts;
}

/// Sun Nov  6 08:49:37 1994
date_parts read_asctime_date(text_reader& from, bool has_one_digit) noexcept {
    date_parts parts;
    from.name(long_day_names, name_bytes);
    from.skip(" ");
    const month of_year = from.month_name();
    from.skip(has_one_digit ? "  " : " ");
    const day of_month{from.number(has_one_digit ? 1 : 2)};
    from.skip(" ");
    read_time(from, parts);
    from.skip(" ");
    parts.date = year{static_cast<int>(from.number(4))} / of_year / of_month;
    return parts;
}

} // namespace

date_text::date_text(sys_seconds when) noexcept {
    when = std::clamp(when, first_time, last_time);
    const sys_days of_day = floor<days>(when);
    const year_month_day date{of_day};
    const hh_mm_ss time{when - of_day};
    text_writer to{text_.data()};
    to.put(long_day_names[weekday{of_day}.c_encoding()].substr(0, name_bytes));
    to.put(", ");
    to.put(static_cast<unsigned>(date.day()), 2);
    to.put(" ");
    to.put(month_names[static_cast<unsigned>(date.month()) - 1]);
    to.put(" ");
    to.put(static_cast<unsigned>(static_cast<int>(date.year())), 4);
    to.put(" ");
    to.put(static_cast<unsigned>(time.hours().count()), 2);
    to.put(":");
    to.put(static_cast<unsigned>(time.minutes().count()), 2);
    to.put(":");
    to.put(static_cast<unsigned>(time.seconds().count()), 2);
    to.put(" GMT");
}

std::optional<sys_seconds> decode_date(std::string_view text, sys_seconds now) noexcept {
    constexpr std::size_t asctime_day = 8;
    text_reader from{text};
    date_parts parts;
    if (text.substr(0, name_bytes + 1).ends_with(',')) {
        parts = read_imf_fixdate(from);
    } else if (text.find(',') != std::string_view::npos) {
        parts = read_rfc850_date(from, now);
    } else {
        parts = read_asctime_date(from, text.substr(0, asctime_day + 1).ends_with("  "));
    }
    if (!from.is_valid() || !from.is_at_end() || !parts.is_valid()) {
        return std::nullopt;
    }
    return parts.time();
}

} // namespace zlink::wire::http
