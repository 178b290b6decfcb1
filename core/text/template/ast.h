// The syntax tree of a template, and what the scope pass adds to it: where each name lives.
//
// Nodes belong to a Program and point to each other freely. Chains of equal precedence (a + b + c, elif,
// and, or, ~) are flat lists, so that recursion over the tree is bounded by the nesting the parser allows.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace vitrine::jinja {

struct FilterEntry;  // registry.h
struct TestEntry;

enum class ExprKind : std::uint8_t {
    Constant,  // constant
    Name,      // text; slot
    List,
    Tuple,   // children
    Dict,    // children: key, value, key, value …
    Unary,   // operators[0], children[0]
    Binary,  // children[0] op[0] children[1] op[1] … from left to right
    And,
    Or,            // children
    Concat,        // children
    Compare,       // children[0] op[0] children[1] …, chained
    Conditional,   // children: test, value if true, (value if false)
    Attribute,     // children[0].text
    Item,          // children[0][children[1]]
    Slice,         // children: start, stop, step; null where left out. Only inside Item
    Call,          // children[0](children[1…], keywords)
    Filter,        // children[0] | text(children[1…], keywords); children[0] is null in a filter block
    Test,          // children[0] is text(…)
    NamespaceRef,  // target of set: text.attribute
};

enum class Op : std::uint8_t {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    NotIn,
    Not,
    Negative,
    Positive,
};

// A variable: how many functions outward (0: the running one), and which of its variables.
struct Slot {
    std::uint32_t hops = 0;
    std::uint32_t index = 0;
};

struct Expr {
    ExprKind kind = ExprKind::Constant;
    std::uint32_t line = 0;
    std::uint16_t depth = 1;
    bool store = false;  // a Name or Tuple that is assigned to
    std::vector<Expr*> children;
    std::vector<Op> operators;
    std::string text;
    std::string attribute;
    std::vector<std::pair<std::string, Expr*>> keywords;
    Expr* more_arguments = nullptr;  // *args
    Expr* more_keywords = nullptr;   // **kwargs
    enum class Literal : std::uint8_t { None, True, False, Int, Float, String } literal = Literal::None;
    std::int64_t integer = 0;  // Int; String: index into Program::strings
    double real = 0;
    Slot slot;
    const FilterEntry* filter = nullptr;  // null: unknown, an error where it is reached
    const TestEntry* test = nullptr;
};

// What happens to a variable when a frame is entered.
struct Load {
    enum class How : std::uint8_t { Undefined, Resolve, Alias } how = How::Undefined;
    std::uint32_t target = 0;  // variable of the running function
    Slot from;                 // Alias
    std::string name;          // Resolve: looked up among the render's variables
};
using Frame = std::vector<Load>;

// A run of code with its own variables: the template, a macro, a call block, a recursive loop, a loop's
// filter.
struct FunctionInfo {
    std::uint32_t variables = 0;
};

enum class StmtKind : std::uint8_t {
    Output,  // values
    For,
    If,
    Macro,
    CallBlock,
    FilterBlock,
    With,
    Set,
    SetBlock,
    Scope,
    Break,
    Continue,
    Block,    // a named block: a scope of its own that sees the template's variables
    Refused,  // include, import, extends: parsed, an error when reached. text says what
};

struct Stmt;
using Body = std::vector<Stmt*>;

struct Branch {
    Expr* test = nullptr;
    Body body;
};

struct Stmt {
    StmtKind kind = StmtKind::Output;
    std::uint32_t line = 0;
    std::string text;             // Macro: its name
    std::vector<Expr*> values;    // Output: what to print, in order. With: values
    std::vector<Expr*> targets;   // For, Set, SetBlock: one. With: targets. Macro, CallBlock: parameters
    std::vector<Expr*> defaults;  // Macro, CallBlock: of the last parameters
    Expr* expression = nullptr;   // For: iterable. Set: value. SetBlock, FilterBlock: filter. CallBlock: call
    Expr* test = nullptr;         // For
    std::vector<Branch> branches;  // If
    Body body;
    Body otherwise;  // For, If
    bool recursive = false;

    // Added by the scope pass.
    Frame frame;                  // entered for the body
    Frame else_frame;             // For
    Frame test_frame;             // For: runs as test_function
    Expr* test_target = nullptr;  // For: the target as the filter sees it
    FunctionInfo function;        // Macro, CallBlock, recursive For
    FunctionInfo test_function;
    bool extended = false;  // For: has a loop variable
    std::uint32_t loop_variable = 0;
    Slot name_slot;         // Macro
    bool exported = false;  // Set, SetBlock, Macro at top level: blocks see it
    bool wants_caller = false, wants_kwargs = false, wants_varargs = false;
    std::uint32_t caller_variable = 0, kwargs_variable = 0, varargs_variable = 0;
};

struct Program {
    std::deque<Expr> expressions;
    std::deque<Stmt> statements;
    std::vector<std::string> strings;  // constants
    Body body;
    Frame frame;
    FunctionInfo function;
};

}  // namespace vitrine::jinja
