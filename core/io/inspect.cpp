#include "core/io/inspect.h"

#include <algorithm>
#include <cmath>

#include "core/io/byte_reader.h"
#include "core/io/finite.h"
#include "core/io/gguf_config.h"
#include "core/io/gguf_file.h"
#include "core/io/gguf_parts.h"
#include "core/io/gguf_vocabulary.h"
#include "core/io/hf_model.h"
#include "core/io/inspect_facts.h"
#include "core/io/mapped_file.h"
#include "core/io/model_source.h"
#include "core/io/printable.h"
#include "core/io/split_files.h"

namespace vitrine {

namespace {

// A hostile file can hold millions of oddities; a person reads the first ones.
constexpr std::size_t kMaxSuspicious = 200;

// Odd metadata that nothing else reads: it says much about the program that wrote the file.
void look_at_values(InspectFacts& facts) {
    for (const GgufValue& value : facts.content.values) {
        const std::string key = in_quotes(value.key);
        if (!is_valid_utf8(value.key)) note(facts, "The name of key " + key + " is not valid UTF-8.");
        if (value.type == GgufType::Bool && load_number<std::uint8_t>(value.payload.data()) > 1) {
            note(facts, "Key " + key + " is a bool that is neither 0 nor 1.");
        }
        if (value.type == GgufType::F32 && !std::isfinite(load_number<float>(value.payload.data()))) {
            note(facts, "Key " + key + " is not a finite number.");
        }
        if (value.type == GgufType::F64 && !std::isfinite(load_number<double>(value.payload.data()))) {
            note(facts, "Key " + key + " is not a finite number.");
        }
        if (value.type == GgufType::String && !is_valid_utf8(as_text(value.payload.subspan(8)))) {
            note(facts, "The text of key " + key + " is not valid UTF-8.");
        }
    }
}

void look_at_weights(InspectFacts& facts, std::span<const GgufTensor> tensors,
                     std::span<const std::byte> file) {
    std::uint64_t total = 0;
    for (const GgufTensor& tensor : tensors)
        if (tensor.valid) total += tensor.bytes;
    // Tensors that overlap could make this take as long as their number times the size of the file.
    if (total > file.size()) return;
    std::size_t bad = 0;
    for (const GgufTensor& tensor : tensors)
        look_at_tensor(facts, tensor, tensor.valid ? file.data() + tensor.offset : nullptr, bad);
    say_bad_tensors(facts, bad);
}

void look_at_space(InspectFacts& facts, const GgufContent& content, std::span<const std::byte> file) {
    const std::uint64_t tail = content.unused_tail;
    if (tail > 0) {
        note(facts, std::to_string(tail) + " unused bytes behind the last tensor.");
        const std::string_view rest = as_text(file.subspan(file.size() - tail));
        if (rest.substr(0, 4) == "GGUF") {
            note(facts,
                 "A second GGUF file follows inside this one: files were joined byte by byte, which does not "
                 "merge a split model.");
        }
    }
    if (content.unused_gaps > 0) {
        note(facts, std::to_string(content.unused_gaps) + " unused bytes between tensors.");
    }
}

// What only a file with readable metadata can tell.
void read_metadata(InspectFacts& facts, const std::filesystem::path& path) {
    auto file = GgufFile::open(path, GgufScope::MetadataOnly);
    if (!file.ok()) return;
    const ModelConfig config = read_config_leniently(**file);
    facts.architecture = config.architecture;
    facts.name = config.name;
    facts.context = static_cast<std::uint64_t>(config.context);
    constexpr std::uint64_t kHalfBytes = 2;
    facts.kv_bytes_per_token = 2 * static_cast<std::uint64_t>(config.layers) *
                               static_cast<std::uint64_t>(config.kv_heads) *
                               static_cast<std::uint64_t>(config.head_dim) * kHalfBytes;
    if (auto vocabulary = read_gguf_vocabulary(**file); vocabulary.ok()) {
        for (const std::string& warning : vocabulary->warnings) note(facts, warning);
        if (vocabulary->model != "gpt2" && vocabulary->model != "llama") {
            note(facts, "The kind of the vocabulary, " + in_quotes(vocabulary->model) + ", is not known.");
        }
    } else {
        const std::string& message = vocabulary.error().message;
        const std::string prefix = display_path(path) + ": ";
        note(facts, message.substr(message.rfind(prefix, 0) == 0 ? prefix.size() : 0));
    }
    if (auto text = (*file)->string("tokenizer.chat_template"); text.ok() && text->value_or("").empty()) {
        note(facts, "The file has no chat template.");
    }
}

// The other parts of a split model, in order; where the file is none, itself alone. Missing ones are noted.
std::vector<std::filesystem::path> parts_of(InspectFacts& facts) {
    std::vector<std::filesystem::path> out = {facts.path};
    const auto file = GgufFile::open(facts.path, GgufScope::MetadataOnly);
    if (!file.ok()) return out;
    const auto count = (*file)->unsigned_integer("split.count");
    if (!count.ok() || count->value_or(1) <= 1) return out;
    const auto name = parse_gguf_part_name(facts.path);
    std::uint64_t missing = **count - 1;
    if (name && name->count == **count && name->count <= 10'000) {
        out.clear();
        missing = 0;
        std::error_code ignored;
        for (std::uint64_t i = 1; i <= name->count; ++i) {
            const auto part = gguf_part_path(facts.path, *name, i);
            if (std::filesystem::exists(part, ignored)) {
                out.push_back(part);
            } else {
                ++missing;
            }
        }
    }
    if (missing > 0) {
        facts.partial = true;
        note(facts,
             "Of the " + std::to_string(**count) + " files of this split model " + std::to_string(missing) +
                 " are missing: totals are of the parts that are here, and the memory estimate is partial.");
    }
    return out;
}

// Adds what a further part holds.
void merge_part(InspectFacts& facts, GgufContent part) {
    facts.content.declared_tensors += part.declared_tensors;
    facts.content.unused_tail += part.unused_tail;
    facts.content.unused_gaps += part.unused_gaps;
    for (GgufTensor& tensor : part.tensors) facts.content.tensors.push_back(std::move(tensor));
}

}  // namespace

void note(InspectFacts& facts, const std::string& sentence) {
    // The same thing may be found in two ways: by the checks of the file and by opening it.
    if (std::find(facts.suspicious.begin(), facts.suspicious.end(), sentence) != facts.suspicious.end())
        return;
    if (facts.suspicious.size() < kMaxSuspicious) {
        facts.suspicious.push_back(sentence);
    } else if (facts.suspicious.size() == kMaxSuspicious) {
        facts.suspicious.emplace_back("There is more of this kind; only the first 200 findings are listed.");
    }
}

void count_tensors(InspectFacts& facts) {
    for (const GgufTensor& tensor : facts.content.tensors) {
        if (!tensor.valid) continue;
        facts.parameters += tensor.elements();
        facts.tensor_bytes += tensor.bytes;
        auto& share = facts.by_type[tensor.type_name];
        ++share.tensors;
        share.weights += tensor.elements();
        share.bytes += tensor.bytes;
    }
}

void look_at_tensor(InspectFacts& facts, const GgufTensor& tensor, const std::byte* data, std::size_t& bad) {
    constexpr std::size_t kMax = 20;
    if (!is_valid_utf8(tensor.name))
        note(facts, "The name of tensor " + in_quotes(tensor.name) + " is not valid UTF-8.");
    if (!tensor.valid || !tensor.dtype || tensor.elements() == 0) return;
    HostTensor view;
    view.dtype = *tensor.dtype;
    const std::uint64_t columns = tensor.dims.empty() ? 1
                                  : facts.folder      ? tensor.dims.back()
                                                      : tensor.dims[0];
    view.cols = static_cast<std::int64_t>(columns);
    view.rows = static_cast<std::int64_t>(tensor.elements()) / view.cols;
    view.data = data;
    const Status finite = check_finite(view, tensor.name);
    if (!finite.ok() && bad++ < kMax) note(facts, finite.error().message);
}

void say_bad_tensors(InspectFacts& facts, std::size_t bad) {
    if (bad == 0) return;
    facts.usable = false;
    if (facts.reason.empty())
        facts.reason = std::to_string(bad) + " tensors hold numbers that are NaN or infinite.";
}

InspectReport inspect_model(const std::filesystem::path& path, const FurtherLook& further) {
    InspectFacts facts;
    facts.path = path;
    const auto finish = [&] {
        const std::string prefix = display_path(path) + ": ";
        if (facts.usable && further) {
            if (const auto found = further(); found.ok()) {
                for (const std::string& sentence : *found) note(facts, sentence);
            } else {
                facts.usable = false;
                facts.reason = found.error().message;
            }
        }
        if (facts.reason.rfind(prefix, 0) == 0) facts.reason.erase(0, prefix.size());
        return InspectReport{facts.usable, inspect_text(facts), inspect_json(facts)};
    };
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored) || HfModel::is_file_of_folder(path)) {
        inspect_folder(facts);
        return finish();
    }

    std::vector<std::unique_ptr<MappedFile>> mappings;
    std::vector<std::vector<GgufTensor>> tensors;
    const auto parts = parts_of(facts);
    for (const auto& part : parts) {
        auto file = MappedFile::open(part);
        if (!file.ok()) {
            facts.reason = file.error().message;
            return finish();
        }
        const auto bytes = (*file)->bytes();
        facts.file_size += bytes.size();
        if (parts.size() > 1) facts.files.push_back({part.filename().native(), bytes.size()});
        GgufContent content;
        const Status read = read_gguf_directory(bytes, content);
        const std::string advice = read.ok() ? "" : advice_for_pieces(part, content, bytes.size());
        if (read.ok()) {
            for (const Error& problem : check_gguf_layout(bytes.size(), content))
                note(facts, problem.message);
            look_at_space(facts, content, bytes);
        }
        tensors.push_back(content.tensors);
        mappings.push_back(std::move(file).value());
        if (mappings.size() == 1) {
            facts.content = std::move(content);
        } else {
            merge_part(facts, std::move(content));
        }
        if (read.ok()) continue;
        facts.reason = (parts.size() > 1 ? display_path(part) + ": " : "") + read.error().message + advice;
        return finish();
    }
    count_tensors(facts);
    look_at_values(facts);
    read_metadata(facts, parts.front());

    const auto source = ModelSource::open(path);
    facts.usable = source.ok();
    if (source.ok()) {
        for (const std::string& warning : (*source)->warnings()) {
            if (warning.find("unused bytes behind") == std::string::npos) note(facts, warning);
        }
    } else {
        facts.reason = source.error().message;
    }
    for (std::size_t i = 0; i < mappings.size(); ++i)
        look_at_weights(facts, tensors[i], mappings[i]->bytes());
    return finish();
}

}  // namespace vitrine
