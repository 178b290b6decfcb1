#include "core/text/chat_template.h"
#include "core/text/template/convert.h"
#include "core/text/template/functions.h"
#include "core/text/template/machine.h"
#include "core/text/template/methods.h"

namespace vitrine::jinja {

Value Machine::call(const Value& callee, const Arguments& arguments) {
    if (!tick() || !enough_stack()) return {};
    switch (callee.kind()) {
        case Kind::Undefined: return fail_undefined(callee);
        case Kind::Macro: return call_macro(callee.as<MacroObject>(), arguments);
        case Kind::Function: return call_function(*this, callee.as<FunctionObject>().function, arguments);
        case Kind::Method: return call_method(*this, callee.as<MethodObject>(), arguments);
        case Kind::Loop: return call_loop(callee.as<LoopObject>(), arguments);
        case Kind::Joiner: {
            auto& joiner = callee.as<JoinerObject>();
            return std::exchange(joiner.used, true) ? joiner.separator : string("");
        }
        default: return fail("'" + type_name(callee) + "' object is not callable");
    }
}

// Fills the parameters as Jinja's Macro does: positions, then names, then caller, kwargs and varargs.
bool Machine::bind_macro(const MacroObject& macro, const Arguments& arguments, Activation& scope) {
    const Stmt& definition = macro.definition;
    const std::size_t parameters = definition.targets.size();
    const std::size_t by_position = std::min(arguments.positional.size(), parameters);
    std::vector<bool> used(arguments.keywords.size(), false);
    const auto take = [&](const std::string& name) {
        for (std::size_t i = 0; i < arguments.keywords.size(); ++i) {
            if (used[i] || arguments.keywords[i].first.as<StringObject>().text.bytes != name) continue;
            used[i] = true;
            return arguments.keywords[i].second;
        }
        return Value();
    };
    bool found_caller = false;
    for (std::size_t i = 0; i < parameters; ++i) {
        const Expr& parameter = *definition.targets[i];
        scope.slots[parameter.slot.index] = i < by_position ? arguments.positional[i] : take(parameter.text);
        if (parameter.text == "caller") found_caller = true;
    }
    if (definition.wants_caller && !found_caller) {
        Value caller = take("caller");
        if (caller.is_missing() || caller.is_none()) caller = undefined("No caller defined");
        scope.slots[definition.caller_variable] = std::move(caller);
    }
    const std::string shown = definition.kind == StmtKind::Macro ? quote(definition.text) : "None";
    Value rest = definition.wants_kwargs ? make<DictObject>() : Value();
    for (std::size_t i = 0; i < used.size(); ++i) {
        if (used[i]) continue;
        const auto& [name, value] = arguments.keywords[i];
        if (!definition.wants_kwargs) {
            const std::string& text = name.as<StringObject>().text.bytes;
            fail(text == "caller" ? "macro " + shown +
                                        " was invoked with two values for the special caller argument. This "
                                        "is most likely a bug."
                                  : "macro " + shown + " takes no keyword argument " + quote(text));
            return false;
        }
        rest.as<DictObject>().set(*this, name, value);
    }
    if (definition.wants_kwargs) scope.slots[definition.kwargs_variable] = std::move(rest);
    if (definition.wants_varargs) {
        Values more(arguments.positional.begin() + static_cast<std::ptrdiff_t>(by_position),
                    arguments.positional.end());
        scope.slots[definition.varargs_variable] = tuple(std::move(more));
    } else if (arguments.positional.size() > parameters) {
        fail("macro " + shown + " takes not more than " + std::to_string(parameters) + " argument(s)");
        return false;
    }
    return !failed_;
}

Value Machine::call_macro(const MacroObject& macro, const Arguments& arguments) {
    const Stmt& definition = macro.definition;
    if (calls_ >= limits_.depth) {
        return fail_as(ErrorKind::TooLarge, "Macros of the chat template call each other too deeply (line " +
                                                std::to_string(line_) + ").");
    }
    const auto scope = std::make_shared<Activation>(heap_, definition.function.variables, macro.outer);
    if (!bind_macro(macro, arguments, *scope)) return {};
    enter(definition.frame, *scope);
    Text text;
    Text* before = std::exchange(out_, &text);
    ++calls_;
    const std::size_t without_default = definition.targets.size() - definition.defaults.size();
    for (std::size_t i = 0; i < definition.targets.size() && !failed_; ++i) {
        const Expr& parameter = *definition.targets[i];
        if (!scope->slots[parameter.slot.index].is_missing()) continue;
        Value value = i < without_default
                          ? undefined("parameter " + quote(parameter.text) + " was not provided")
                          : evaluate(*definition.defaults[i - without_default], *scope);
        scope->slots[parameter.slot.index] = std::move(value);
    }
    if (!failed_) run_body(definition.body, *scope);
    --calls_;
    out_ = before;
    return failed_ ? Value() : string(std::move(text));
}

Value Machine::call_loop(LoopObject& loop, const Arguments& arguments) {
    if (loop.recursive == nullptr)
        return fail("The loop must have the 'recursive' marker to be called recursively.");
    if (arguments.positional.size() != 1 || !arguments.keywords.empty())
        return fail("a loop is called with one argument");
    if (calls_ >= limits_.depth) {
        return fail_as(ErrorKind::TooLarge, "A loop of the chat template calls itself too deeply (line " +
                                                std::to_string(line_) + ").");
    }
    const auto scope = std::make_shared<Activation>(heap_, loop.recursive->function.variables, loop.outer);
    Text text;
    Text* before = std::exchange(out_, &text);
    ++calls_;
    run_loop(*loop.recursive, arguments.positional[0], *scope, loop.depth0 + 1, loop.outer);
    --calls_;
    out_ = before;
    return failed_ ? Value() : string(std::move(text));
}

}  // namespace vitrine::jinja
