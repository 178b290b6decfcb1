// Values of the template language: Python's, as far as templates can meet them.
//
// A Value is 16 bytes: a scalar, or a counted reference to an object of this render. Objects belong to one
// render on one thread; the Heap counts what is alive so that a template cannot take memory without end.
// Containers never change once built (the sandbox refuses every mutating method), so only namespaces, frames
// and loops can form cycles; the Machine breaks those when the render ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/template/text.h"

namespace vitrine::jinja {

class Machine;
class Value;

enum class Kind : std::uint8_t {
    Missing,  // an unset variable; never seen by a template
    None,
    Bool,
    Int,
    Float,
    Undefined,
    String,
    List,
    Tuple,
    Dict,
    DictView,
    Range,
    Iterator,
    Namespace,
    Macro,
    Function,
    Method,
    Loop,
    Cycler,
    Joiner,
};

// Bytes of all living objects of one render.
struct Heap {
    std::size_t live = 0;
    std::size_t limit = 0;
};

struct Object {
    Object(Heap& h, Kind k) : heap(&h), kind(k) {}
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    virtual ~Object() { heap->live -= charged; }
    void charge(std::size_t bytes) {
        charged += bytes;
        heap->live += bytes;
    }
    // Says that the object holds the value.
    void nest(const Value& inner);

    Heap* heap;
    std::size_t charged = 0;
    std::uint32_t references = 0;
    Kind kind;
    std::uint16_t depth = 1;  // containers inside each other, this one included
};

class Value {
  public:
    Value() = default;  // Missing
    ~Value() { release(); }
    Value(const Value& other) : kind_(other.kind_), tainted_(other.tainted_), data_(other.data_) { retain(); }
    Value(Value&& other) noexcept : kind_(other.kind_), tainted_(other.tainted_), data_(other.data_) {
        other.kind_ = Kind::Missing;
    }
    Value& operator=(const Value& other) {
        Value copy(other);
        swap(copy);
        return *this;
    }
    Value& operator=(Value&& other) noexcept {
        swap(other);
        return *this;
    }
    void swap(Value& other) noexcept {
        std::swap(kind_, other.kind_);
        std::swap(tainted_, other.tainted_);
        std::swap(data_, other.data_);
    }

    static Value none() { return Value(Kind::None, {}); }
    static Value boolean(bool b, bool tainted = false) {
        Data data;
        data.integer = b ? 1 : 0;
        return Value(Kind::Bool, data, tainted);
    }
    static Value integer(std::int64_t i, bool tainted = false) {
        Data data;
        data.integer = i;
        return Value(Kind::Int, data, tainted);
    }
    static Value real(double d, bool tainted = false) {
        Data data;
        data.real = d;
        return Value(Kind::Float, data, tainted);
    }
    // Takes a share of the object.
    explicit Value(Object* object) : kind_(object->kind) {
        data_.object = object;
        ++object->references;
    }

    Kind kind() const { return kind_; }
    bool is(Kind kind) const { return kind_ == kind; }
    bool is_missing() const { return kind_ == Kind::Missing; }
    bool is_none() const { return kind_ == Kind::None; }
    bool is_undefined() const { return kind_ == Kind::Undefined; }
    bool is_string() const { return kind_ == Kind::String; }
    bool is_integral() const { return kind_ == Kind::Int || kind_ == Kind::Bool; }  // isinstance(x, int)
    bool is_number() const { return is_integral() || kind_ == Kind::Float; }
    bool is_sequence_object() const { return kind_ == Kind::List || kind_ == Kind::Tuple; }

    bool as_bool() const { return data_.integer != 0; }    // Bool
    std::int64_t as_int() const { return data_.integer; }  // Int or Bool
    double as_real() const { return kind_ == Kind::Float ? data_.real : static_cast<double>(data_.integer); }
    Object* object() const { return data_.object; }
    template <class T>
    T& as() const {
        return *static_cast<T*>(data_.object);
    }

    // A scalar that came from the conversation. Strings know it for each byte.
    bool tainted() const { return tainted_; }
    void taint(bool tainted) { tainted_ = tainted; }
    bool holds_object() const { return kind_ >= Kind::Undefined; }
    std::uint16_t depth() const { return holds_object() ? data_.object->depth : std::uint16_t{0}; }

  private:
    union Data {
        std::int64_t integer = 0;
        double real;
        Object* object;
    };
    Value(Kind kind, Data data, bool tainted = false) : kind_(kind), tainted_(tainted), data_(data) {}
    void retain() const {
        if (holds_object()) ++data_.object->references;
    }
    void release() {
        if (holds_object() && --data_.object->references == 0) delete data_.object;
    }

