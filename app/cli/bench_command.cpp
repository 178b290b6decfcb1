// Options of `vitrine-cli bench`, its JSON and its table.
#include "app/cli/bench.h"
#include "app/cli/bench_draft.h"
#include "app/cli/interrupt.h"
#include "app/cli/latency.h"
#include "app/cli/machine.h"
#include "app/cli/output.h"

namespace vitrine::cli {

namespace {

Status measure(Bench& bench, const BenchOptions& options, const std::vector<std::int32_t>& prefill,
               const std::vector<std::int32_t>& decode) {
    for (const std::int32_t depth : options.depth) {
        for (const std::int32_t batch : options.batch) {
            for (const std::int32_t tokens : prefill) VITRINE_CHECK(bench.prefill(tokens, depth, batch));
            for (const std::int32_t tokens : decode) VITRINE_CHECK(bench.decode(tokens, depth, batch));
        }
        for (const std::int32_t tokens : options.step) VITRINE_CHECK(bench.step(tokens, depth));
    }
    return {};
}

// Time, bytes and bandwidth of each phase, an iteration.
OrderedJson phases_json(const PhaseFigures& figures, double read) {
    OrderedJson list = OrderedJson::array();
    const double steps = static_cast<double>(std::max<std::int64_t>(figures.iterations, 1));
    const std::vector<PhaseFigure> phases = phases_of(figures);
    double total = 0;
    for (const PhaseFigure& phase : phases) total += phase.seconds;
    for (const PhaseFigure& phase : phases) {
        OrderedJson one;
        one["phase"] = phase.name;
        one["share_of_time"] = phase.seconds / total;
        one["seconds"] = phase.seconds / steps;
        one["bytes"] = phase.bytes / steps;
        one["gb_s"] = phase.gb_s();
        one["share_of_read_bandwidth"] = read > 0 ? OrderedJson(phase.gb_s() / read) : OrderedJson();
        list.push_back(std::move(one));
    }
    return list;
}

OrderedJson as_json(const Bench& bench, const DeviceInfo& device) {
    const double read = bench.read_gb_s();
    OrderedJson reply;
    const std::string cpu = cpu_name();
    reply["machine"] = {
        {"cpu", cpu.empty() ? OrderedJson() : OrderedJson(cpu)},
        {"gpu", device.name.rfind("cuda", 0) == 0 ? OrderedJson(device.description) : OrderedJson()},
        {"read_gb_s", read}};
    reply["results"] = OrderedJson::array();
    for (const Timing& timing : bench.timings()) {
        const double weights = median(timing.weights_gb_s);
        OrderedJson result;
        result["test"] = timing.test;
        result["tokens"] = timing.tokens;
        result["depth"] = timing.depth;
        result["batch"] = timing.batch;
        result["tok_s_median"] = median(timing.tok_s);
        result["tok_s_min"] = *std::min_element(timing.tok_s.begin(), timing.tok_s.end());
        result["tok_s_max"] = *std::max_element(timing.tok_s.begin(), timing.tok_s.end());
        result["weights_gb_s"] = weights;
        result["share_of_read_bandwidth"] = read > 0 ? OrderedJson(weights / read) : OrderedJson();
        if (timing.step) result["step"] = true;
        if (timing.latency.requests > 0) result["latency"] = latency_json(timing.latency);
        if (timing.kv_waste > 0) result["kv_waste"] = timing.kv_waste;
        result["phases"] = phases_json(timing.phases, read);
        reply["results"].push_back(std::move(result));
    }
    return reply;
}

std::string right(const std::string& text, std::size_t width) {
    return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}

// One line a phase: share of the time, time and bytes an iteration, bandwidth.
std::string phases_table(const PhaseFigures& figures, double read) {
    const std::vector<PhaseFigure> phases = phases_of(figures);
    double total = 0;
    for (const PhaseFigure& phase : phases) total += phase.seconds;
    if (total <= 0) return {};
    const double steps = static_cast<double>(std::max<std::int64_t>(figures.iterations, 1));
    std::string table;
    for (const PhaseFigure& phase : phases) {
        std::string name = phase.name;
        name.resize(14, ' ');
        table += "  " + name + right(fixed(100 * phase.seconds / total, 1) + " %", 8) +
                 right(fixed(phase.seconds / steps * 1e6, 1) + " us", 14);
        if (phase.bytes > 0)
            table += right(fixed(phase.bytes / steps * 1e-6, 2) + " MB", 14) +
                     right(fixed(phase.gb_s(), 2) + " GB/s", 16) +
                     right(read > 0 ? fixed(100 * phase.gb_s() / read, 1) + " %" : "-", 27);
        table += "\n";
    }
    return table;
}

std::string as_table(const Bench& bench, Model& model, const std::string& sentence) {
    const double read = bench.read_gb_s();
    std::string table = sentence + "\nDevice: " + model.device().info().description + "\nCPU: " + cpu_name() +
                        "\nRead bandwidth: " + fixed(read, 1) + " GB/s (passes between the timed ones)\n\n";
    table +=
        "test     tokens   depth  batch     tok/s (min to max)          weights GB/s   of read bandwidth\n";
    for (const Timing& timing : bench.timings()) {
        const double weights = median(timing.weights_gb_s);
        const std::string range =
            "(" + fixed(*std::min_element(timing.tok_s.begin(), timing.tok_s.end()), 1) + " to " +
            fixed(*std::max_element(timing.tok_s.begin(), timing.tok_s.end()), 1) + ")";
        std::string name = timing.step ? "step" : timing.test;
        name.resize(8, ' ');
        table += name + right(std::to_string(timing.tokens), 7) + right(std::to_string(timing.depth), 8) +
                 right(std::to_string(timing.batch), 7) + right(fixed(median(timing.tok_s), 1), 10) + " " +
                 right(range, 22) + right(fixed(weights, 2), 14) +
                 right(read > 0 ? fixed(100 * weights / read, 1) + " %" : "-", 19) + "\n";
        const std::string latency = latency_text(timing.latency);
        if (!latency.empty()) table += "         " + latency;
        if (timing.kv_waste > 0)
            table += (latency.empty() ? "         " : ", ") + fixed(100 * timing.kv_waste, 1) +
                     " % of the KV memory in use is empty";
        if (!latency.empty() || timing.kv_waste > 0) table += "\n";
        table += phases_table(timing.phases, read);
    }
    if (model.device().info().threads > 0 && model.weights().bytes_per_step() < last_level_cache_bytes())
        table +=
            "\nThe weights (" + fixed(static_cast<double>(model.weights().bytes_per_step()) * 1e-6, 1) +
            " MB) fit in this processor's caches, so their share of the read bandwidth can pass 100 %.\n";
    return table;
}

// Nothing but the comparison.
int run_draft_bench(const BenchOptions& options, const OpenedModel& opened, Recorder& recorder,
                    const std::function<bool()>& stopped) {
    const auto draft = open_draft(options.draft, opened.model);
    if (!draft.ok()) {
        note(draft.error().message);
        return 2;
    }
    DraftBenchOptions compared;
    compared.prompts = options.prompts;
    compared.rounds = options.repeat;
    if (!options.decode.empty()) compared.tokens = options.decode.front();
    const Speculation speculation = options.draft.speculation();
    const auto result = bench_drafts(opened.model, *draft, options.engine.engine_options(), speculation,
                                     compared, recorder, stopped);
    const Status whole = recorder.finish();
    if (!whole.ok()) note(whole.error().message);
    if (!result.ok()) {
        note(result.error().message);
        return 1;
    }
    if (options.json)
        write_out(to_line({{"machine", {{"cpu", cpu_name()}}},
                           {"results", OrderedJson::array({draft_bench_json(*result, speculation)})}}));
    else
        write_out(terminal_text(opened.sentence + "\nDevice: " + opened.model->device().info().description +
                                "\nCPU: " + cpu_name() + "\n" + draft_bench_text(*result, speculation)));
    return whole.ok() ? output_status() : 1;
}

}  // namespace

int run_bench(const BenchOptions& options) {
    auto opened = open_model(options.model);
    if (!opened.ok()) {
        note(opened.error().message);
        return 2;
    }
    if (!options.model.model && options.json) note(opened->sentence);
    // With a trace, Ctrl+C ends after the repetition at hand, so that the file is whole.
    std::optional<Interrupts> interrupts;
    if (options.engine.trace) interrupts.emplace();
    const bool named = !options.prefill.empty() || !options.decode.empty() || !options.step.empty();
    Recorder recorder;
    if (options.engine.trace) {
        if (const Status made = recorder.open_trace(*options.engine.trace, *opened->model); !made.ok()) {
            note(made.error().message);
            return 2;
        }
    }
    if (options.draft.wanted())
        return run_draft_bench(options, *opened, recorder,
                               [&] { return interrupts && interrupts->pending() > 0; });
    Bench bench(opened->model, options.engine.engine_options(), options.repeat, recorder);
    if (interrupts) bench.stopped = [&] { return interrupts->pending() > 0; };
    const auto done = measure(bench, options, named ? options.prefill : std::vector<std::int32_t>{256},
                              named ? options.decode : std::vector<std::int32_t>{128});
    const Status whole = recorder.finish();
    if (!whole.ok()) note(whole.error().message);
    if (!done.ok()) {
        note(done.error().message);
        return 1;
    }
    write_out(options.json ? to_line(as_json(bench, opened->model->device().info()))
                           : terminal_text(as_table(bench, *opened->model, opened->sentence)));
    return whole.ok() ? output_status() : 1;
}

}  // namespace vitrine::cli
