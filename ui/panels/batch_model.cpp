#include "ui/panels/batch_model.h"

#include <algorithm>
#include <utility>

namespace vitrine::ui {

BatchRow* BatchModel::find(std::int64_t sequence) {
    // By arrival: numbers grow, and the one that is asked for is mostly near the end.
    const auto at =
        std::lower_bound(rows_.begin(), rows_.end(), sequence,
                         [](const BatchRow& row, std::int64_t wanted) { return row.sequence < wanted; });
    return at != rows_.end() && at->sequence == sequence ? &*at : nullptr;
}

void BatchModel::add(BatchRow& row, BatchWork work, std::int64_t first, std::int64_t last,
                     std::int64_t rows) {
    if (last < first) return;
    // Chunks stay apart: where a prompt was cut is worth seeing.
    if (!row.runs.empty() && row.runs.back().work == work && row.runs.back().last + 1 >= first &&
        work != BatchWork::Prefill) {
        row.runs.back().last = std::max(row.runs.back().last, last);
        row.runs.back().rows += rows;
        return;
    }
    row.runs.push_back({first, last, rows, work});
    if (row.runs.size() > most_runs) row.runs.pop_front();
}

void BatchModel::append(const Record& record) {
    switch (record.kind) {
        case RecordKind::Request: on_request(record.request); break;
        case RecordKind::Slice: on_slice(record.slice); break;
        case RecordKind::Iteration: on_iteration(record.iteration); break;
        default: break;
    }
}

void BatchModel::on_request(const RequestRecord& r) {
    BatchRow* row = find(r.request);
    if (row == nullptr) {
        // Records may begin in the middle, where the window was late; and an engine counts upwards.
        if (r.event == RequestEvent::Finished || r.event == RequestEvent::Cancelled ||
            r.event == RequestEvent::Failed)
            return;
        if (!rows_.empty() && rows_.back().sequence > r.request) return;
        BatchRow fresh;
        fresh.sequence = fresh.request = r.request;
        fresh.begin = r.iteration + 1;
        rows_.push_back(std::move(fresh));
        if (rows_.size() > most_rows) {
            // Those that ended go first.
            const auto ended =
                std::find_if(rows_.begin(), rows_.end(), [](const BatchRow& b) { return b.end >= 0; });
            rows_.erase(ended != rows_.end() ? ended : rows_.begin());
        }
        row = &rows_.back();
    }
    switch (r.event) {
        case RequestEvent::Submitted: row->prompt = r.tokens; break;
        case RequestEvent::Admitted:
            if (row->waits)
                add(*row, row->preempted ? BatchWork::Preempted : BatchWork::Waiting,
                    row->runs.empty() ? row->begin : row->runs.back().last + 1, r.iteration - 1, 0);
            row->waits = row->preempted = false;
            break;
        case RequestEvent::Preempted:
            row->waits = row->preempted = true;
            add(*row, BatchWork::Preempted, r.iteration, r.iteration, 0);
            break;
        case RequestEvent::Finished:
        case RequestEvent::Cancelled:
        case RequestEvent::Failed:
            if (row->waits)
                add(*row, row->preempted ? BatchWork::Preempted : BatchWork::Waiting,
                    row->runs.empty() ? row->begin : row->runs.back().last + 1, r.iteration, 0);
            row->waits = row->preempted = false;
            row->end = std::max(row->begin, r.iteration);
            break;
        case RequestEvent::PrefillChunk:
        case RequestEvent::FirstToken: break;
    }
}

void BatchModel::on_slice(const SliceRecord& r) {
    BatchRow* row = find(r.sequence);
    if (row == nullptr) return;
    row->request = r.request;
    const bool chunk = r.first < row->prompt || (r.tokens > 1 && r.outputs <= 1);
    add(*row,
        chunk            ? BatchWork::Prefill
        : r.outputs <= 1 ? BatchWork::Decode
                         : BatchWork::Speculative,
        r.iteration, r.iteration, r.tokens);
}

void BatchModel::on_iteration(const IterationRecord& r) {
    figures_.iteration = std::max(figures_.iteration, r.index);
    figures_.running = r.sequences;
    figures_.waiting = r.waiting;
    figures_.tokens = r.tokens;
    figures_.budget = r.budget;
    for (BatchRow& row : rows_)
        if (row.waits && row.begin <= r.index)
            add(row, row.preempted ? BatchWork::Preempted : BatchWork::Waiting,
                row.runs.empty() ? row.begin : row.runs.back().last + 1, r.index, 0);
}

}  // namespace vitrine::ui
