// Options of all commands. The one file that knows the command-line library.
#pragma once

namespace vitrine::cli {

// Reads the options and runs the command. Exit status: 0 done; 1 the task failed; 2 bad usage, or a model or
// file that cannot be opened. May throw std::bad_alloc.
int run_command_line(int argc, char** argv);

}  // namespace vitrine::cli
