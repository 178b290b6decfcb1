#include <algorithm>
#include <utility>

#include "core/text/template/parser.h"

namespace vitrine::jinja {

Result<std::unique_ptr<Program>> Parser::run() {
    program_->body = parse_body({});
    if (failed_) return std::move(error_);
    return std::move(program_);
}

Stmt& Parser::add_statement(StmtKind kind, std::uint32_t line) {
    Stmt& statement = program_->statements.emplace_back();
    statement.kind = kind;
    statement.line = line;
    return statement;
}

Body Parser::parse_body(Words end) {
    const Level level(*this);
    Body body;
    Stmt* output = nullptr;
    const auto print = [&](Expr* value) {
        if (output == nullptr) {
            output = &add_statement(StmtKind::Output, value->line);
            body.push_back(output);
        }
        output->values.push_back(value);
    };
    while (!failed()) {
        if (at(TokenKind::Data)) {
            Token token = take();
            Expr& text = add(ExprKind::Constant, token.line);
            text.literal = Expr::Literal::String;
            text.integer = static_cast<std::int64_t>(program_->strings.size());
            program_->strings.push_back(std::move(token.text));
            print(&text);
        } else if (skip(TokenKind::VariableBegin)) {
            print(parse_tuple(TupleItems::Expressions));
            expect(TokenKind::VariableEnd);
        } else if (skip(TokenKind::BlockBegin)) {
            output = nullptr;
            if (at_any(end)) return body;
            parse_statement(body);
            expect(TokenKind::BlockEnd);
        } else {
            break;
        }
    }
    if (end.size() != 0 && !failed()) {
        std::string words;
        for (const std::string_view word : end) {
            words += (words.empty() ? "'" : " or '") + std::string(word) + "'";
        }
        fail("the template ends where " + words + " was expected" +
             (open_.empty() ? std::string() : "; the innermost open tag is '" + open_.back() + "'"));
    }
    return body;
}

Body Parser::parse_block(Words end) {
    skip(TokenKind::Colon);
    expect(TokenKind::BlockEnd);
    return parse_body(end);
}

void Parser::parse_statement(Body& body) {
    if (!at(TokenKind::Name)) {
        fail("expected the name of a tag, got " + describe(now()));
        return;
    }
    struct Tag {
        std::string_view name;
        void (Parser::*parse)(Body&);
    };
    static constexpr Tag tags[] = {
        {"for", &Parser::parse_for},
        {"if", &Parser::parse_if},
        {"set", &Parser::parse_set},
        {"with", &Parser::parse_with},
        {"macro", &Parser::parse_macro},
        {"call", &Parser::parse_call},
        {"filter", &Parser::parse_filter_block},
        {"generation", &Parser::parse_generation},
        {"block", &Parser::parse_named_block},
        {"autoescape", &Parser::parse_autoescape},
        {"print", &Parser::parse_print},
        {"break", &Parser::parse_loop_control},
        {"continue", &Parser::parse_loop_control},
        {"include", &Parser::parse_refused},
        {"import", &Parser::parse_refused},
        {"from", &Parser::parse_refused},
        {"extends", &Parser::parse_refused},
    };
    const std::string name = now().text;
    const auto* tag =
        std::find_if(std::begin(tags), std::end(tags), [&](const Tag& t) { return t.name == name; });
    if (tag == std::end(tags)) {
        fail("unknown tag '" + name + "'" +
             (open_.empty() ? std::string() : "; the innermost open tag is '" + open_.back() + "'"));
        return;
    }
    open_.push_back(name);
    (this->*tag->parse)(body);
    open_.pop_back();
}

void Parser::mark_stored(Expr* target) {
    const bool assignable = target->kind == ExprKind::Name || target->kind == ExprKind::NamespaceRef ||
                            target->kind == ExprKind::Tuple;
    if (!assignable) {
        fail("this cannot be assigned to", target->line);
        return;
    }
    target->store = true;
    if (target->kind == ExprKind::Tuple) {
        for (Expr* part : target->children) mark_stored(part);
    }
}

Expr* Parser::parse_target(Words end, bool with_namespace) {
    Expr* target = parse_tuple(with_namespace ? TupleItems::NamespaceTargets : TupleItems::Targets, end);
    if (!failed()) mark_stored(target);
    return target;
}

void Parser::parse_for(Body& body) {
    Stmt& loop = add_statement(StmtKind::For, take().line);
    body.push_back(&loop);
    loop.targets.push_back(parse_target({"in"}, false));
    expect_word("in");
    loop.expression = parse_tuple(TupleItems::WithoutConditional, {"recursive"});
    if (skip_word("if")) loop.test = parse_expression();
    loop.recursive = skip_word("recursive");
    ++loops_;
    loop.body = parse_block({"endfor", "else"});
    --loops_;
    if (!failed() && take().text == "else") {
        loop.otherwise = parse_block({"endfor"});
        take();
    }
}

void Parser::parse_if(Body& body) {
    Stmt& statement = add_statement(StmtKind::If, now().line);
    body.push_back(&statement);
    std::string word = "if";
    while (!failed()) {
        word = take().text;
        if (word == "endif") break;
        if (word == "else") {
            statement.otherwise = parse_block({"endif"});
            take();
            break;
        }
        Branch& branch = statement.branches.emplace_back();
        branch.test = parse_tuple(TupleItems::WithoutConditional);
        branch.body = parse_block({"elif", "else", "endif"});
    }
}

void Parser::parse_set(Body& body) {
    const std::uint32_t line = take().line;
    Expr* target = parse_target({}, true);
    if (skip(TokenKind::Assign)) {
        Stmt& statement = add_statement(StmtKind::Set, line);
        body.push_back(&statement);
        statement.targets.push_back(target);
        statement.expression = parse_tuple(TupleItems::Expressions);
        return;
    }
    Stmt& statement = add_statement(StmtKind::SetBlock, line);
    body.push_back(&statement);
    statement.targets.push_back(target);
    while (!failed() && skip(TokenKind::Pipe)) statement.expression = parse_filter(statement.expression);
    statement.body = parse_block({"endset"});
    take();
}

void Parser::parse_with(Body& body) {
    Stmt& statement = add_statement(StmtKind::With, take().line);
    body.push_back(&statement);
    while (!failed() && !at(TokenKind::BlockEnd)) {
        if (!statement.targets.empty()) expect(TokenKind::Comma);
        statement.targets.push_back(parse_target({}, false));
        expect(TokenKind::Assign);
        statement.values.push_back(parse_expression());
    }
    statement.body = parse_block({"endwith"});
    take();
}

void Parser::parse_signature(Stmt& statement) {
    expect(TokenKind::LParen);
    while (!failed() && !at(TokenKind::RParen)) {
        if (!statement.targets.empty()) expect(TokenKind::Comma);
        Expr& parameter = add(ExprKind::Name, now().line);
        parameter.text = expect_name();
        parameter.store = true;
        for (const Expr* known : statement.targets) {
            if (known->text == parameter.text) fail("the parameter '" + parameter.text + "' is named twice");
        }
        if (skip(TokenKind::Assign)) {
            statement.defaults.push_back(parse_expression());
        } else if (!statement.defaults.empty()) {
            fail("a parameter without a default follows one with a default");
        }
        statement.targets.push_back(&parameter);
    }
    expect(TokenKind::RParen);
}

void Parser::parse_macro(Body& body) {
    Stmt& macro = add_statement(StmtKind::Macro, take().line);
    body.push_back(&macro);
    macro.text = expect_name();
    parse_signature(macro);
    const std::uint32_t loops = std::exchange(loops_, 0);
    macro.body = parse_block({"endmacro"});
    loops_ = loops;
    take();
}

void Parser::parse_call(Body& body) {
    Stmt& call = add_statement(StmtKind::CallBlock, take().line);
    body.push_back(&call);
    if (at(TokenKind::LParen)) parse_signature(call);
    call.expression = parse_expression();
    if (!failed() && call.expression->kind != ExprKind::Call) fail("a call block needs a call", call.line);
    const std::uint32_t loops = std::exchange(loops_, 0);
    call.body = parse_block({"endcall"});
    loops_ = loops;
    take();
}

void Parser::parse_filter_block(Body& body) {
    Stmt& statement = add_statement(StmtKind::FilterBlock, take().line);
    body.push_back(&statement);
    statement.expression = parse_filter(nullptr);
    while (!failed() && skip(TokenKind::Pipe)) statement.expression = parse_filter(statement.expression);
    statement.body = parse_block({"endfilter"});
    take();
}

// Renders its body like a call block, so that what it sets stays inside.
void Parser::parse_generation(Body& body) {
    Stmt& statement = add_statement(StmtKind::Scope, take().line);
    body.push_back(&statement);
    const std::uint32_t loops = std::exchange(loops_, 0);
    statement.body = parse_block({"endgeneration"});
    loops_ = loops;
    take();
}

void Parser::parse_named_block(Body& body) {
    Stmt& block = add_statement(StmtKind::Block, take().line);
    body.push_back(&block);
    block.text = expect_name();
    if (skip_word("scoped")) fail("scoped blocks are not supported");
    if (skip_word("required")) fail("required blocks are not supported");
    const std::uint32_t loops = std::exchange(loops_, 0);
    block.body = parse_block({"endblock"});
    loops_ = loops;
    take();
    skip_word(block.text);
}

void Parser::parse_autoescape(Body& body) {
    Stmt& statement = add_statement(StmtKind::Scope, take().line);
    body.push_back(&statement);
    const Expr* mode = parse_expression();
    if (!failed() && (mode->kind != ExprKind::Constant || mode->literal != Expr::Literal::False)) {
        fail("automatic escaping is not supported", statement.line);
    }
    statement.body = parse_block({"endautoescape"});
    take();
}

void Parser::parse_print(Body& body) {
    Stmt& statement = add_statement(StmtKind::Output, take().line);
    body.push_back(&statement);
    while (!failed() && !at(TokenKind::BlockEnd)) {
        if (!statement.values.empty()) expect(TokenKind::Comma);
        statement.values.push_back(parse_expression());
    }
}

void Parser::parse_loop_control(Body& body) {
    const Token token = take();
    if (loops_ == 0) {
        fail("'" + token.text + "' outside of a loop", token.line);
        return;
    }
    body.push_back(&add_statement(token.text == "break" ? StmtKind::Break : StmtKind::Continue, token.line));
}

// There is nothing to include or inherit from. Such a tag may stand where it is never reached.
void Parser::parse_refused(Body& body) {
    const Token token = take();
    Stmt& statement = add_statement(StmtKind::Refused, token.line);
    statement.text = token.text;
    body.push_back(&statement);
    parse_expression();
    while (!failed() && !at(TokenKind::BlockEnd) && !at(TokenKind::End)) take();
}

}  // namespace vitrine::jinja