    Kind kind_ = Kind::Missing;
    bool tainted_ = false;
    Data data_{};
};

inline void Object::nest(const Value& inner) {
    depth = std::max<std::uint16_t>(depth, static_cast<std::uint16_t>(inner.depth() + 1));
}

using Values = std::vector<Value>;

struct UndefinedObject : Object {
    UndefinedObject(Heap& h, std::string why) : Object(h, Kind::Undefined), message(std::move(why)) {
        charge(sizeof(*this) + message.size());
    }
    std::string message;  // what an error says that uses the value
};

struct StringObject : Object {
    StringObject(Heap& h, Text t, bool m) : Object(h, Kind::String), text(std::move(t)), markup(m) {
        charge(sizeof(*this) + text.bytes.size() + text.untrusted.size() * sizeof(ByteRange));
    }
    std::size_t length() const;  // code points

    Text text;
    bool markup;  // made by the escape filter: joined text is escaped
    mutable std::int64_t counted = -1;
};

// List or Tuple. A tuple of the groupby filter also has names.
struct SequenceObject : Object {
    SequenceObject(Heap& h, Kind k, Values v);
    Values items;
    bool is_group = false;
};

// Keys in order of insertion, equal as in Python (1 == 1.0 == True).
struct DictObject : Object {
    explicit DictObject(Heap& h) : Object(h, Kind::Dict) { charge(sizeof(*this)); }
    // Index of the key or -1. The key must be hashable.
    std::int64_t find(Machine& machine, const Value& key) const;
    std::int64_t find(std::string_view key) const;
    void set(Machine& machine, Value key, Value value);
    std::size_t size() const { return entries.size(); }

    std::vector<std::pair<Value, Value>> entries;

  private:
    void grow_index();
    void link(std::size_t entry);

    std::vector<std::uint64_t> hashes_;   // of each entry
    std::vector<std::uint32_t> buckets_;  // open addressing; entry + 1, 0 is free; empty while small
};

enum class ViewKind : std::uint8_t { Keys, Members, Items };
struct DictViewObject : Object {
    DictViewObject(Heap& h, Value d, ViewKind v) : Object(h, Kind::DictView), dict(std::move(d)), view(v) {
        charge(sizeof(*this));
        nest(dict);
    }
    Value dict;
    ViewKind view;
};

struct RangeObject : Object {
    RangeObject(Heap& h, std::int64_t b, std::int64_t e, std::int64_t s, std::int64_t n)
        : Object(h, Kind::Range), begin(b), end(e), step(s), length(n) {
        charge(sizeof(*this));
    }
    std::int64_t begin, end, step, length;
};

// A Python iterator or generator: hands out its items once.
struct IteratorObject : Object {
    IteratorObject(Heap& h, const char* t) : Object(h, Kind::Iterator), python_type(t) {
        charge(sizeof(*this) + 64);
    }
    // False at the end and on failure.
    virtual bool next(Machine& machine, Value& item) = 0;
    const char* python_type;
};

struct NamespaceObject : Object {
    explicit NamespaceObject(Heap& h) : Object(h, Kind::Namespace) { charge(sizeof(*this)); }
    std::vector<std::pair<Value, Value>> attributes;
    bool being_printed = false;
    const Value* find(std::string_view name) const;
};

enum class Function : std::uint8_t { Range, Namespace, Dict, Cycler, Joiner, RaiseException, StrftimeNow };
struct FunctionObject : Object {
    FunctionObject(Heap& h, Function f) : Object(h, Kind::Function), function(f) { charge(sizeof(*this)); }
    Function function;
};

// A method of a value, bound to it: name is one of the tables' own spellings.
struct MethodObject : Object {
    MethodObject(Heap& h, Value v, std::string_view n)
        : Object(h, Kind::Method), self(std::move(v)), name(n) {
        charge(sizeof(*this));
        nest(self);
    }
    Value self;
    std::string_view name;
};

struct CyclerObject : Object {
    CyclerObject(Heap& h, Values v) : Object(h, Kind::Cycler), items(std::move(v)) {
        charge(sizeof(*this) + items.size() * sizeof(Value));
        for (const Value& item : items) nest(item);
    }
    Values items;
    std::size_t position = 0;
};

struct JoinerObject : Object {
    JoinerObject(Heap& h, Value s) : Object(h, Kind::Joiner), separator(std::move(s)) {
        charge(sizeof(*this));
        nest(separator);
    }
    Value separator;
    bool used = false;
};

}  // namespace vitrine::jinja
