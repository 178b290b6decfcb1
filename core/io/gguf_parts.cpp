#include "core/io/gguf_parts.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "core/io/printable.h"

namespace vitrine {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxParts = 10'000;
constexpr std::size_t kDigits = 5;

std::string number(std::uint64_t n) { return std::to_string(n); }

std::string padded(std::uint64_t n) {
    const std::string text = number(n);
    return std::string(text.size() < kDigits ? kDigits - text.size() : 0, '0') + text;
}

Error refuse(const GgufFile& file, ErrorKind kind, const std::string& message) {
    return {kind, display_path(file.path()) + ": " + message};
}

struct SplitKeys {
    std::uint64_t count = 1;
    std::uint64_t part = 0;  // from 0
    std::optional<std::uint64_t> tensors;
};

Result<SplitKeys> read_split_keys(const GgufFile& file) {
    SplitKeys keys;
    VITRINE_TRY(const auto count, file.unsigned_integer("split.count"));
    VITRINE_TRY(const auto part, file.unsigned_integer("split.no"));
    VITRINE_TRY(keys.tensors, file.unsigned_integer("split.tensors.count"));
    keys.count = count.value_or(1);
    keys.part = part.value_or(0);
    if (keys.count <= 1) return keys;
    if (keys.count > kMaxParts) {
        return refuse(file, ErrorKind::BadFile,
                      "key 'split.count' is " + number(keys.count) + "; no model is split into more than " +
                          number(kMaxParts) + " files.");
    }
    if (keys.part >= keys.count) {
        return refuse(file, ErrorKind::BadFile,
                      "key 'split.no' is " + number(keys.part) + ", but 'split.count' is " +
                          number(keys.count) + ": parts are counted from 0.");
    }
    return keys;
}

std::string part_of(const SplitKeys& keys) {
    return "part " + number(keys.part + 1) + " of a model split into " + number(keys.count) + " GGUF files";
}

// Another GGUF header right behind the last tensor.
bool is_joined(const GgufFile& file) {
    const std::uint64_t tail = file.unused_tail_bytes();
    if (tail == 0) return false;
    // The padding of the last tensor may have been left out.
    const std::uint64_t reach = std::min<std::uint64_t>(file.file_size(), tail + file.alignment());
    const auto bytes = file.tail_bytes(reach);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                                std::min<std::uint64_t>(bytes.size(), std::uint64_t{file.alignment()} + 4));
    return text.find("GGUF") != std::string_view::npos;
}

// That the part is what its name and the others say.
Status check_part(const GgufFile& file, const SplitKeys& expected,
                  const std::optional<std::string>& architecture) {
    VITRINE_TRY(const SplitKeys keys, read_split_keys(file));
    if (keys.count != expected.count || keys.part != expected.part) {
        const std::string found =
            keys.count > 1 ? "says to be " + part_of(keys) : "is no part of a split model";
        return refuse(file, ErrorKind::BadFile,
                      "this file should be " + part_of(expected) + ", but " + found +
                          " (keys 'split.no' and 'split.count'): the parts are not of one "
                          "model, or were renamed; download them again.");
    }
    if (keys.tensors && expected.tensors && *keys.tensors != *expected.tensors) {
        return refuse(file, ErrorKind::BadFile,
                      "key 'split.tensors.count' is " + number(*keys.tensors) + ", but another part says " +
                          number(*expected.tensors) +
                          ": the parts are not of one model; download them again.");
    }
    VITRINE_TRY(const auto own, file.string("general.architecture"));
    if (own && architecture && *own != *architecture) {
        return refuse(file, ErrorKind::BadFile,
                      "this part holds a model of architecture " + in_quotes(*own) + ", the first one of " +
                          in_quotes(*architecture) + ": they are not of one model; download them again.");
    }
    return {};
}

Status check_together(const std::vector<std::unique_ptr<GgufFile>>& files, const SplitKeys& keys) {
    std::unordered_map<std::string_view, const GgufFile*> seen;
    std::uint64_t tensors = 0;
    for (const auto& file : files) {
        tensors += file->tensors().size();
        for (const GgufTensor& tensor : file->tensors()) {
            const auto [place, is_new] = seen.emplace(tensor.name, file.get());
            if (is_new) continue;
            return refuse(*file, ErrorKind::BadFile,
                          "Duplicate tensor name " + in_quotes(tensor.name) + ": it lies in " +
                              display_path(place->second->path().filename()) +
                              ", too, and which of the two counts would be chance.");
        }
    }
    if (keys.tensors && *keys.tensors != tensors) {
        return refuse(*files.front(), ErrorKind::BadFile,
                      "key 'split.tensors.count' is " + number(*keys.tensors) +
                          ", but all parts together hold " + number(tensors) +
                          " tensors: a part is of another model; download them again.");
    }
    return {};
}

}  // namespace

