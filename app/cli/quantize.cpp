// `vitrine-cli quantize`: a model file in another precision.
#include <atomic>
#include <unistd.h>

#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/output.h"
#include "core/io/printable.h"
#include "core/quant/quantize_file.h"

namespace vitrine::cli {

int run_quantize(const QuantizeOptions& options) {
    const auto type = parse_dtype(options.type);
    if (!type) return 2;
    const auto file = GgufFile::open(options.input);
    if (!file.ok()) {
        note(file.error().message);
        return 2;
    }
    // The progress callback runs often; so Ctrl+C takes effect at once and leaves no half-written file.
    const Interrupts interrupts;
    std::atomic<bool> cancel{false};
    const bool terminal = isatty(STDERR_FILENO) != 0;
    std::uint64_t shown = 101;
    vitrine::QuantizeOptions work;
    work.type = *type;
    work.cancel = &cancel;
    work.progress = [&](std::uint64_t done, std::uint64_t total) {
        if (interrupts.pending() > 0) cancel.store(true);
        const std::uint64_t percent =
            total == 0
                ? 100
                : static_cast<std::uint64_t>(100.0 * static_cast<double>(done) / static_cast<double>(total));
        if (!terminal || percent == shown) return;
        shown = percent;
        const std::string line = "\r" + std::to_string(percent) + " %" + (percent >= 100 ? "\n" : "");
        static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
    };
    const auto report = quantize_file(**file, options.output, work);
    if (!report.ok()) {
        note(report.error().message);
        return 1;
    }
    write_out(report->text());
    note("Wrote " + display_path(options.output) + ".");
    return output_status();
}

}  // namespace vitrine::cli
