#include "core/text/template/iterate.h"

#include <utility>

#include "core/text/template/convert.h"
#include "core/text/template/machine.h"
#include "core/text/template/unicode.h"

namespace vitrine::jinja {
namespace {

struct ListedItems final : IteratorObject {
    ListedItems(Heap& h, Values v, const char* t) : IteratorObject(h, t), items(std::move(v)) {
        charge(items.size() * sizeof(Value));
        for (const Value& item : items) nest(item);
    }
    bool next(Machine& machine, Value& item) override {
        if (position >= items.size() || !machine.tick()) return false;
        item = items[position++];
        return true;
    }
    Values items;
    std::size_t position = 0;
};

struct Deferred final : IteratorObject {
    Deferred(Heap& h, const Value& s, Produce p)
        : IteratorObject(h, "generator"), source(s), produce(std::move(p)) {
        nest(s);
    }
    bool next(Machine& machine, Value& item) override {
        if (produce) {
            const Produce first = std::exchange(produce, nullptr);
            if (!first(machine, source, items)) return false;
            charge(items.size() * sizeof(Value));
        }
        if (machine.failed() || position >= items.size() || !machine.tick()) return false;
        item = items[position++];
        return true;
    }
    Value source;
    Produce produce;
    Values items;
    std::size_t position = 0;
};

}  // namespace

bool is_iterable(const Value& value) {
    switch (value.kind()) {
        case Kind::Undefined:
        case Kind::String:
        case Kind::List:
        case Kind::Tuple:
        case Kind::Dict:
        case Kind::DictView:
        case Kind::Range:
        case Kind::Iterator: return true;
        default: return false;
    }
}

bool Cursor::open(Machine& machine, const Value& value) {
    if (machine.failed()) return false;
    if (!is_iterable(value)) {
        machine.fail("'" + type_name(value) + "' object is not iterable");
        return false;
    }
    source_ = value;
    position_ = 0;
    return true;
}

bool Cursor::next(Machine& machine, Value& item) {
    if (!machine.tick()) return false;
    switch (source_.kind()) {
        case Kind::String: {
            const auto& string = source_.as<StringObject>();
            if (position_ >= string.text.size()) return false;
            const std::size_t begin = position_;
            next_code_point(string.text.bytes, position_);
            item = machine.string(string.text.slice(begin, position_));
            return !machine.failed();
        }
        case Kind::List:
        case Kind::Tuple: {
            const Values& items = source_.as<SequenceObject>().items;
            if (position_ >= items.size()) return false;
            item = items[position_++];
            return true;
        }
        case Kind::Dict: {
            const auto& entries = source_.as<DictObject>().entries;
            if (position_ >= entries.size()) return false;
            item = entries[position_++].first;
            return true;
        }
        case Kind::DictView: {
            const auto& view = source_.as<DictViewObject>();
            if (position_ >= view.dict.as<DictObject>().size()) return false;
            item = view_item(machine, view, position_++);
            return !machine.failed();
        }
        case Kind::Range: {
            const auto& range = source_.as<RangeObject>();
            if (static_cast<std::int64_t>(position_) >= range.length) return false;
            item = Value::integer(range_item(range, static_cast<std::int64_t>(position_++)));
            return true;
        }
        case Kind::Iterator:
            return machine.enough_stack() && source_.as<IteratorObject>().next(machine, item);
        default: return false;
    }
}

std::int64_t length_of(const Value& value) {
    switch (value.kind()) {
        case Kind::Undefined: return 0;
        case Kind::String: return static_cast<std::int64_t>(value.as<StringObject>().length());
        case Kind::List:
        case Kind::Tuple: return static_cast<std::int64_t>(value.as<SequenceObject>().items.size());
        case Kind::Dict: return static_cast<std::int64_t>(value.as<DictObject>().size());
        case Kind::DictView:
            return static_cast<std::int64_t>(value.as<DictViewObject>().dict.as<DictObject>().size());
        case Kind::Range: return value.as<RangeObject>().length;
        default: return -1;
    }
}

bool collect(Machine& machine, const Value& value, Values& items) {
    Cursor cursor;
    if (!cursor.open(machine, value)) return false;
    Value item;
    while (cursor.next(machine, item)) {
        if (items.size() % 256 == 0 && !machine.fits_items(items.size())) return false;
        items.push_back(item);
    }
    return !machine.failed();
}

Value view_item(Machine& machine, const DictViewObject& view, std::size_t entry) {
    const auto& [key, value] = view.dict.as<DictObject>().entries[entry];
    switch (view.view) {
        case ViewKind::Keys: return key;
        case ViewKind::Members: return value;
        default: return machine.tuple({key, value});
    }
}

std::int64_t range_item(const RangeObject& range, std::int64_t index) {
    return range.begin + index * range.step;
}

Value generator(Machine& machine, const Value& source, const Values& held, Produce produce) {
    Value result = machine.make<Deferred>(source, std::move(produce));
    if (machine.failed()) return {};
    for (const Value& value : held) result.object()->nest(value);
    machine.check_object(result);
    return result;
}

Value iterator_over(Machine& machine, Values items, const char* type_name) {
    return machine.make<ListedItems>(std::move(items), type_name);
}

}  // namespace vitrine::jinja