std::optional<GgufPartName> parse_gguf_part_name(const fs::path& path) {
    constexpr std::size_t kTail = 1 + kDigits + 4 + kDigits + 5;  // -00001-of-00003.gguf
    const std::string name = path.filename().native();
    if (name.size() <= kTail) return std::nullopt;
    const std::string_view tail = std::string_view(name).substr(name.size() - kTail);
    const auto digits = [&](std::size_t at) -> std::optional<std::uint64_t> {
        std::uint64_t value = 0;
        for (const char c : tail.substr(at, kDigits)) {
            if (c < '0' || c > '9') return std::nullopt;
            value = value * 10 + static_cast<std::uint64_t>(c - '0');
        }
        return value;
    };
    const auto part = digits(1);
    const auto count = digits(1 + kDigits + 4);
    if (tail[0] != '-' || tail.substr(1 + kDigits, 4) != "-of-" || tail.substr(kTail - 5) != ".gguf" ||
        !part || !count)
        return std::nullopt;
    return GgufPartName{name.substr(0, name.size() - kTail), *part, *count};
}

fs::path gguf_part_path(const fs::path& path, const GgufPartName& name, std::uint64_t part) {
    return path.parent_path() / (name.stem + "-" + padded(part) + "-of-" + padded(name.count) + ".gguf");
}

Result<GgufParts> GgufParts::open(const fs::path& path, GgufScope scope) {
    GgufParts out;
    VITRINE_TRY(auto named, GgufFile::open(path, scope));
    VITRINE_TRY(const SplitKeys keys, read_split_keys(*named));
    if (keys.count <= 1) {
        out.files_.push_back(std::move(named));
        return out;
    }
    const auto name = parse_gguf_part_name(path);
    const std::string what = "This is " + part_of(keys);
    if (is_joined(*named)) {
        return refuse(
            *named, ErrorKind::BadFile,
            what +
                ", and another GGUF file follows inside it: parts were joined byte by byte, which does not "
                "merge them. Download the parts again and keep them as separate files in one folder; then "
                "open the first one.");
    }
    if (!name) {
        return refuse(
            *named, ErrorKind::NotFound,
            what + ", but its name does not end in -" + padded(keys.part + 1) + "-of-" + padded(keys.count) +
                ".gguf, so the others cannot be found. Give all parts the names that they were published "
                "with, in one folder. (Joining them byte by byte does not work.)");
    }
    if (name->count != keys.count) {
        return refuse(*named, ErrorKind::BadFile,
                      what + " (key 'split.count'), but its name says that there are " + number(name->count) +
                          ": give all parts the names that they were "
                          "published with.");
    }
    if (name->number != keys.part + 1) {
        return refuse(
            *named, ErrorKind::BadFile,
            what + " (key 'split.no'), but its name says part " + number(name->number) + ": it was renamed.");
    }
    if (scope == GgufScope::MetadataOnly) {
        if (keys.part != 0) {
            VITRINE_TRY(named, GgufFile::open(gguf_part_path(path, *name, 1), scope));
        }
        out.files_.push_back(std::move(named));
        return out;
    }

    std::vector<std::string> missing;
    std::error_code ignored;
    for (std::uint64_t i = 1; i <= keys.count; ++i) {
        const fs::path part = gguf_part_path(path, *name, i);
        if (!fs::exists(part, ignored)) missing.push_back(part.filename().native());
    }
    if (!missing.empty()) {
        return refuse(*named, ErrorKind::NotFound,
                      what + ", and of these are missing: " + list_names(missing) +
                          ". Download them into the same folder.");
    }
    std::optional<std::string> architecture;
    // What the parts are is said before what may be wrong with their weights.
    for (std::uint64_t i = 1; i <= keys.count; ++i) {
        VITRINE_TRY(auto part, GgufFile::open(gguf_part_path(path, *name, i), GgufScope::MetadataOnly));
        if (i == 1) {
            VITRINE_TRY(architecture, part->string("general.architecture"));
        }
        SplitKeys expected = keys;
        expected.part = i - 1;
        VITRINE_CHECK(check_part(*part, expected, architecture));
    }
    for (std::uint64_t i = 1; i <= keys.count; ++i) {
        VITRINE_TRY(auto part, GgufFile::open(gguf_part_path(path, *name, i), GgufScope::All));
        out.files_.push_back(std::move(part));
    }
    VITRINE_CHECK(check_together(out.files_, keys));
    return out;
}

GgufPlace GgufParts::find(std::string_view name) const {
    for (const auto& file : files_)
        if (const GgufTensor* tensor = file->find_tensor(name)) return {file.get(), tensor};
    return {};
}

Status GgufParts::unchanged() const {
    for (const auto& file : files_) VITRINE_CHECK(file->unchanged());
    return {};
}

}  // namespace vitrine
