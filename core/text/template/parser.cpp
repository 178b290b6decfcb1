#include "core/text/template/parser.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace vitrine::jinja {
namespace {

// Levels of parse_binary, loosest first.
enum Level : int {
    or_level,
    and_level,
    not_level,
    compare_level,
    sum_level,
    concat_level,
    product_level,
    power_level
};

std::optional<Op> arithmetic(TokenKind kind, int level) {
    if (level == sum_level) {
        if (kind == TokenKind::Add) return Op::Add;
        if (kind == TokenKind::Sub) return Op::Subtract;
    } else if (level == product_level) {
        if (kind == TokenKind::Mul) return Op::Multiply;
        if (kind == TokenKind::Div) return Op::Divide;
        if (kind == TokenKind::FloorDiv) return Op::FloorDivide;
        if (kind == TokenKind::Mod) return Op::Modulo;
    } else if (level == power_level && kind == TokenKind::Pow) {
        return Op::Power;
    }
    return std::nullopt;
}

std::optional<Op> comparison(TokenKind kind) {
    switch (kind) {
        case TokenKind::Eq: return Op::Equal;
        case TokenKind::Ne: return Op::NotEqual;
        case TokenKind::Lt: return Op::Less;
        case TokenKind::LtEq: return Op::LessEqual;
        case TokenKind::Gt: return Op::Greater;
        case TokenKind::GtEq: return Op::GreaterEqual;
        default: return std::nullopt;
    }
}

}  // namespace

Token Parser::take() {
    Token token = now();
    if (position_ + 1 < tokens_.size()) ++position_;
    return token;
}

bool Parser::at_any(Words words) const {
    return at(TokenKind::Name) && std::find(words.begin(), words.end(), now().text) != words.end();
}

bool Parser::skip(TokenKind kind) {
    if (!at(kind)) return false;
    take();
    return true;
}

bool Parser::skip_word(std::string_view word) {
    if (!at_word(word)) return false;
    take();
    return true;
}

void Parser::expect(TokenKind kind) {
    if (!skip(kind)) fail("expected " + describe(kind) + ", got " + describe(now()));
}

void Parser::expect_word(std::string_view word) {
    if (!skip_word(word)) fail("expected '" + std::string(word) + "', got " + describe(now()));
}

std::string Parser::expect_name() {
    if (!at(TokenKind::Name)) {
        fail("expected a name, got " + describe(now()));
        return {};
    }
    return take().text;
}

void Parser::fail(const std::string& what, std::uint32_t line) {
    if (failed_) return;
    failed_ = true;
    error_ = {ErrorKind::Template, "line " + std::to_string(line == 0 ? now().line : line) + ": " + what};
    position_ = tokens_.size() - 1;
}

Expr& Parser::add(ExprKind kind, std::uint32_t line) {
    Expr& expr = program_->expressions.emplace_back();
    expr.kind = kind;
    expr.line = line;
    return expr;
}

Expr* Parser::finish(Expr& expr) {
    std::uint16_t depth = 0;
    const auto consider = [&depth](const Expr* child) {
        if (child != nullptr) depth = std::max(depth, child->depth);
    };
    for (const Expr* child : expr.children) consider(child);
    for (const auto& [name, child] : expr.keywords) consider(child);
    consider(expr.more_arguments);
    consider(expr.more_keywords);
    expr.depth = static_cast<std::uint16_t>(depth + 1);
    if (expr.depth > max_depth_) fail("an expression nests too deeply", expr.line);
    return &expr;
}

Expr* Parser::parse_expression(bool with_conditional) {
    const Level level(*this);
    std::uint32_t line = now().line;
    Expr* value = parse_binary(or_level);
    if (!with_conditional) return value;
    while (!failed() && skip_word("if")) {
        Expr& conditional = add(ExprKind::Conditional, line);
        conditional.children = {parse_binary(or_level), value};
        if (skip_word("else")) conditional.children.push_back(parse_expression());
        value = finish(conditional);
        line = now().line;
    }
    return value;
}

