// `vitrine-cli inspect`: what is in a model file, and whether it can be used.
#include "core/io/inspect.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "core/engine/model.h"

namespace vitrine::cli {

int run_inspect(const InspectOptions& options) {
    const auto further = [&]() -> Result<std::vector<std::string>> {
        VITRINE_TRY(const auto model, Model::load_vocabulary(options.path));
        std::vector<std::string> sentences;
        // That there is no template is told already.
        for (const std::string& warning : model->warnings())
            if (warning.find("has no chat template") == std::string::npos) sentences.push_back(warning);
        return sentences;
    };
    const InspectReport report = inspect_model(options.path, further);
    std::string shown = options.json ? report.json : report.text;
    if (shown.empty() || shown.back() != '\n') shown += '\n';
    write_out(shown);
    const int written = output_status();
    return report.usable ? written : 1;
}

}  // namespace vitrine::cli
