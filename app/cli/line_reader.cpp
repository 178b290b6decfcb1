#include "app/cli/line_reader.h"

#include <array>
#include <cerrno>
#include <poll.h>
#include <unistd.h>

namespace vitrine::cli {

LineReader::Fill LineReader::fill() {
    if (begin_ > 0) {
        buffer_.erase(0, begin_);
        begin_ = 0;
    }
    if (wake_ >= 0) {
        std::array<pollfd, 2> waiting = {pollfd{fd_, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
        while (poll(waiting.data(), waiting.size(), -1) < 0)
            if (errno != EINTR) return Fill::End;
        if (waiting[1].revents != 0) return Fill::Interrupted;
    }
    std::array<char, 65536> bytes{};
    for (;;) {
        const ssize_t got = ::read(fd_, bytes.data(), bytes.size());
        if (got > 0) {
            buffer_.append(bytes.data(), static_cast<std::size_t>(got));
            return Fill::More;
        }
        if (got == 0) return Fill::End;
        if (errno == EINTR) continue;
        error_ = errno;
        return Fill::End;
    }
}

LineReader::Got LineReader::next(std::string& line) {
    line.clear();
    for (;;) {
        const std::size_t end = buffer_.find('\n', begin_ + searched_);
        if (end != std::string::npos) {
            const bool too_long = skipping_ || end - begin_ > limit_;
            if (!too_long) line.assign(buffer_, begin_, end - begin_);
            begin_ = end + 1;
            searched_ = 0;
            skipping_ = false;
            if (too_long) return Got::TooLong;
            if (!line.empty() && line.back() == '\r') line.pop_back();
            return Got::Line;
        }
        searched_ = buffer_.size() - begin_;
        if (searched_ > limit_) {
            buffer_.clear();
            buffer_.shrink_to_fit();
            begin_ = searched_ = 0;
            skipping_ = true;
        }
        switch (fill()) {
            case Fill::More: break;
            case Fill::Interrupted: return Got::Interrupted;
            case Fill::End:
                if (skipping_) {
                    buffer_.clear();
                    begin_ = searched_ = 0;
                    skipping_ = false;
                    return Got::TooLong;
                }
                if (buffer_.size() == begin_) return Got::End;
                line = buffer_.substr(begin_);
                buffer_.clear();
                begin_ = searched_ = 0;
                return Got::Line;
        }
    }
}

}  // namespace vitrine::cli