// Everything between the conditional and the unary operators: operators that bind at least as tightly as
// level, gathered from the tightest to the loosest.
Expr* Parser::parse_binary(int least) {
    const std::uint32_t line = now().line;
    int level = power_level;
    Expr* left = nullptr;
    if (least <= not_level && at_word("not")) {
        left = parse_not();
        level = and_level;
    } else {
        left = parse_unary();
    }
    for (; level >= least && !failed(); --level) {
        Expr* chain = nullptr;
        Operator found;
        while (!failed() && take_operator(level, found)) {
            if (chain == nullptr) {
                chain = &add(found.kind, line);
                chain->children.push_back(left);
            }
            if (found.has_op) chain->operators.push_back(found.op);
            chain->children.push_back(parse_binary(level + 1));
        }
        if (chain != nullptr) left = finish(*chain);
    }
    return left;
}

Expr* Parser::parse_not() {
    const Level level(*this);
    Expr& expr = add(ExprKind::Unary, take().line);
    expr.operators.push_back(Op::Not);
    expr.children.push_back(failed() ? nullptr : parse_binary(not_level));
    return finish(expr);
}

bool Parser::take_operator(int level, Operator& found) {
    found.has_op = false;
    if (level == or_level || level == and_level) {
        found.kind = level == or_level ? ExprKind::Or : ExprKind::And;
        return skip_word(level == or_level ? "or" : "and");
    }
    if (level == concat_level) {
        found.kind = ExprKind::Concat;
        return skip(TokenKind::Tilde);
    }
    found.kind = level == compare_level ? ExprKind::Compare : ExprKind::Binary;
    std::optional<Op> op = level == compare_level ? comparison(now().kind) : arithmetic(now().kind, level);
    if (level == compare_level && at_word("in")) {
        op = Op::In;
    } else if (level == compare_level && at_word("not") && ahead().kind == TokenKind::Name &&
               ahead().text == "in") {
        op = Op::NotIn;
        take();
    }
    if (!op) return false;
    take();
    found.has_op = true;
    found.op = *op;
    return true;
}

Expr* Parser::parse_unary(bool with_filter) {
    Expr* node = nullptr;
    if (at(TokenKind::Sub) || at(TokenKind::Add)) {
        const Level level(*this);
        const Token sign = take();
        Expr& expr = add(ExprKind::Unary, sign.line);
        expr.operators.push_back(sign.kind == TokenKind::Sub ? Op::Negative : Op::Positive);
        expr.children.push_back(failed() ? nullptr : parse_unary(false));
        node = finish(expr);
    } else {
        node = parse_primary();
    }
    node = parse_postfix(node);
    return with_filter ? parse_filters(node) : node;
}

Expr* Parser::parse_primary(bool with_namespace) {
    const std::uint32_t line = now().line;
    Expr& expr = add(ExprKind::Constant, line);
    switch (now().kind) {
        case TokenKind::Name: {
            const std::string name = take().text;
            if (name == "true" || name == "True") {
                expr.literal = Expr::Literal::True;
            } else if (name == "false" || name == "False") {
                expr.literal = Expr::Literal::False;
            } else if (name == "none" || name == "None") {
                expr.literal = Expr::Literal::None;
            } else if (with_namespace && skip(TokenKind::Dot)) {
                expr.kind = ExprKind::NamespaceRef;
                expr.text = name;
                expr.attribute = expect_name();
            } else {
                expr.kind = ExprKind::Name;
                expr.text = name;
            }
            return &expr;
        }
        case TokenKind::String: {
            std::string text;
            while (at(TokenKind::String)) text += take().text;
            expr.literal = Expr::Literal::String;
            expr.integer = static_cast<std::int64_t>(program_->strings.size());
            program_->strings.push_back(std::move(text));
            return &expr;
        }
        case TokenKind::Integer:
            expr.literal = Expr::Literal::Int;
            expr.integer = take().integer;
            return &expr;
        case TokenKind::Float:
            expr.literal = Expr::Literal::Float;
            expr.real = take().real;
            return &expr;
        case TokenKind::LParen: {
            take();
            Expr* inside = parse_tuple(TupleItems::Expressions, {}, true);
            expect(TokenKind::RParen);
            return inside;
        }
        case TokenKind::LBracket: return parse_list();
        case TokenKind::LBrace: return parse_dict();
        default: fail("expected an expression, got " + describe(now())); return &expr;
    }
}

