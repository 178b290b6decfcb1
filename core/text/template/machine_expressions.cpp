#include "core/text/template/attributes.h"
#include "core/text/template/compare.h"
#include "core/text/template/convert.h"
#include "core/text/template/machine.h"
#include "core/text/template/operators.h"
#include "core/text/template/registry.h"

namespace vitrine::jinja {

Value Machine::evaluate(const Expr& expr, Activation& scope) {
    if (!tick() || !enough_stack()) return {};
    switch (expr.kind) {
        case ExprKind::Constant: return constant(expr);
        case ExprKind::Name: return name(expr, scope);
        case ExprKind::List:
        case ExprKind::Tuple: {
            Values items;
            if (!evaluate_all(expr.children, 0, scope, items)) return {};
            return expr.kind == ExprKind::List ? list(std::move(items)) : tuple(std::move(items));
        }
        case ExprKind::Dict: return dict_literal(expr, scope);
        case ExprKind::Unary: {
            const Value value = evaluate(*expr.children[0], scope);
            return failed_ ? Value() : unary_operation(*this, expr.operators[0], value);
        }
        case ExprKind::Binary: return binary_chain(expr, scope);
        case ExprKind::And:
        case ExprKind::Or: return logic(expr, scope);
        case ExprKind::Concat: return concat(expr, scope);
        case ExprKind::Compare: return comparison(expr, scope);
        case ExprKind::Conditional: return conditional(expr, scope);
        case ExprKind::Attribute: {
            const Value object = evaluate(*expr.children[0], scope);
            if (failed_) return {};
            line_ = expr.line;
            return get_attribute(*this, object, expr.text);
        }
        case ExprKind::Item: return item(expr, scope);
        case ExprKind::Slice: return fail("a slice cannot be combined with other subscripts");
        case ExprKind::Call: return call_expression(expr, scope, nullptr);
        case ExprKind::Filter:
        case ExprKind::Test: return filter_or_test(expr, scope);
        case ExprKind::NamespaceRef: return {};
    }
    return {};
}

Value Machine::constant(const Expr& expr) {
    switch (expr.literal) {
        case Expr::Literal::None: return Value::none();
        case Expr::Literal::True: return Value::boolean(true);
        case Expr::Literal::False: return Value::boolean(false);
        case Expr::Literal::Int: return Value::integer(expr.integer);
        case Expr::Literal::Float: return Value::real(expr.real);
        case Expr::Literal::String: return strings_[static_cast<std::size_t>(expr.integer)];
    }
    return {};
}

Value Machine::name(const Expr& expr, Activation& scope) {
    const Value& value = scope.at(expr.slot);
    return value.is_missing() ? undefined(quote(expr.text) + " is undefined") : value;
}

bool Machine::evaluate_all(const std::vector<Expr*>& list, std::size_t first, Activation& scope,
                           Values& values) {
    values.reserve(list.size() - std::min(first, list.size()));
    for (std::size_t i = first; i < list.size(); ++i) {
        values.push_back(evaluate(*list[i], scope));
        if (failed_) return false;
    }
    return true;
}

Value Machine::dict_literal(const Expr& expr, Activation& scope) {
    Value result = make<DictObject>();
    for (std::size_t i = 0; i + 1 < expr.children.size() && !failed_; i += 2) {
        Value key = evaluate(*expr.children[i], scope);
        Value value = evaluate(*expr.children[i + 1], scope);
        if (failed_) return {};
        result.as<DictObject>().set(*this, std::move(key), std::move(value));
    }
    check_object(result);
    return result;
}

Value Machine::binary_chain(const Expr& expr, Activation& scope) {
    Value left = evaluate(*expr.children[0], scope);
    for (std::size_t i = 0; i < expr.operators.size() && !failed_; ++i) {
        const Value right = evaluate(*expr.children[i + 1], scope);
        if (failed_) return {};
        line_ = expr.line;
        left = binary_operation(*this, expr.operators[i], left, right);
    }
    return left;
}

Value Machine::logic(const Expr& expr, Activation& scope) {
    const bool stop_at = expr.kind == ExprKind::Or;
    Value value;
    for (const Expr* child : expr.children) {
        value = evaluate(*child, scope);
        if (failed_ || truthy(value) == stop_at) break;
    }
    return value;
}

Value Machine::concat(const Expr& expr, Activation& scope) {
    Text text;
    for (const Expr* child : expr.children) {
        const Value value = evaluate(*child, scope);
        if (failed_) return {};
        const Text piece = to_text(*this, value);
        if (!fits(text.size() + piece.size())) return {};
        text.append(piece);
    }
    return string(std::move(text));
}

Value Machine::comparison(const Expr& expr, Activation& scope) {
    Value left = evaluate(*expr.children[0], scope);
    bool result = true;
    for (std::size_t i = 0; i < expr.operators.size() && result; ++i) {
        if (failed_) return {};
        Value right = evaluate(*expr.children[i + 1], scope);
        if (failed_) return {};
        line_ = expr.line;
        result = compare(*this, expr.operators[i], left, right);
        left = std::move(right);
    }
    return failed_ ? Value() : Value::boolean(result);
}

Value Machine::conditional(const Expr& expr, Activation& scope) {
    const Value test = evaluate(*expr.children[0], scope);
    if (failed_) return {};
    if (truthy(test)) return evaluate(*expr.children[1], scope);
    if (expr.children.size() > 2) return evaluate(*expr.children[2], scope);
    return undefined("the inline if-expression on line " + std::to_string(expr.line) +
                     " evaluated to false and no else section was defined.");
}

Value Machine::item(const Expr& expr, Activation& scope) {
    const Value object = evaluate(*expr.children[0], scope);
    if (failed_) return {};
    const Expr& key = *expr.children[1];
    if (key.kind == ExprKind::Slice) {
        Value parts[3];
        for (std::size_t i = 0; i < 3; ++i) {
            if (key.children[i] != nullptr) parts[i] = evaluate(*key.children[i], scope);
            if (failed_) return {};
        }
        line_ = expr.line;
        return get_slice(*this, object, parts[0], parts[1], parts[2]);
    }
    const Value index = evaluate(key, scope);
    if (failed_) return {};
    line_ = expr.line;
    return get_item(*this, object, index);
}

bool Machine::evaluate_arguments(const Expr& expr, Activation& scope, Arguments& arguments) {
    if (!evaluate_all(expr.children, 1, scope, arguments.positional)) return false;
    for (const auto& [key, value] : expr.keywords) {
        arguments.keywords.emplace_back(string(key), evaluate(*value, scope));
        if (failed_) return false;
    }
    if (expr.more_arguments != nullptr) {
        const Value more = evaluate(*expr.more_arguments, scope);
        if (failed_ || !collect(*this, more, arguments.positional)) return false;
    }
    if (expr.more_keywords != nullptr) {
        const Value more = evaluate(*expr.more_keywords, scope);
        if (failed_) return false;
        if (!more.is(Kind::Dict)) {
            fail("argument after ** must be a mapping, not " + type_name(more));
            return false;
        }
        for (const auto& [key, value] : more.as<DictObject>().entries) {
            if (!key.is_string()) {
                fail("keywords must be strings");
            } else if (arguments.keyword(key.as<StringObject>().text.bytes) != nullptr) {
                fail("got multiple values for keyword argument " + quote(key.as<StringObject>().text.bytes));
            }
            if (!tick()) return false;
            arguments.keywords.emplace_back(key, value);
        }
    }
    return true;
}

Value Machine::call_expression(const Expr& expr, Activation& scope, const Value* caller) {
    const Value callee = evaluate(*expr.children[0], scope);
    if (failed_) return {};
    Arguments arguments;
    if (!evaluate_arguments(expr, scope, arguments)) return {};
    if (caller != nullptr) arguments.keywords.emplace_back(string("caller"), *caller);
    line_ = expr.line;
    return call(callee, arguments);
}

Value Machine::filter_or_test(const Expr& expr, Activation& scope) {
    Value value;
    if (expr.children[0] != nullptr) {
        value = evaluate(*expr.children[0], scope);
    } else if (filter_input_ != nullptr) {
        value = string(*filter_input_);
    }
    if (failed_) return {};
    Arguments arguments;
    if (!evaluate_arguments(expr, scope, arguments)) return {};
    line_ = expr.line;
    if (expr.kind == ExprKind::Filter) {
        if (expr.filter == nullptr) return fail("there is no filter named '" + expr.text + "'");
        return expr.filter->apply(*this, value, arguments);
    }
    if (expr.test == nullptr) return fail("there is no test named '" + expr.text + "'");
    const bool holds = expr.test->holds(*this, value, arguments);
    return failed_ ? Value() : Value::boolean(holds);
}

bool Machine::assign(const Expr& target, const Value& value, Activation& scope, bool exported) {
    if (failed_) return false;
    if (target.kind == ExprKind::Name) {
        scope.at(target.slot) = value;
        if (exported) exported_[target.text] = value;
        return true;
    }
    if (target.kind == ExprKind::NamespaceRef) {
        const Value& space = scope.at(target.slot);
        if (!space.is(Kind::Namespace)) {
            fail("cannot assign attribute on non-namespace object");
            return false;
        }
        auto& object = space.as<NamespaceObject>();
        for (auto& [key, old] : object.attributes) {
            if (key.as<StringObject>().text.bytes == target.attribute) {
                old = value;
                return true;
            }
        }
        object.attributes.emplace_back(string(target.attribute), value);
        object.charge(2 * sizeof(Value));
        return !failed_;
    }
    Values parts;
    if (!is_iterable(value)) {
        fail("cannot unpack non-iterable " + type_name(value) + " object");
        return false;
    }
    if (!collect(*this, value, parts)) return false;
    const std::size_t wanted = target.children.size();
    if (parts.size() != wanted) {
        fail(parts.size() > wanted ? "too many values to unpack (expected " + std::to_string(wanted) + ")"
                                   : "not enough values to unpack (expected " + std::to_string(wanted) +
                                         ", got " + std::to_string(parts.size()) + ")");
        return false;
    }
    for (std::size_t i = 0; i < wanted; ++i) {
        if (!assign(*target.children[i], parts[i], scope, exported)) return false;
    }
    return true;
}

}  // namespace vitrine::jinja
