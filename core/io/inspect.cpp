#include "core/io/inspect.h"

#include <algorithm>
#include <cmath>

#include "core/io/byte_reader.h"
#include "core/io/finite.h"
#include "core/io/gguf_config.h"
#include "core/io/gguf_file.h"
#include "core/io/gguf_vocabulary.h"
#include "core/io/inspect_facts.h"
#include "core/io/mapped_file.h"
#include "core/io/model_source.h"
#include "core/io/printable.h"
#include "core/io/split_files.h"

namespace vitrine {

namespace {

// A hostile file can hold millions of oddities; a person reads the first ones.
constexpr std::size_t kMaxSuspicious = 200;

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

void look_at_weights(InspectFacts& facts, std::span<const std::byte> file) {
    constexpr std::size_t kMax = 20;
    // Tensors that overlap could make this take as long as their number times the size of the file.
    if (facts.tensor_bytes > facts.file_size) return;
    std::size_t bad = 0;
    for (const GgufTensor& tensor : facts.content.tensors) {
        if (!is_valid_utf8(tensor.name))
            note(facts, "The name of tensor " + in_quotes(tensor.name) + " is not valid UTF-8.");
        if (!tensor.valid || !tensor.dtype) continue;
        HostTensor view;
        view.dtype = *tensor.dtype;
        view.cols = tensor.dims.empty() ? 1 : static_cast<std::int64_t>(tensor.dims[0]);
        view.rows = static_cast<std::int64_t>(tensor.elements()) / view.cols;
        view.data = file.data() + tensor.offset;
        const Status finite = check_finite(view, tensor.name);
        if (!finite.ok() && bad++ < kMax) note(facts, finite.error().message);
    }
    if (bad > 0) {
        facts.usable = false;
        if (facts.reason.empty())
            facts.reason = std::to_string(bad) + " tensors hold numbers that are NaN or infinite.";
    }
}

void look_at_space(InspectFacts& facts, std::span<const std::byte> file) {
    const std::uint64_t tail = facts.content.unused_tail;
    if (tail > 0) {
        note(facts, std::to_string(tail) + " unused bytes behind the last tensor.");
        const std::string_view rest = as_text(file.subspan(file.size() - tail));
        if (rest.substr(0, 4) == "GGUF") {
            note(facts,
                 "A second GGUF file follows inside this one: files were joined byte by byte, which does not "
                 "merge a split model.");
        }
    }
    if (facts.content.unused_gaps > 0) {
        note(facts, std::to_string(facts.content.unused_gaps) + " unused bytes between tensors.");
    }
}

// What only a file with readable metadata can tell.
void read_metadata(InspectFacts& facts) {
    auto file = GgufFile::open(facts.path, GgufScope::MetadataOnly);
    if (!file.ok()) return;
    const ModelConfig config = read_config_leniently(**file);
    facts.architecture = config.architecture;
    facts.name = config.name;
    facts.context = static_cast<std::uint64_t>(config.context);
    constexpr std::uint64_t kHalfBytes = 2;
    facts.kv_bytes_per_token = 2 * static_cast<std::uint64_t>(config.layers) *
                               static_cast<std::uint64_t>(config.kv_heads) *
                               static_cast<std::uint64_t>(config.head_dim) * kHalfBytes;
    if (auto parts = (*file)->unsigned_integer("split.count"); parts.ok() && parts->value_or(1) > 1) {
        facts.partial = true;
        note(facts, "This is one part of a model split into " + std::to_string(**parts) +
                        " files: totals are of this part alone, and the memory estimate is partial.");
    }
    if (auto vocabulary = read_gguf_vocabulary(**file); vocabulary.ok()) {
        for (const std::string& warning : vocabulary->warnings) note(facts, warning);
        if (vocabulary->model != "gpt2" && vocabulary->model != "llama") {
            note(facts, "The kind of the vocabulary, " + in_quotes(vocabulary->model) + ", is not known.");
        }
    } else {
        const std::string& message = vocabulary.error().message;
        const std::string prefix = display_path(facts.path) + ": ";
        note(facts, message.substr(message.rfind(prefix, 0) == 0 ? prefix.size() : 0));
    }
    if (auto text = (*file)->string("tokenizer.chat_template"); text.ok() && text->value_or("").empty()) {
        note(facts, "The file has no chat template.");
    }
}

}  // namespace

InspectReport inspect_model(const std::filesystem::path& path) {
    InspectFacts facts;
    facts.path = path;
    const auto finish = [&] {
        const std::string prefix = display_path(path) + ": ";
        if (facts.reason.rfind(prefix, 0) == 0) facts.reason.erase(0, prefix.size());
        return InspectReport{facts.usable, inspect_text(facts), inspect_json(facts)};
    };

    auto file = MappedFile::open(path);
    if (!file.ok()) {
        facts.reason = file.error().message;
        return finish();
    }
    const auto bytes = (*file)->bytes();
    facts.file_size = bytes.size();
    if (const Status read = read_gguf_directory(bytes, facts.content); !read.ok()) {
        facts.reason = read.error().message + advice_for_pieces(path, facts.content, bytes.size());
        return finish();
    }
    for (const Error& problem : check_gguf_layout(bytes.size(), facts.content)) note(facts, problem.message);
    count_tensors(facts);
    look_at_values(facts);
    look_at_space(facts, bytes);
    read_metadata(facts);

    const auto source = ModelSource::open(path);
    facts.usable = source.ok();
    if (source.ok()) {
        for (const std::string& warning : (*source)->warnings()) {
            if (warning.find("unused bytes behind") == std::string::npos) note(facts, warning);
        }
    } else {
        facts.reason = source.error().message;
    }
    look_at_weights(facts, bytes);
    return finish();
}

}  // namespace vitrine