bool Parser::at_tuple_end(Words end) const {
    return at(TokenKind::VariableEnd) || at(TokenKind::BlockEnd) || at(TokenKind::RParen) || at_any(end);
}

Expr* Parser::parse_tuple(TupleItems items, Words end, bool in_parentheses) {
    std::uint32_t line = now().line;
    std::vector<Expr*> parts;
    bool is_tuple = false;
    while (!failed()) {
        if (!parts.empty()) expect(TokenKind::Comma);
        if (at_tuple_end(end)) break;
        switch (items) {
            case TupleItems::Expressions: parts.push_back(parse_expression()); break;
            case TupleItems::WithoutConditional: parts.push_back(parse_expression(false)); break;
            case TupleItems::Targets: parts.push_back(parse_primary()); break;
            case TupleItems::NamespaceTargets: parts.push_back(parse_primary(true)); break;
        }
        if (!at(TokenKind::Comma)) break;
        is_tuple = true;
        line = now().line;
    }
    if (!is_tuple && !parts.empty()) return parts[0];
    if (!is_tuple && !in_parentheses) fail("expected an expression, got " + describe(now()));
    Expr& tuple = add(ExprKind::Tuple, line);
    tuple.children = std::move(parts);
    return finish(tuple);
}

Expr* Parser::parse_list() {
    Expr& list = add(ExprKind::List, take().line);
    while (!failed() && !at(TokenKind::RBracket)) {
        if (!list.children.empty()) expect(TokenKind::Comma);
        if (at(TokenKind::RBracket)) break;
        list.children.push_back(parse_expression());
    }
    expect(TokenKind::RBracket);
    return finish(list);
}

Expr* Parser::parse_dict() {
    Expr& dict = add(ExprKind::Dict, take().line);
    while (!failed() && !at(TokenKind::RBrace)) {
        if (!dict.children.empty()) expect(TokenKind::Comma);
        if (at(TokenKind::RBrace)) break;
        dict.children.push_back(parse_expression());
        expect(TokenKind::Colon);
        dict.children.push_back(parse_expression());
    }
    expect(TokenKind::RBrace);
    return finish(dict);
}

Expr* Parser::parse_postfix(Expr* node) {
    while (!failed()) {
        if (at(TokenKind::Dot) || at(TokenKind::LBracket)) {
            node = parse_subscript(node);
        } else if (at(TokenKind::LParen)) {
            Expr& call = add(ExprKind::Call, now().line);
            call.children.push_back(node);
            parse_arguments(call);
            node = finish(call);
        } else {
            break;
        }
    }
    return node;
}

Expr* Parser::parse_filters(Expr* node) {
    while (!failed()) {
        if (skip(TokenKind::Pipe)) {
            node = parse_filter(node);
        } else if (at_word("is")) {
            node = parse_test(node);
        } else if (at(TokenKind::LParen)) {
            Expr& call = add(ExprKind::Call, now().line);
            call.children.push_back(node);
            parse_arguments(call);
            node = finish(call);
        } else {
            break;
        }
    }
    return node;
}

Expr* Parser::parse_filter(Expr* node) {
    Expr& filter = add(ExprKind::Filter, now().line);
    filter.text = expect_name();
    while (skip(TokenKind::Dot)) filter.text += "." + expect_name();
    filter.children.push_back(node);
    if (at(TokenKind::LParen)) parse_arguments(filter);
    return finish(filter);
}

