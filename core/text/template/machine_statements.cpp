#include "core/text/chat_template.h"
#include "core/text/template/convert.h"
#include "core/text/template/machine.h"

namespace vitrine::jinja {
namespace {

// Sends what is printed to another text for as long as it lives.
class Redirect {
  public:
    Redirect(Text*& out, Text& target) : out_(out), before_(out) { out_ = &target; }
    ~Redirect() { out_ = before_; }
    Redirect(const Redirect&) = delete;
    Redirect& operator=(const Redirect&) = delete;

  private:
    Text*& out_;
    Text* before_;
};

// The condition of a loop, as a generator over the items that pass.
struct FilteredItems final : IteratorObject {
    FilteredItems(Heap& h, const Stmt& s, std::shared_ptr<Activation> a, const Value& items)
        : IteratorObject(h, "generator"), statement(s), activation(std::move(a)) {
        nest(items);
    }
    bool next(Machine& machine, Value& item) override {
        while (cursor.next(machine, item)) {
            if (!machine.assign(*statement.test_target, item, *activation)) return false;
            const Value passes = machine.evaluate(*statement.test, *activation);
            if (machine.failed()) return false;
            if (truthy(passes)) return true;
        }
        return false;
    }
    const Stmt& statement;
    std::shared_ptr<Activation> activation;
    Cursor cursor;
};

}  // namespace

Machine::Flow Machine::run_body(const Body& body, Activation& scope) {
    for (const Stmt* statement : body) {
        const Flow flow = run_statement(*statement, scope);
        if (flow != Flow::Next || failed_) return flow;
    }
    return Flow::Next;
}

Machine::Flow Machine::run_statement(const Stmt& s, Activation& scope) {
    line_ = s.line;
    if (!tick() || !enough_stack()) return Flow::Next;
    switch (s.kind) {
        case StmtKind::Output: run_output(s, scope); return Flow::Next;
        case StmtKind::For: return run_for(s, scope);
        case StmtKind::If: return run_if(s, scope);
        case StmtKind::Macro: define_macro(s, scope); return Flow::Next;
        case StmtKind::CallBlock: run_call_block(s, scope); return Flow::Next;
        case StmtKind::FilterBlock: return run_filter_block(s, scope);
        case StmtKind::With: return run_with(s, scope);
        case StmtKind::Set: run_set(s, scope); return Flow::Next;
        case StmtKind::SetBlock: return run_set_block(s, scope);
        case StmtKind::Scope: enter(s.frame, scope); return run_body(s.body, scope);
        case StmtKind::Break: return Flow::Break;
        case StmtKind::Continue: return Flow::Continue;
        case StmtKind::Block: run_block(s); return Flow::Next;
        case StmtKind::Refused:
            fail("the tag '" + s.text + "' cannot be used: a chat template stands alone");
            return Flow::Next;
    }
    return Flow::Next;
}

void Machine::print(const Value& value) {
    if (failed_) return;
    const std::size_t before = out_->size();
    if (value.is_string()) {
        out_->append(value.as<StringObject>().text);
    } else {
        out_->append(to_text(*this, value));
    }
    if (out_->size() > limits_.output_bytes) fail_size();
    tick_bytes(out_->size() - before);
}

// What a filter or call block makes must be text already, as in Jinja.
void Machine::print_text(const Value& value) {
    if (!failed_ && !value.is_string())
        fail("expected a string for the output, " + type_name(value) + " found");
    print(value);
}

void Machine::run_output(const Stmt& s, Activation& scope) {
    for (const Expr* value : s.values) {
        print(evaluate(*value, scope));
        if (failed_) return;
    }
}

Machine::Flow Machine::run_if(const Stmt& s, Activation& scope) {
    for (const Branch& branch : s.branches) {
        const Value test = evaluate(*branch.test, scope);
        if (failed_) return Flow::Next;
        if (truthy(test)) return run_body(branch.body, scope);
    }
    return run_body(s.otherwise, scope);
}

void Machine::run_set(const Stmt& s, Activation& scope) {
    const Value value = evaluate(*s.expression, scope);
    if (!failed_) assign(*s.targets[0], value, scope, s.exported);
}

Machine::Flow Machine::run_set_block(const Stmt& s, Activation& scope) {
    enter(s.frame, scope);
    Text text;
    Flow flow = Flow::Next;
    {
        const Redirect redirect(out_, text);
        flow = run_body(s.body, scope);
    }
    if (failed_ || flow != Flow::Next) return flow;
    Value value;
    if (s.expression != nullptr) {
        const Text* before = std::exchange(filter_input_, &text);
        value = evaluate(*s.expression, scope);
        filter_input_ = before;
    } else {
        value = string(std::move(text));
    }
    if (!failed_) assign(*s.targets[0], value, scope, s.exported);
    return Flow::Next;
}

Machine::Flow Machine::run_filter_block(const Stmt& s, Activation& scope) {
    enter(s.frame, scope);
    Text text;
    Flow flow = Flow::Next;
    {
        const Redirect redirect(out_, text);
        flow = run_body(s.body, scope);
    }
    if (failed_ || flow != Flow::Next) return flow;
    const Text* before = std::exchange(filter_input_, &text);
    const Value value = evaluate(*s.expression, scope);
    filter_input_ = before;
    print_text(value);
    return Flow::Next;
}

Machine::Flow Machine::run_with(const Stmt& s, Activation& scope) {
    enter(s.frame, scope);
    for (std::size_t i = 0; i < s.targets.size(); ++i) {
        const Value value = evaluate(*s.values[i], scope);
        if (failed_ || !assign(*s.targets[i], value, scope)) return Flow::Next;
    }
    return run_body(s.body, scope);
}

void Machine::run_block(const Stmt& s) {
    const auto scope = std::make_shared<Activation>(heap_, s.function.variables, nullptr);
    enter(s.frame, *scope);
    run_body(s.body, *scope);
}

void Machine::define_macro(const Stmt& s, Activation& scope) {
    const Value macro = make<MacroObject>(s, keep(scope));
    scope.at(s.name_slot) = macro;
    if (s.exported) exported_[s.text] = macro;
}

void Machine::run_call_block(const Stmt& s, Activation& scope) {
    const Value caller = make<MacroObject>(s, keep(scope));
    if (!failed_) print_text(call_expression(*s.expression, scope, &caller));
}

Machine::Flow Machine::run_for(const Stmt& s, Activation& scope) {
    const Value iterable = evaluate(*s.expression, scope);
    if (failed_) return Flow::Next;
    if (!s.recursive) return run_loop(s, iterable, scope, 0, nullptr);
    // A recursive loop is a function of its own; a break in it ends it and nothing else.
    const auto outer = keep(scope);
    const auto inner = std::make_shared<Activation>(heap_, s.function.variables, outer);
    Text text;
    {
        const Redirect redirect(out_, text);
        run_loop(s, iterable, *inner, 0, outer);
    }
    if (failed_) return Flow::Next;
    out_->append(text);
    if (out_->size() > limits_.output_bytes) fail_size();
    return Flow::Next;
}

Machine::Flow Machine::run_loop(const Stmt& s, const Value& iterable, Activation& scope, std::int64_t depth0,
                                const std::shared_ptr<Activation>& outer) {
    Value items = iterable;
    if (s.test != nullptr) {
        auto activation = std::make_shared<Activation>(heap_, s.test_function.variables, keep(scope));
        Cursor cursor;
        if (!cursor.open(*this, iterable)) return Flow::Next;
        enter(s.test_frame, *activation);
        items = make<FilteredItems>(s, std::move(activation), iterable);
        items.as<FilteredItems>().cursor = cursor;
    }
    Cursor plain;
    Value holder;
    LoopObject* loop = nullptr;
    if (s.extended) {
        holder = make<LoopObject>(items, depth0);
        loop = &holder.as<LoopObject>();
        if (s.recursive) loop->recursive = &s;
        loop->outer = outer;
    }
    if (!(loop != nullptr ? loop->cursor : plain).open(*this, items)) return Flow::Next;

    bool none_finished = true;
    Value item;
    while (loop != nullptr ? loop->advance(*this, item) : plain.next(*this, item)) {
        if (loop != nullptr) scope.slots[s.loop_variable] = holder;
        if (!assign(*s.targets[0], item, scope)) break;
        enter(s.frame, scope);
        const Flow flow = run_body(s.body, scope);
        if (failed_ || flow == Flow::Break) break;
        // Jinja notes a turn at its end only, so a loop that always continues also runs its else.
        if (flow == Flow::Next) none_finished = false;
    }
    if (loop != nullptr) loop->last_changed = Value();  // may hold the loop itself
    if (failed_) return Flow::Next;
    if (none_finished && !s.otherwise.empty()) {
        enter(s.else_frame, scope);
        return run_body(s.otherwise, scope);
    }
    return Flow::Next;
}

}  // namespace vitrine::jinja
