// Lines of a file descriptor, in bounded memory: a line beyond the limit is read past and reported, and the
// next one is served.
#pragma once

#include <cstddef>
#include <string>

namespace vitrine::cli {

class LineReader {
  public:
    enum class Got { Line, TooLong, End, Interrupted };

    // wake: a descriptor that ends waiting with Interrupted when it becomes readable (−1: none). Both stay
    // the caller's.
    LineReader(int fd, std::size_t limit, int wake = -1) : fd_(fd), limit_(limit), wake_(wake) {}

    // The next line without its line feed (and the carriage return before it). The last one needs none.
    Got next(std::string& line);

    // The errno of a read that failed, which ends the lines as well; 0: the end was the end.
    int error() const { return error_; }

  private:
    // False at the end of the file or on a read error.
    enum class Fill { More, End, Interrupted };
    Fill fill();

    int fd_;
    std::size_t limit_;
    int wake_;
    std::string buffer_;
    std::size_t begin_ = 0;     // first byte of the buffer that belongs to the next line
    std::size_t searched_ = 0;  // bytes of it in which there is no line feed
    int error_ = 0;
    bool skipping_ = false;  // inside a line that was too long
};

}  // namespace vitrine::cli
