#include "core/io/gguf_content.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/io/byte_reader.h"
#include "core/io/foreign_file.h"
#include "core/io/printable.h"

namespace vitrine {

namespace {

// An entry takes at least: key length 8, type 4, one byte of value (an empty key gets its own message).
constexpr std::uint64_t kSmallestValue = 13;
// Name length 8, number of dimensions 4, type 4, offset 8.
constexpr std::uint64_t kSmallestTensor = 24;
constexpr std::uint32_t kMaxDimensions = 4;
constexpr std::size_t kMaxArrayDepth = 4;
// Element type 4, count 8.
constexpr std::uint64_t kArrayHeader = 12;

Error broken(std::string message) { return {ErrorKind::BadFile, std::move(message)}; }

std::string number(std::uint64_t n) { return std::to_string(n); }

bool is_known(std::uint32_t type) { return type <= static_cast<std::uint32_t>(GgufType::F64); }

// A string: its length, then its bytes. `what` is the subject of the message: "the key of metadata entry 3".
Result<std::string_view> read_string(ByteReader& reader, const std::string& what) {
    const std::uint64_t at = reader.position();
    const auto length = reader.number<std::uint64_t>();
    if (!length)
        return broken("The file ends at byte " + number(at) + ", inside " + what +
                      "; it is incomplete: download it again.");
    const auto bytes = reader.take(*length);
    if (!bytes) {
        return broken("At byte " + number(at) + ", " + what + " is said to be " + number(*length) +
                      " bytes long, but only " + number(reader.left()) +
                      " bytes follow: the string length exceeds the file, which is damaged or incomplete.");
    }
    return as_text(*bytes);
}

// Moves the cursor over `count` elements of an array of `element`. Arrays may hold arrays, so the open ones
// are kept on a small stack of our own.
Status skip_array(ByteReader& reader, std::uint32_t element, std::uint64_t count, const std::string& what) {
    struct Open {
        std::uint32_t element;
        std::uint64_t left;
    };
    std::array<Open, kMaxArrayDepth> stack{};
    std::size_t depth = 1;
    stack[0] = {element, count};

    // Compares a count with what could possibly follow before anything is done with it.
    const auto check = [&](std::uint32_t type, std::uint64_t n) -> Status {
        if (!is_known(type)) {
            return broken(what + " is an array of type " + number(type) +
                          ", which is not a GGUF value type (0 to 12): the file is damaged or newer than "
                          "this program.");
        }
        const auto known = static_cast<GgufType>(type);
        std::uint64_t smallest = gguf_fixed_size(known);
        if (known == GgufType::String) smallest = 8;
        if (known == GgufType::Array) smallest = kArrayHeader;
        if (n > reader.left() / smallest) {
            return broken(what + " is said to hold " + number(n) + " elements of type " +
                          gguf_type_name(known) + ", but only " + number(reader.left()) +
                          " bytes follow: the file is damaged or incomplete.");
        }
        return {};
    };

    VITRINE_CHECK(check(element, count));
    while (depth > 0) {
        Open& top = stack[depth - 1];
        const auto type = static_cast<GgufType>(top.element);
        if (const std::uint64_t size = gguf_fixed_size(type); size > 0) {
            if (!reader.take(top.left * size)) return broken(what + " ends beyond the file.");
            --depth;
        } else if (top.left == 0) {
            --depth;
        } else if (type == GgufType::String) {
            --top.left;
            VITRINE_TRY([[maybe_unused]] auto text, read_string(reader, "a string in " + what));
        } else {
            --top.left;
            const auto inner = reader.number<std::uint32_t>();
            const auto inner_count = reader.number<std::uint64_t>();
            if (!inner || !inner_count)
                return broken("The file ends inside " + what + "; it is incomplete: download it again.");
            VITRINE_CHECK(check(*inner, *inner_count));
            if (depth == kMaxArrayDepth) {
                return broken(what + " nests arrays more than " + number(kMaxArrayDepth) +
                              " deep, which no model needs.");
            }
            stack[depth++] = {*inner, *inner_count};
        }
    }
    return {};
}

Result<GgufValue> read_value(ByteReader& reader, std::uint64_t index) {
    const std::uint64_t start = reader.position();
    VITRINE_TRY(const std::string_view key,
                read_string(reader, "the key of metadata entry " + number(index)));
    if (key.empty()) {
        return broken("Metadata entry " + number(index) + " at byte " + number(start) +
                      " has an empty key: the file is damaged.");
    }
    if (key.size() > 65535) {
        return broken("The key of metadata entry " + number(index) + " is " + number(key.size()) +
                      " bytes long; the format allows 65535.");
    }
    const std::string what = "key " + in_quotes(key);
    const auto type = reader.number<std::uint32_t>();
    if (!type) return broken("The file ends inside " + what + "; it is incomplete: download it again.");
    if (!is_known(*type)) {
        return broken(
            what + " has type " + number(*type) +
            ", which is not a GGUF value type (0 to 12): the file is damaged or newer than this program.");
    }
    GgufValue value;
    value.key = key;
    value.type = static_cast<GgufType>(*type);
    value.element = value.type;
    if (const std::uint64_t size = gguf_fixed_size(value.type); size > 0) {
        const auto bytes = reader.take(size);
        if (!bytes) return broken("The file ends inside " + what + "; it is incomplete: download it again.");
        value.payload = *bytes;
        return value;
    }
    if (value.type == GgufType::Array) {
        const auto element = reader.number<std::uint32_t>();
        const auto count = reader.number<std::uint64_t>();
        if (!element || !count)
            return broken("The file ends inside " + what + "; it is incomplete: download it again.");
        const std::uint64_t payload = reader.position();
        VITRINE_CHECK(skip_array(reader, *element, *count, what));
        value.element = static_cast<GgufType>(*element);
        value.count = *count;
        value.payload = reader.since(payload);
        return value;
    }
    const std::uint64_t payload = reader.position();
    VITRINE_TRY([[maybe_unused]] auto text, read_string(reader, "the value of " + what));
    value.payload = reader.since(payload);
    return value;
}

Result<GgufTensor> read_tensor(ByteReader& reader, std::uint64_t index) {
    VITRINE_TRY(const std::string_view name, read_string(reader, "the name of tensor " + number(index)));
    if (name.empty()) return broken("Tensor " + number(index) + " has an empty name: the file is damaged.");
    const std::string what = "tensor " + in_quotes(name);
    const auto ended = [&] {
        return broken("The file ends inside the description of " + what +
                      "; it is incomplete: download it again.");
    };
    const auto dimensions = reader.number<std::uint32_t>();
    if (!dimensions) return ended();
    if (*dimensions > kMaxDimensions) {
        return broken(what + " has too many dimensions: " + number(*dimensions) +
                      ", where the format allows " + number(kMaxDimensions) + ".");
    }
    GgufTensor tensor;
    tensor.name = name;
    for (std::uint32_t i = 0; i < *dimensions; ++i) {
        const auto dimension = reader.number<std::uint64_t>();
        if (!dimension) return ended();
        tensor.dims.push_back(*dimension);
    }
    const auto type = reader.number<std::uint32_t>();
    const auto offset = reader.number<std::uint64_t>();
    if (!type || !offset) return ended();
    tensor.type_id = *type;
    tensor.offset = *offset;
    return tensor;
}

// Sorted indices for look-up; an error where two names are equal.
template <class Entry, class Name>
Status index_names(const std::vector<Entry>& entries, Name name, const char* kind,
                   std::vector<std::uint32_t>& order) {
    order.resize(entries.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    const auto less = [&](std::uint32_t a, std::uint32_t b) { return name(entries[a]) < name(entries[b]); };
    std::sort(order.begin(), order.end(), less);
    const auto same = [&](std::uint32_t a, std::uint32_t b) { return name(entries[a]) == name(entries[b]); };
    const auto twice = std::adjacent_find(order.begin(), order.end(), same);
    if (twice == order.end()) return {};
    return broken(std::string("Duplicate ") + kind + " " + in_quotes(name(entries[*twice])) +
                  ": which of the two counts would be chance, so the file is refused.");
}

Status read_alignment(GgufContent& out) {
    const GgufValue* value = find_value(out, "general.alignment");
    if (value == nullptr) return {};
    if (value->type != GgufType::U32) {
        return broken("key 'general.alignment' has type " + gguf_type_name(*value) + "; u32 is needed.");
    }
    out.alignment = load_number<std::uint32_t>(value->payload.data());
    if (out.alignment == 0 || (out.alignment & (out.alignment - 1)) != 0) {
        const std::string found = number(out.alignment);
        out.alignment = 32;
        return broken("key 'general.alignment' is " + found + "; alignment must be a non-zero power of two.");
    }
    return {};
}

Status read_header(std::span<const std::byte> file, ByteReader& reader, GgufContent& out) {
    const auto magic = reader.number<std::uint32_t>();
    constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
    if (!magic || *magic != kMagic) return not_gguf(file);
    const auto version = reader.number<std::uint32_t>();
    const auto tensors = reader.number<std::uint64_t>();
    const auto values = reader.number<std::uint64_t>();
    // Said before "too short": the version alone decides how long a header is.
    if (version) {
        out.version = *version;
        if (*version != 0 && (*version & 0xFFFFU) == 0) {
            return Error{ErrorKind::Unsupported,
                         "This is a big-endian GGUF file, which is not supported on this machine; get the "
                         "little-endian one."};
        }
        if (*version == 1) {
            return Error{ErrorKind::Unsupported,
                         "This is GGUF version 1, which this program does not read; "
                         "get a newer file of this model (versions 2 and 3 are read)."};
        }
        if (*version != 2 && *version != 3) {
            return Error{ErrorKind::Unsupported,
                         "This says to be GGUF version " + number(*version) +
                             "; this program reads versions 2 and 3. Is the file damaged, or newer?"};
        }
    }
    if (!version || !tensors || !values) {
        return broken("The file is too short: " + number(file.size()) +
                      " bytes, and a GGUF header takes 24. Download it again.");
    }
    out.declared_tensors = *tensors;
    out.declared_values = *values;
    if (*values > reader.left() / kSmallestValue) {
        return broken("The header announces " + number(*values) + " metadata entries, but only " +
                      number(reader.left()) + " bytes follow: the file is damaged or incomplete.");
    }
    if (*tensors > reader.left() / kSmallestTensor) {
        return broken("The header announces " + number(*tensors) + " tensors, but only " +
                      number(reader.left()) + " bytes follow: the file is damaged or incomplete.");
    }
    return {};
}

}  // namespace

Status read_gguf_directory(std::span<const std::byte> file, GgufContent& out) {
    ByteReader reader(file);
    VITRINE_CHECK(read_header(file, reader, out));
    // Indices are 32 bits wide; beyond that nothing real is lost.
    constexpr std::uint64_t kMaxEntries = 1U << 24U;
    if (out.declared_values > kMaxEntries || out.declared_tensors > kMaxEntries) {
        return broken("The header announces more than 16777216 entries, which no model needs.");
    }
    for (std::uint64_t i = 0; i < out.declared_values; ++i) {
        VITRINE_TRY(auto value, read_value(reader, i));
        out.values.push_back(std::move(value));
    }
    VITRINE_CHECK(index_names(
        out.values, [](const GgufValue& v) -> const std::string& { return v.key; }, "metadata key",
        out.values_by_key));
    VITRINE_CHECK(read_alignment(out));
    if (out.declared_tensors > reader.left() / kSmallestTensor) {
        return broken("The header announces " + number(out.declared_tensors) + " tensors, but only " +
                      number(reader.left()) +
                      " bytes follow the metadata: the file is damaged or incomplete.");
    }
    for (std::uint64_t i = 0; i < out.declared_tensors; ++i) {
        VITRINE_TRY(auto tensor, read_tensor(reader, i));
        out.tensors.push_back(std::move(tensor));
    }
    VITRINE_CHECK(index_names(
        out.tensors, [](const GgufTensor& t) -> const std::string& { return t.name; }, "tensor name",
        out.tensors_by_name));
    out.directory_end = reader.position();
    const std::uint64_t mask = out.alignment - 1U;
    out.data_offset =
        (out.directory_end + mask) & ~mask;  // both far below 2^63: a position in a file, and 32 bits
    return {};
}

Error not_gguf(std::span<const std::byte> file) {
    if (auto foreign = foreign_file(file)) return *std::move(foreign);
    const std::string_view text = as_text(file.first(std::min<std::size_t>(file.size(), 512)));
    const auto starts = [&](std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; };
    if (file.size() < 4)
        return broken("The file is too short: " + number(file.size()) +
                      " bytes, and a GGUF header takes 24.");
    if (starts("{"))
        return broken("This is a JSON text, not a GGUF file: the download was answered with a message.");
    if (starts("FUGG")) {
        return Error{ErrorKind::Unsupported,
                     "This is a byte-swapped GGUF file, which is not supported on this machine."};
    }
    if (file.size() > 9 && file[8] == std::byte{'{'}) {
        return broken(
            "This is a safetensors file, not a GGUF file: open the folder that it lies in, with its "
            "config.json.");
    }
    return broken("This is not a GGUF file: it starts with " + in_quotes(text.substr(0, 4)) +
                  " instead of 'GGUF'. "
                  "It is another kind of file, or a later piece of one that was cut; pieces must be joined "
                  "in order first.");
}

namespace {

template <class Entry, class Name>
const Entry* find_entry(const std::vector<Entry>& entries, const std::vector<std::uint32_t>& order,
                        std::string_view wanted, Name name) {
    const auto found =
        std::lower_bound(order.begin(), order.end(), wanted,
                         [&](std::uint32_t i, std::string_view key) { return name(entries[i]) < key; });
    if (found == order.end() || name(entries[*found]) != wanted) return nullptr;
    return &entries[*found];
}

}  // namespace

const GgufValue* find_value(const GgufContent& content, std::string_view key) {
    return find_entry(content.values, content.values_by_key, key,
                      [](const GgufValue& v) { return std::string_view(v.key); });
}

const GgufTensor* find_tensor(const GgufContent& content, std::string_view name) {
    return find_entry(content.tensors, content.tensors_by_name, name,
                      [](const GgufTensor& t) { return std::string_view(t.name); });
}

std::string gguf_type_name(GgufType type) {
    switch (type) {
        case GgufType::U8: return "u8";
        case GgufType::I8: return "i8";
        case GgufType::U16: return "u16";
        case GgufType::I16: return "i16";
        case GgufType::U32: return "u32";
        case GgufType::I32: return "i32";
        case GgufType::F32: return "f32";
        case GgufType::Bool: return "bool";
        case GgufType::String: return "string";
        case GgufType::Array: return "array";
        case GgufType::U64: return "u64";
        case GgufType::I64: return "i64";
        case GgufType::F64: return "f64";
    }
    return "type " + std::to_string(static_cast<std::uint32_t>(type));
}

std::string gguf_type_name(const GgufValue& value) {
    if (value.type != GgufType::Array) return gguf_type_name(value.type);
    return "array of " + gguf_type_name(value.element);
}

std::uint64_t gguf_fixed_size(GgufType type) {
    switch (type) {
        case GgufType::U8:
        case GgufType::I8:
        case GgufType::Bool: return 1;
        case GgufType::U16:
        case GgufType::I16: return 2;
        case GgufType::U32:
        case GgufType::I32:
        case GgufType::F32: return 4;
        case GgufType::U64:
        case GgufType::I64:
        case GgufType::F64: return 8;
        case GgufType::String:
        case GgufType::Array: return 0;
    }
    return 0;
}

}  // namespace vitrine
