#include "core/text/template/machine.h"

#include <algorithm>

#include "core/text/chat_template.h"
#include "core/text/template/convert.h"

namespace vitrine::jinja {
namespace {

constexpr std::uint64_t check_every = 4096;  // steps between two looks at the clock

Value from_json(Machine& machine, const OrderedJson& json, std::uint32_t deepest, std::uint32_t depth = 0) {
    if (depth > deepest)
        return machine.fail_as(ErrorKind::TooLarge,
                               "The conversation or a tool nests values too deeply for a chat template.");
    if (!machine.tick() || !machine.enough_stack()) return {};
    switch (json.type()) {
        case OrderedJson::value_t::boolean: return Value::boolean(json.get<bool>(), true);
        case OrderedJson::value_t::number_integer: return Value::integer(json.get<std::int64_t>(), true);
        case OrderedJson::value_t::number_unsigned: {
            const auto number = json.get<std::uint64_t>();
            // As a schema's largest number may be; templates pass it on and do not count with it.
            if (number > static_cast<std::uint64_t>(INT64_MAX))
                return Value::real(static_cast<double>(number), true);
            return Value::integer(static_cast<std::int64_t>(number), true);
        }
        case OrderedJson::value_t::number_float: return Value::real(json.get<double>(), true);
        case OrderedJson::value_t::string:
            return machine.string(Text::make(json.get_ref<const std::string&>(), true));
        case OrderedJson::value_t::array: {
            Values items;
            items.reserve(json.size());
            for (const OrderedJson& item : json) {
                items.push_back(from_json(machine, item, deepest, depth + 1));
                if (machine.failed()) return {};
            }
            return machine.list(std::move(items));
        }
        case OrderedJson::value_t::object: {
            Value result = machine.make<DictObject>();
            for (const auto& [key, value] : json.items()) {
                if (machine.failed()) return {};
                result.as<DictObject>().set(machine, machine.string(Text::make(key, true)),
                                            from_json(machine, value, deepest, depth + 1));
            }
            machine.check_object(result);
            return result;
        }
        default: return Value::none();
    }
}

}  // namespace

const Value* Arguments::keyword(std::string_view name) const {
    for (const auto& [key, value] : keywords) {
        if (key.as<StringObject>().text.bytes == name) return &value;
    }
    return nullptr;
}

Activation::Activation(Heap& h, std::uint32_t variables, std::shared_ptr<Activation> o)
    : heap(h), outer(std::move(o)), slots(variables) {
    heap.live += sizeof(*this) + slots.size() * sizeof(Value);
}

Activation::~Activation() { heap.live -= sizeof(*this) + slots.size() * sizeof(Value); }

Value& Activation::at(const Slot& slot) {
    Activation* activation = this;
    for (std::uint32_t hops = slot.hops; hops > 0; --hops) activation = activation->outer.get();
    return activation->slots[slot.index];
}

Machine::Machine(const Program& program, const TemplateLimits& limits, const RenderInput& input)
    : program_(program),
      limits_(limits),
      input_(input),
      deadline_(std::chrono::steady_clock::now() + limits.time),
      next_check_(std::min(check_every, limits.steps)) {
    // Several strings of the largest size, and the values they are made of.
    heap_.limit = static_cast<std::size_t>(std::max<std::uint64_t>(limits.output_bytes, 1U << 20)) * 8;
}

Machine::~Machine() { break_cycles(); }

// Namespaces and kept variables may refer to each other in circles.
void Machine::break_cycles() {
    for (const Value& space : namespaces_) space.as<NamespaceObject>().attributes.clear();
    for (const auto& activation : kept_) {
        for (Value& slot : activation->slots) slot = Value();
    }
    kept_.clear();
    namespaces_.clear();
}

Result<TrustedText> Machine::run() {
    Text output;
    out_ = &output;
    strings_.reserve(program_.strings.size());
    for (const std::string& text : program_.strings) strings_.push_back(string(Text(text)));
    define_variables();
    if (!failed_) {
        const auto scope = std::make_shared<Activation>(heap_, program_.function.variables, nullptr);
        enter(program_.frame, *scope);
        run_body(program_.body, *scope);
    }
    if (failed_) return std::move(error_);
    return to_trusted(std::move(output));
}

void Machine::define_variables() {
    variables_["messages"] = from_json(*this, input_.messages, limits_.depth);
    variables_["tools"] = from_json(*this, input_.tools, limits_.depth);
    variables_["documents"] = Value::none();
    variables_["add_generation_prompt"] = Value::boolean(input_.add_generation_prompt);
    variables_["bos_token"] = string(input_.bos_token);
    variables_["eos_token"] = string(input_.eos_token);
    const auto function = [this](const char* name, Function f) {
        variables_[name] = make<FunctionObject>(f);
    };
    function("range", Function::Range);
    function("namespace", Function::Namespace);
    function("dict", Function::Dict);
    function("cycler", Function::Cycler);
    function("joiner", Function::Joiner);
    function("raise_exception", Function::RaiseException);
    function("strftime_now", Function::StrftimeNow);
    if (!input_.extra.is_object()) return;
    for (const auto& [name, value] : input_.extra.items())
        variables_[name] = from_json(*this, value, limits_.depth);
}

Value Machine::lookup(const std::string& name) const {
    if (const auto found = exported_.find(name); found != exported_.end()) return found->second;
    if (const auto found = variables_.find(name); found != variables_.end()) return found->second;
    return {};
}

Value Machine::fail(std::string message) {
    return fail_as(ErrorKind::Template, "line " + std::to_string(line_) + ": " + std::move(message));
}

Value Machine::fail_as(ErrorKind kind, std::string message) {
    if (!failed_) {
        failed_ = true;
        error_ = {kind, std::move(message)};
    }
    return {};
}

Value Machine::fail_undefined(const Value& undefined) {
    return fail(undefined.as<UndefinedObject>().message);
}

Value Machine::fail_size() {
    return fail_as(ErrorKind::TooLarge,
                   "The chat template makes more than " + std::to_string(limits_.output_bytes) +
                       " bytes of text or a list of that size (line " + std::to_string(line_) + ").");
}

Value Machine::fail_number() {
    return fail_as(
        ErrorKind::TooLarge,
        "The number is too large: a chat template counts with 64 bits (line " + std::to_string(line_) + ").");
}

bool Machine::check_limits() {
    if (failed_) return false;
    if (input_.cancel != nullptr && input_.cancel->load(std::memory_order_relaxed)) {
        fail_as(ErrorKind::Cancelled, "The chat template was stopped.");
    } else if (steps_ >= limits_.steps) {
        fail_as(ErrorKind::TooLarge, "The chat template takes more than " + std::to_string(limits_.steps) +
                                         " steps (line " + std::to_string(line_) + ").");
    } else if (std::chrono::steady_clock::now() >= deadline_) {
        fail_as(ErrorKind::TooLarge, "The chat template takes longer than " +
                                         std::to_string(limits_.time.count()) + " ms (line " +
                                         std::to_string(line_) + ").");
    }
    next_check_ = std::min(steps_ + check_every, limits_.steps);
    return !failed_;
}

bool Machine::fits(std::size_t bytes) {
    if (failed_) return false;
    if (bytes > limits_.output_bytes || heap_.live > heap_.limit || bytes > heap_.limit - heap_.live) {
        fail_size();
        return false;
    }
    return true;
}

bool Machine::fits_items(std::uint64_t items) {
    if (failed_) return false;
    if (items > limits_.output_bytes || heap_.live > heap_.limit ||
        items * sizeof(Value) > heap_.limit - heap_.live) {
        fail_size();
        return false;
    }
    return true;
}

bool Machine::enough_stack() {
    if (failed_) return false;
    if (!stack_.exhausted()) return true;
    fail_as(ErrorKind::TooLarge,
            "The chat template or its data nests too deeply (line " + std::to_string(line_) + ").");
    return false;
}

Value Machine::adopt(Object* object) {
    Value value(object);
    check_object(value);
    return value;
}

void Machine::check_object(const Value& value) {
    if (failed_ || !value.holds_object()) return;
    if (value.depth() > std::min(limits_.depth, deepest_nesting)) {
        fail_as(ErrorKind::TooLarge,
                "A value of the chat template nests too deeply (line " + std::to_string(line_) + ").");
    } else if (heap_.live > heap_.limit) {
        fail_as(ErrorKind::TooLarge, "The chat template needs more than " + std::to_string(heap_.limit) +
                                         " bytes of memory (line " + std::to_string(line_) + ").");
    }
}

Value Machine::string(Text text, bool markup) {
    if (text.size() > limits_.output_bytes) return fail_size();
    tick_bytes(text.size());
    return make<StringObject>(std::move(text), markup);
}

Value Machine::list(Values items) {
    tick(1 + items.size() / 64);
    return make<SequenceObject>(Kind::List, std::move(items));
}

Value Machine::tuple(Values items) {
    tick(1 + items.size() / 64);
    return make<SequenceObject>(Kind::Tuple, std::move(items));
}

Value Machine::unsafe(const Value& object, std::string_view attribute) {
    return undefined("access to attribute " + quote(attribute) + " of " + quote(type_name(object)) +
                     " object is unsafe.");
}

Value Machine::new_namespace() {
    Value value = make<NamespaceObject>();
    namespaces_.push_back(value);
    return value;
}

std::shared_ptr<Activation> Machine::keep(Activation& scope) {
    auto shared = scope.shared_from_this();
    for (Activation* at = &scope; at != nullptr && !at->kept; at = at->outer.get()) {
        at->kept = true;
        kept_.push_back(at->shared_from_this());
    }
    return shared;
}

void Machine::enter(const Frame& frame, Activation& scope) {
    for (const Load& load : frame) {
        Value& slot = scope.slots[load.target];
        switch (load.how) {
            case Load::How::Undefined: slot = Value(); break;
            case Load::How::Resolve: slot = lookup(load.name); break;
            case Load::How::Alias: slot = Value(scope.at(load.from)); break;
        }
    }
}

LoopObject::LoopObject(Heap& h, const Value& items, std::int64_t level)
    : Object(h, Kind::Loop), iterable(items), depth0(level) {
    charge(sizeof(*this));
    nest(items);
}

bool LoopObject::peek(Machine& machine) {
    if (following.is_missing() && !cursor.next(machine, following)) following = Value();
    return !following.is_missing();
}

bool LoopObject::advance(Machine& machine, Value& item) {
    Value next;
    if (!following.is_missing()) {
        next.swap(following);
    } else if (!cursor.next(machine, next)) {
        return false;
    }
    ++index0;
    previous = std::move(current);
    current = next;
    item = next;
    return true;
}

std::int64_t LoopObject::length(Machine& machine) {
    if (counted >= 0) return counted;
    counted = length_of(iterable);
    if (counted >= 0) return counted;
    // An iterator: take what is left, and walk over that from here on.
    Values rest;
    Value item;
    while (cursor.next(machine, item)) rest.push_back(item);
    counted = static_cast<std::int64_t>(rest.size()) + index0 + 1 + (following.is_missing() ? 0 : 1);
    cursor.open(machine, machine.list(std::move(rest)));
    return counted;
}

}  // namespace vitrine::jinja
