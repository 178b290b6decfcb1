// One render: runs a Program and keeps its limits.
//
// Failure is sticky: the first one wins, every operation afterwards returns at once with a value nobody may
// use, and every loop asks tick() or failed(). So no exception and no Result travels through the evaluator,
// which keeps its stack frames small; run() turns the failure into an Error.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/text/template/ast.h"
#include "core/text/template/iterate.h"
#include "core/text/template/stack_guard.h"
#include "core/text/template/value.h"

namespace vitrine {
struct RenderInput;  // chat_template.h, which brings the JSON library along: not for every file here
struct TemplateLimits;
}  // namespace vitrine

namespace vitrine::jinja {

struct Arguments {
    Values positional;
    std::vector<std::pair<Value, Value>> keywords;  // names are strings
    const Value* keyword(std::string_view name) const;
};

// The variables of a function that runs.
struct Activation : std::enable_shared_from_this<Activation> {
    Activation(Heap& h, std::uint32_t variables, std::shared_ptr<Activation> o);
    ~Activation();
    Activation(const Activation&) = delete;
    Activation& operator=(const Activation&) = delete;
    Value& at(const Slot& slot);

    Heap& heap;
    std::shared_ptr<Activation> outer;
    Values slots;
    bool kept = false;  // by the machine, because a macro or loop refers to it
};

struct MacroObject : Object {
    MacroObject(Heap& h, const Stmt& d, std::shared_ptr<Activation> o)
        : Object(h, Kind::Macro), definition(d), outer(std::move(o)) {
        charge(sizeof(*this));
    }
    const Stmt& definition;
    std::shared_ptr<Activation> outer;
};

// The variable "loop".
struct LoopObject : Object {
    LoopObject(Heap& h, const Value& items, std::int64_t level);
    bool advance(Machine& machine, Value& item);  // the next item becomes current
    bool peek(Machine& machine);                  // is there a next item?
    std::int64_t length(Machine& machine);

    Value iterable;
    Cursor cursor;
    Value previous, current, following;  // following: Missing until peeked
    Value last_changed;
    std::int64_t index0 = -1;
    std::int64_t depth0;
    std::int64_t counted = -1;
    const Stmt* recursive = nullptr;
    std::shared_ptr<Activation> outer;  // where a recursive loop was started
};

class Machine {
  public:
    Machine(const Program& program, const TemplateLimits& limits, const RenderInput& input);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    Result<TrustedText> run();

    // Failures. Each returns a value to hand back.
    Value fail(std::string message);                     // with the line in front
    Value fail_as(ErrorKind kind, std::string message);  // as it stands
    Value fail_undefined(const Value& undefined);
    Value fail_size();
    Value fail_number();
    bool failed() const { return failed_; }

    // Counts work; false once the render has failed or must stop.
    bool tick(std::uint64_t work = 1) {
        steps_ += work;
        if (failed_ || steps_ >= next_check_) return check_limits();
        return true;
    }
    // For work on so many bytes.
    bool tick_bytes(std::size_t bytes) { return tick(1 + bytes / 1024); }
    // False, and failed, where a string of this size would be too large.
    bool fits(std::size_t bytes);
    // The same for a list of so many items.
    bool fits_items(std::uint64_t items);
    // False, and failed, where recursion has gone too deep.
    bool enough_stack();

    // New values.
    Value string(Text text, bool markup = false);
    Value string(std::string_view trusted) { return string(Text(trusted)); }
    Value list(Values items);
    Value tuple(Values items);
    Value undefined(std::string message) { return make<UndefinedObject>(std::move(message)); }
    Value unsafe(const Value& object, std::string_view attribute);
    Value new_namespace();
    // A new object; fails where memory or nesting is beyond the limits.
    template <class T, class... A>
    Value make(A&&... arguments) {
        return adopt(new T(heap_, std::forward<A>(arguments)...));
    }
    // Looks at the limits again after an object has grown.
    void check_object(const Value& value);

    Value evaluate(const Expr& expr, Activation& scope);
    Value call(const Value& callee, const Arguments& arguments);
    bool assign(const Expr& target, const Value& value, Activation& scope, bool exported = false);
    void enter(const Frame& frame, Activation& scope);
    Heap& heap() { return heap_; }
    const RenderInput& input() const { return input_; }

  private:
    enum class Flow : std::uint8_t { Next, Break, Continue };

    bool check_limits();
    Value adopt(Object* object);
    void define_variables();
    Value lookup(const std::string& name) const;
    std::shared_ptr<Activation> keep(Activation& scope);
    void break_cycles();

    // Statements (machine_statements.cpp).
    Flow run_body(const Body& body, Activation& scope);
    Flow run_statement(const Stmt& statement, Activation& scope);
    void run_output(const Stmt& statement, Activation& scope);
    Flow run_if(const Stmt& statement, Activation& scope);
    Flow run_scoped(const Stmt& statement, Activation& scope);
    void run_set(const Stmt& statement, Activation& scope);
    Flow run_set_block(const Stmt& statement, Activation& scope);
    Flow run_filter_block(const Stmt& statement, Activation& scope);
    Flow run_with(const Stmt& statement, Activation& scope);
    void run_block(const Stmt& statement);
    void run_call_block(const Stmt& statement, Activation& scope);
    void define_macro(const Stmt& statement, Activation& scope);
    Flow run_for(const Stmt& statement, Activation& scope);
    Flow run_loop(const Stmt& statement, const Value& iterable, Activation& scope, std::int64_t depth0,
                  const std::shared_ptr<Activation>& outer);
    void print(const Value& value);
    void print_text(const Value& value);

    // Expressions (machine_expressions.cpp).
    Value constant(const Expr& expr);
    Value name(const Expr& expr, Activation& scope);
    Value dict_literal(const Expr& expr, Activation& scope);
    Value binary_chain(const Expr& expr, Activation& scope);
    Value logic(const Expr& expr, Activation& scope);
    Value concat(const Expr& expr, Activation& scope);
    Value comparison(const Expr& expr, Activation& scope);
    Value conditional(const Expr& expr, Activation& scope);
    Value item(const Expr& expr, Activation& scope);
    Value call_expression(const Expr& expr, Activation& scope, const Value* caller);
    Value filter_or_test(const Expr& expr, Activation& scope);
    bool evaluate_all(const std::vector<Expr*>& list, std::size_t first, Activation& scope, Values& values);
    bool evaluate_arguments(const Expr& expr, Activation& scope, Arguments& arguments);

    // Calls (machine_calls.cpp).
    Value call_macro(const MacroObject& macro, const Arguments& arguments);
    Value call_loop(LoopObject& loop, const Arguments& arguments);
    bool bind_macro(const MacroObject& macro, const Arguments& arguments, Activation& scope);

    const Program& program_;
    const TemplateLimits& limits_;
    const RenderInput& input_;
    Heap heap_;
    StackGuard stack_;
    std::chrono::steady_clock::time_point deadline_;
    std::uint64_t steps_ = 0;
    std::uint64_t next_check_ = 0;
    std::uint32_t calls_ = 0;  // macros and recursive loops inside each other
    std::uint32_t line_ = 0;
    bool failed_ = false;
    Error error_;
    Text* out_ = nullptr;
    const Text* filter_input_ = nullptr;  // what a filter block or filtered set block applies its filter to
    Values strings_;                      // the program's constants
    std::map<std::string, Value, std::less<>> variables_;
    std::map<std::string, Value, std::less<>> exported_;
    std::vector<std::shared_ptr<Activation>> kept_;
    Values namespaces_;
};

}  // namespace vitrine::jinja
