// SPDX-License-Identifier: MPL-2.0
#include "prometheus_text.hpp"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <utility>

namespace zlink_tool {

namespace {

/// Reads one line from its front.
class line_reader {
public:
    explicit line_reader(std::string_view line) noexcept : line_(line), rest_(line) {}

    sample read(std::string& name) {
        name = take_name();
        sample made;
        if (take('{')) {
            while (!take('}')) {
                std::string label = take_name();
                expect('=');
                expect('"');
                made.labels.insert_or_assign(std::move(label), take_quoted());
                take(',');
            }
        }
        expect(' ');
        made.value = take_number();
        return made;
    }

private:
    [[noreturn]] void fail() const {
        throw std::runtime_error("malformed metrics: " + std::string{line_.substr(0, 200)});
    }

    bool take(char wanted) noexcept {
        const bool is_there = rest_.starts_with(wanted);
        rest_.remove_prefix(is_there ? 1 : 0);
        return is_there;
    }
    void expect(char wanted) {
        if (!take(wanted)) {
            fail();
        }
    }

    std::string take_name() {
        const auto end = rest_.find_first_of("{}=\" ,");
        if (end == 0 || end == std::string_view::npos) {
            fail();
        }
        std::string name{rest_.substr(0, end)};
        rest_.remove_prefix(end);
        return name;
    }

    std::string take_quoted() {
        std::string text;
        while (!take('"')) {
            if (rest_.empty()) {
                fail();
            }
            const bool is_escaped = take('\\');
            if (rest_.empty()) {
                fail();
            }
            text += is_escaped && rest_.front() == 'n' ? '\n' : rest_.front();
            rest_.remove_prefix(1);
        }
        return text;
    }

    double take_number() {
        const std::string_view word = rest_.substr(0, rest_.find(' '));
        if (word == "+Inf") {
            return std::numeric_limits<double>::infinity();
        }
        double value = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (error != std::errc{} || end != word.data() + word.size()) {
            fail();
        }
        return value;
    }

    std::string_view line_;
    std::string_view rest_;
};

} // namespace

std::string_view sample::label(std::string_view name) const {
    const auto found = labels.find(name);
    return found != labels.end() ? std::string_view{found->second} : std::string_view{};
}

samples parse_samples(std::string_view text) {
    samples made;
    std::string name;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (!line.empty() && line.front() != '#') {
            sample read = line_reader{line}.read(name);
            made[name].push_back(std::move(read));
        }
    }
    return made;
}

} // namespace zlink_tool
