#include "core/text/template/value.h"

#include <algorithm>
#include <functional>

#include "core/text/template/compare.h"
#include "core/text/template/machine.h"
#include "core/text/template/unicode.h"

namespace vitrine::jinja {
namespace {

constexpr std::size_t indexed_from = 8;  // entries; below, looking at each is faster

std::uint64_t hash_text(std::string_view text) { return std::hash<std::string_view>{}(text); }

}  // namespace

std::size_t StringObject::length() const {
    if (counted < 0) counted = static_cast<std::int64_t>(count_code_points(text.bytes));
    return static_cast<std::size_t>(counted);
}

SequenceObject::SequenceObject(Heap& h, Kind k, Values v) : Object(h, k), items(std::move(v)) {
    charge(sizeof(*this) + items.capacity() * sizeof(Value));
    for (const Value& item : items) nest(item);
}

const Value* NamespaceObject::find(std::string_view name) const {
    for (const auto& [key, value] : attributes) {
        if (key.is_string() && key.as<StringObject>().text.bytes == name) return &value;
    }
    return nullptr;
}

void DictObject::link(std::size_t entry) {
    std::size_t bucket = hashes_[entry] & (buckets_.size() - 1);
    while (buckets_[bucket] != 0) bucket = (bucket + 1) & (buckets_.size() - 1);
    buckets_[bucket] = static_cast<std::uint32_t>(entry + 1);
}

void DictObject::grow_index() {
    if (entries.size() < indexed_from || entries.size() * 2 <= buckets_.size()) {
        if (!buckets_.empty()) link(entries.size() - 1);
        return;
    }
    const std::size_t old = buckets_.size();
    buckets_.assign(std::max<std::size_t>(32, old * 2), 0);
    charge((buckets_.size() - old) * sizeof(std::uint32_t));
    for (std::size_t i = 0; i < entries.size(); ++i) link(i);
}

std::int64_t DictObject::find(Machine& machine, const Value& key) const {
    const std::uint64_t hash = hash_value(machine, key);
    if (machine.failed()) return -1;
    const auto same = [&](std::size_t i) {
        return hashes_[i] == hash && equals(machine, entries[i].first, key);
    };
    if (buckets_.empty()) {
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (same(i)) return static_cast<std::int64_t>(i);
        }
        return -1;
    }
    for (std::size_t bucket = hash & (buckets_.size() - 1); buckets_[bucket] != 0;
         bucket = (bucket + 1) & (buckets_.size() - 1)) {
        if (same(buckets_[bucket] - 1U)) return static_cast<std::int64_t>(buckets_[bucket]) - 1;
        if (!machine.tick()) return -1;
    }
    return -1;
}

std::int64_t DictObject::find(std::string_view key) const {
    const std::uint64_t hash = hash_text(key);
    const auto same = [&](std::size_t i) {
        const Value& candidate = entries[i].first;
        return hashes_[i] == hash && candidate.is_string() && candidate.as<StringObject>().text.bytes == key;
    };
    if (buckets_.empty()) {
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (same(i)) return static_cast<std::int64_t>(i);
        }
        return -1;
    }
    for (std::size_t bucket = hash & (buckets_.size() - 1); buckets_[bucket] != 0;
         bucket = (bucket + 1) & (buckets_.size() - 1)) {
        if (same(buckets_[bucket] - 1U)) return static_cast<std::int64_t>(buckets_[bucket]) - 1;
    }
    return -1;
}

void DictObject::set(Machine& machine, Value key, Value value) {
    const std::int64_t known = find(machine, key);
    if (machine.failed()) return;
    nest(key);
    nest(value);
    if (known >= 0) {
        entries[static_cast<std::size_t>(known)].second = std::move(value);
        return;
    }
    charge(2 * sizeof(Value) + sizeof(std::uint64_t));
    hashes_.push_back(hash_value(machine, key));
    entries.emplace_back(std::move(key), std::move(value));
    grow_index();
}

}  // namespace vitrine::jinja