Expr* Parser::parse_test(Expr* node) {
    Expr& test = add(ExprKind::Test, take().line);
    const bool negated = skip_word("not");
    test.text = expect_name();
    while (skip(TokenKind::Dot)) test.text += "." + expect_name();
    test.children.push_back(node);
    const TokenKind next = now().kind;
    if (next == TokenKind::LParen) {
        parse_arguments(test);
    } else if ((next == TokenKind::Name || next == TokenKind::String || next == TokenKind::Integer ||
                next == TokenKind::Float || next == TokenKind::LBracket || next == TokenKind::LBrace) &&
               !at_any({"else", "or", "and"})) {
        if (at_word("is")) fail("tests cannot be chained with 'is'");
        test.children.push_back(parse_postfix(parse_primary()));
    }
    finish(test);
    if (!negated) return &test;
    Expr& expr = add(ExprKind::Unary, test.line);
    expr.operators.push_back(Op::Not);
    expr.children.push_back(&test);
    return finish(expr);
}

Expr* Parser::parse_subscript(Expr* node) {
    const Token token = take();
    if (token.kind == TokenKind::Dot) {
        Expr& attribute = add(ExprKind::Attribute, token.line);
        attribute.children.push_back(node);
        if (at(TokenKind::Name)) {
            attribute.text = take().text;
        } else if (at(TokenKind::Integer)) {
            attribute.kind = ExprKind::Item;
            Expr& index = add(ExprKind::Constant, now().line);
            index.literal = Expr::Literal::Int;
            index.integer = take().integer;
            attribute.children.push_back(&index);
        } else {
            fail("expected a name or a number behind '.', got " + describe(now()));
        }
        return finish(attribute);
    }
    Expr& item = add(ExprKind::Item, token.line);
    std::vector<Expr*> parts;
    while (!failed() && !at(TokenKind::RBracket)) {
        if (!parts.empty()) expect(TokenKind::Comma);
        parts.push_back(parse_subscribed());
    }
    expect(TokenKind::RBracket);
    item.children.push_back(node);
    if (parts.size() == 1) {
        item.children.push_back(parts[0]);
    } else {
        Expr& tuple = add(ExprKind::Tuple, token.line);
        tuple.children = std::move(parts);
        item.children.push_back(finish(tuple));
    }
    return finish(item);
}

Expr* Parser::parse_subscribed() {
    Expr* first = nullptr;
    const std::uint32_t line = now().line;
    if (!skip(TokenKind::Colon)) {
        first = parse_expression();
        if (!skip(TokenKind::Colon)) return first;
    }
    const auto at_part_end = [this] { return at(TokenKind::RBracket) || at(TokenKind::Comma); };
    Expr& slice = add(ExprKind::Slice, line);
    slice.children = {first, nullptr, nullptr};
    if (!at(TokenKind::Colon) && !at_part_end()) slice.children[1] = parse_expression();
    if (skip(TokenKind::Colon) && !at_part_end()) slice.children[2] = parse_expression();
    return finish(slice);
}

void Parser::parse_arguments(Expr& call) {
    const std::uint32_t line = now().line;
    const auto ensure = [&](bool fine) {
        if (!fine) fail("arguments of a call are in the wrong order", line);
    };
    expect(TokenKind::LParen);
    bool first = true;
    while (!failed() && !at(TokenKind::RParen)) {
        if (!first) {
            expect(TokenKind::Comma);
            if (at(TokenKind::RParen)) break;
        }
        first = false;
        if (skip(TokenKind::Mul)) {
            ensure(call.more_arguments == nullptr && call.more_keywords == nullptr);
            call.more_arguments = parse_expression();
        } else if (skip(TokenKind::Pow)) {
            ensure(call.more_keywords == nullptr);
            call.more_keywords = parse_expression();
        } else if (at(TokenKind::Name) && ahead().kind == TokenKind::Assign) {
            ensure(call.more_keywords == nullptr);
            std::string name = take().text;
            take();
            for (const auto& [known, value] : call.keywords) {
                if (known == name) fail("the argument '" + name + "' is given twice");
            }
            call.keywords.emplace_back(std::move(name), parse_expression());
        } else {
            ensure(call.more_arguments == nullptr && call.more_keywords == nullptr && call.keywords.empty());
            call.children.push_back(parse_expression());
        }
    }
    expect(TokenKind::RParen);
}

}  // namespace vitrine::jinja
