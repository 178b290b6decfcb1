// `vitrine-cli inspect`: what is in a model file, and whether it can be used.
#include "core/io/inspect.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"

namespace vitrine::cli {

int run_inspect(const InspectOptions& options) {
    const InspectReport report = inspect_model(options.path);
    std::string shown = options.json ? report.json : report.text;
    if (shown.empty() || shown.back() != '\n') shown += '\n';
    write_out(shown);
    const int written = output_status();
    return report.usable ? written : 1;
}

}  // namespace vitrine::cli
