// Tokens to a syntax tree, by the grammar of Jinja 3.1 with its loop controls and the generation block.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/text/template/ast.h"
#include "core/text/template/lexer.h"
#include "core/text/template/stack_guard.h"

namespace vitrine::jinja {

class Parser {
  public:
    // max_depth bounds the nesting of blocks and of expressions, each.
    Parser(std::vector<Token> tokens, std::uint32_t max_depth)
        : tokens_(std::move(tokens)), max_depth_(max_depth) {}
    Result<std::unique_ptr<Program>> run();

  private:
    using Words = std::initializer_list<std::string_view>;

    // The stream. After a failure it is at its end for good, so every loop ends.
    const Token& now() const { return tokens_[position_]; }
    const Token& ahead() const { return tokens_[position_ + 1 < tokens_.size() ? position_ + 1 : position_]; }
    Token take();
    bool at(TokenKind kind) const { return now().kind == kind; }
    bool at_word(std::string_view word) const { return at(TokenKind::Name) && now().text == word; }
    bool at_any(Words words) const;
    bool skip(TokenKind kind);
    bool skip_word(std::string_view word);
    void expect(TokenKind kind);
    void expect_word(std::string_view word);
    std::string expect_name();
    void fail(const std::string& what, std::uint32_t line = 0);
    bool failed() const { return failed_; }

    // One level deeper for as long as it lives; fails beyond the limit.
    class Level {
      public:
        explicit Level(Parser& parser) : parser_(parser) {
            if (++parser_.depth_ > parser_.max_depth_ || parser_.stack_.exhausted())
                parser_.fail("it nests too deeply");
        }
        ~Level() { --parser_.depth_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

      private:
        Parser& parser_;
    };

    // Statements (parser_statements.cpp).
    Body parse_body(Words end);   // up to the tag that begins with one of the words, not including it
    Body parse_block(Words end);  // the rest of a tag, then parse_body
    void parse_statement(Body& body);
    Stmt& add_statement(StmtKind kind, std::uint32_t line);
    void parse_for(Body& body);
    void parse_if(Body& body);
    void parse_set(Body& body);
    void parse_with(Body& body);
    void parse_macro(Body& body);
    void parse_call(Body& body);
    void parse_filter_block(Body& body);
    void parse_generation(Body& body);
    void parse_named_block(Body& body);
    void parse_autoescape(Body& body);
    void parse_print(Body& body);
    void parse_loop_control(Body& body);
    void parse_refused(Body& body);
    void parse_signature(Stmt& statement);
    Expr* parse_target(Words end, bool with_namespace);
    void mark_stored(Expr* target);

    // Expressions (parser.cpp).
    Expr& add(ExprKind kind, std::uint32_t line);
    Expr* finish(Expr& expr);  // sets the depth from the children, and checks it
    Expr* parse_expression(bool with_conditional = true);
    struct Operator {
        ExprKind kind = ExprKind::Binary;
        bool has_op = false;
        Op op = Op::Add;
    };
    Expr* parse_binary(int least);
    Expr* parse_not();
    bool take_operator(int level, Operator& found);
    Expr* parse_unary(bool with_filter = true);
    Expr* parse_primary(bool with_namespace = false);
    Expr* parse_postfix(Expr* node);
    Expr* parse_filters(Expr* node);
    Expr* parse_filter(Expr* node);  // one filter, behind the pipe
    Expr* parse_test(Expr* node);
    Expr* parse_subscript(Expr* node);
    Expr* parse_subscribed();
    void parse_arguments(Expr& call);
    Expr* parse_list();
    Expr* parse_dict();
    bool at_tuple_end(Words end) const;
    enum class TupleItems : std::uint8_t { Expressions, WithoutConditional, Targets, NamespaceTargets };
    Expr* parse_tuple(TupleItems items, Words end = {}, bool in_parentheses = false);

    std::vector<Token> tokens_;
    std::size_t position_ = 0;
    std::uint32_t max_depth_;
    StackGuard stack_;
    std::uint32_t depth_ = 0;
    std::uint32_t loops_ = 0;        // enclosing loops that break and continue can mean
    std::vector<std::string> open_;  // tags that wait for their end
    std::unique_ptr<Program> program_ = std::make_unique<Program>();
    bool failed_ = false;
    Error error_;
};

}  // namespace vitrine::jinja
