// The terminal program.
#include <exception>
#include <new>
#include <string>

#include "app/cli/command_line.h"
#include "app/cli/output.h"

int main(int argc, char** argv) {
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
