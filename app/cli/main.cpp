// The terminal program.
#include <exception>
#include <fcntl.h>
#include <new>
#include <string>

#include "app/cli/command_line.h"
#include "app/cli/output.h"

namespace {

// A standard stream that was closed would give its number to the next file that is opened, and what is meant
// for the terminal would go there.
void fill_closed_streams() {
    for (int stream = 0; stream <= 2; ++stream) {
        if (::fcntl(stream, F_GETFD) >= 0) continue;
        const int opened = ::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
        static_cast<void>(opened);  // reading from it and writing to it fail as before
    }
}

}  // namespace

int main(int argc, char** argv) {
    fill_closed_streams();
    vitrine::cli::ignore_sigpipe();
    try {
        return vitrine::cli::run_command_line(argc, argv);
    } catch (const std::bad_alloc&) {
        vitrine::cli::note("There was not enough memory.");
    } catch (const std::exception& problem) {
        vitrine::cli::note(std::string("Unexpected: ") + problem.what() + ". Please report this.");
    }
    return 1;
}
