#include "core/text/template/scope.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/text/template/registry.h"
#include "core/text/template/stack_guard.h"

namespace vitrine::jinja {
namespace {

// A function while its names are resolved. Variables of equal level and name share one place, as the
// scopes that use them never run at the same time.
struct FunctionScope {
    FunctionScope* outer = nullptr;
    std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> variables;

    std::uint32_t variable(std::uint32_t level, const std::string& name) {
        return variables.try_emplace({level, name}, static_cast<std::uint32_t>(variables.size()))
            .first->second;
    }
};

// Where a name lives: a variable of a function.
struct Place {
    FunctionScope* function = nullptr;
    std::uint32_t variable = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
};

struct LoadRule {
    enum class How : std::uint8_t { Parameter, Undefined, Resolve, Alias } how = How::Undefined;
    Place from;
    std::string name;
};

// The names of one scope. A branch of an if works on a layer of its own over the scope's names (under).
class Symbols {
  public:
    Symbols(FunctionScope& function, const Symbols* parent)
        : function_(&function), parent_(parent), level_(parent == nullptr ? 0 : parent->level_ + 1) {}
    static Symbols layer(const Symbols& under) {
        Symbols symbols(*under.function_, under.parent_);
        symbols.level_ = under.level_;
        symbols.under_ = &under;
        return symbols;
    }

    const Place* find(const std::string& name) const {
        if (const Place* own = find_here(name)) return own;
        return parent_ == nullptr ? nullptr : parent_->find(name);
    }

    void load(const std::string& name) {
        if (find(name) == nullptr) define(name, {LoadRule::How::Resolve, {}, name});
    }

    void store(const std::string& name) {
        stores_.insert(name);
        if (find_here(name) != nullptr) return;
        const Place* outer = parent_ == nullptr ? nullptr : parent_->find(name);
        define(name, outer != nullptr ? LoadRule{LoadRule::How::Alias, *outer, {}} : LoadRule{});
    }

    Place parameter(const std::string& name) {
        stores_.insert(name);
        return define(name, {LoadRule::How::Parameter, {}, {}});
    }

    // After the branches of an if: what any of them sets begins with the outer value.
    void merge(const std::vector<Symbols>& branches) {
        std::set<std::string> stored;
        for (const Symbols& branch : branches) {
            for (const std::string& name : branch.stores_) {
                if (!stores(name)) stored.insert(name);
            }
        }
        for (const Symbols& branch : branches) {
            for (const auto& [name, place] : branch.places_) places_[name] = place;
            for (const Place& place : branch.order_) set_rule(place, branch.rules_.at(place));
            stores_.insert(branch.stores_.begin(), branch.stores_.end());
        }
        for (const std::string& name : stored) {
            const Place* outer = parent_ == nullptr ? nullptr : parent_->find(name);
            const Place target = *find(name);
            set_rule(target, outer != nullptr ? LoadRule{LoadRule::How::Alias, *outer, {}}
                                              : LoadRule{LoadRule::How::Resolve, {}, name});
        }
    }

    FunctionScope& function() const { return *function_; }

    Slot slot(const FunctionScope& from, const Place& place) const {
        Slot slot;
        for (const FunctionScope* at = &from; at != place.function && at != nullptr; at = at->outer)
            ++slot.hops;
        slot.index = place.variable;
        return slot;
    }

    Frame frame() const {
        Frame frame;
        for (const Place& target : order_) {
            const LoadRule& rule = rules_.at(target);
            if (rule.how == LoadRule::How::Parameter) continue;
            Load& load = frame.emplace_back();
            load.target = target.variable;
            if (rule.how == LoadRule::How::Resolve) {
                load.how = Load::How::Resolve;
                load.name = rule.name;
            } else if (rule.how == LoadRule::How::Alias) {
                load.how = Load::How::Alias;
                load.from = slot(*function_, rule.from);
            }
        }
        return frame;
    }

  private:
    const Place* find_here(const std::string& name) const {
        for (const Symbols* at = this; at != nullptr; at = at->under_) {
            const auto found = at->places_.find(name);
            if (found != at->places_.end()) return &found->second;
        }
        return nullptr;
    }

    bool stores(const std::string& name) const {
        for (const Symbols* at = this; at != nullptr; at = at->under_) {
            if (at->stores_.count(name) != 0) return true;
        }
        return false;
    }

    Place define(const std::string& name, LoadRule rule) {
        const Place place{function_, function_->variable(level_, name)};
        places_[name] = place;
        set_rule(place, std::move(rule));
        return place;
    }

    void set_rule(const Place& place, LoadRule rule) {
        if (rules_.insert_or_assign(place, std::move(rule)).second) order_.push_back(place);
    }

    FunctionScope* function_;
    const Symbols* parent_;
    const Symbols* under_ = nullptr;
    std::uint32_t level_;
    std::map<std::string, Place> places_;
    std::map<Place, LoadRule> rules_;
    std::vector<Place> order_;
    std::set<std::string> stores_;
};

// Calls visit for every direct child expression.
template <class Visit>
void each_child(const Expr& expr, Visit visit) {
    for (Expr* child : expr.children) {
        if (child != nullptr) visit(*child);
    }
    for (const auto& [name, child] : expr.keywords) visit(*child);
    if (expr.more_arguments != nullptr) visit(*expr.more_arguments);
    if (expr.more_keywords != nullptr) visit(*expr.more_keywords);
}

// First pass over a scope: which names it loads and stores, in the order of the source.
class Finder {
  public:
    explicit Finder(Symbols& symbols) : symbols_(&symbols) {}

    void expression(const Expr& expr) {
        if (expr.kind == ExprKind::Name) {
            if (expr.store) {
                symbols_->store(expr.text);
            } else {
                symbols_->load(expr.text);
            }
        } else if (expr.kind == ExprKind::NamespaceRef) {
            symbols_->load(expr.text);
        }
        each_child(expr, [this](const Expr& child) { expression(child); });
    }

    void parameters(const Expr& target) {
        if (target.kind == ExprKind::Name) symbols_->parameter(target.text);
        each_child(target, [this](const Expr& child) { parameters(child); });
    }

    void body(const Body& statements) {
        for (const Stmt* statement : statements) this->statement(*statement);
    }

    void statement(const Stmt& s) {
        switch (s.kind) {
            case StmtKind::Output:
                for (const Expr* value : s.values) expression(*value);
                break;
            case StmtKind::If: branches(s); break;
            case StmtKind::For: expression(*s.expression); break;
            case StmtKind::Set:
                expression(*s.expression);
                expression(*s.targets[0]);
                break;
            case StmtKind::SetBlock: expression(*s.targets[0]); break;
            case StmtKind::Macro: symbols_->store(s.text); break;
            case StmtKind::CallBlock:
            case StmtKind::FilterBlock: expression(*s.expression); break;
            case StmtKind::With:
                for (const Expr* value : s.values) expression(*value);
                break;
            case StmtKind::Scope:
            case StmtKind::Block:
            case StmtKind::Break:
            case StmtKind::Continue:
            case StmtKind::Refused: break;
        }
    }

  private:
    void branches(const Stmt& s) {
        Symbols& original = *symbols_;
        expression(*s.branches[0].test);
        const auto in_layer = [&](Symbols& layer, auto visit) {
            symbols_ = &layer;
            visit();
            symbols_ = &original;
        };
        // As in Jinja: the first body, all further branches together, the else.
        std::vector<Symbols> layers;
        layers.reserve(3);
        in_layer(layers.emplace_back(Symbols::layer(original)), [&] { body(s.branches[0].body); });
        Symbols& further = layers.emplace_back(Symbols::layer(original));
        in_layer(further, [&] {
            for (std::size_t i = 1; i < s.branches.size(); ++i) elif (s.branches[i]);
        });
        in_layer(layers.emplace_back(Symbols::layer(original)), [&] { body(s.otherwise); });
        original.merge(layers);
    }

    void elif (const Branch& branch) {
        Symbols& original = *symbols_;
        expression(*branch.test);
        std::vector<Symbols> layers;
        layers.push_back(Symbols::layer(original));
        symbols_ = &layers[0];
        body(branch.body);
        symbols_ = &original;
        original.merge(layers);
    }

    Symbols* symbols_;
};

// Which of the special names a body reads before it sets them.
class Undeclared {
  public:
    explicit Undeclared(std::set<std::string> names) : open_(std::move(names)) {}
    void body(const Body& statements) {
        for (const Stmt* s : statements) statement(*s);
    }
    bool reads(const std::string& name) const { return read_.count(name) != 0; }

  private:
    void expression(const Expr* expr) {
        if (expr == nullptr || open_.empty()) return;
        if (expr->kind == ExprKind::Name && open_.count(expr->text) != 0) {
            if (!expr->store) read_.insert(expr->text);
            open_.erase(expr->text);
        }
        each_child(*expr, [this](const Expr& child) { expression(&child); });
    }
    void expressions(const std::vector<Expr*>& list) {
        for (const Expr* expr : list) expression(expr);
    }
    void statement(const Stmt& s) {
        if (open_.empty() || s.kind == StmtKind::Block) return;
        if (s.kind == StmtKind::Set || s.kind == StmtKind::SetBlock || s.kind == StmtKind::For) {
            expressions(s.targets);
            expression(s.expression);
        } else if (s.kind == StmtKind::FilterBlock) {
            body(s.body);
            expression(s.expression);
            return;
        } else {
            expression(s.expression);
            expressions(s.targets);
            expressions(s.defaults);
            expressions(s.values);
        }
        for (const Branch& branch : s.branches) {
            expression(branch.test);
            body(branch.body);
        }
        body(s.body);
        body(s.otherwise);
        expression(s.test);
    }

    std::set<std::string> open_;
    std::set<std::string> read_;
};

bool stores_loop(const Body& body);

bool stores_loop(const Expr* expr) {
    if (expr == nullptr) return false;
    if (expr->kind == ExprKind::Name && expr->store && expr->text == "loop") return true;
    return std::any_of(expr->children.begin(), expr->children.end(),
                       [](const Expr* e) { return stores_loop(e); });
}

bool stores_loop(const Stmt& s) {
    if (s.kind != StmtKind::Macro && s.kind != StmtKind::CallBlock && s.kind != StmtKind::With &&
        std::any_of(s.targets.begin(), s.targets.end(), [](const Expr* e) { return stores_loop(e); })) {
        return true;
    }
    return std::any_of(s.branches.begin(), s.branches.end(),
                       [](const Branch& b) { return stores_loop(b.body); }) ||
           stores_loop(s.body) || stores_loop(s.otherwise);
}

bool stores_loop(const Body& body) {
    return std::any_of(body.begin(), body.end(), [](const Stmt* s) { return stores_loop(*s); });
}

// Second pass: gives every name its slot and every scope its frame.
class Binder {
  public:
    explicit Binder(Program& program) : program_(program) {}

    Status run() {
        FunctionScope function;
        Symbols symbols(function, nullptr);
        Finder(symbols).body(program_.body);
        body(program_.body, symbols, {true, false});
        program_.frame = symbols.frame();
        program_.function.variables = static_cast<std::uint32_t>(function.variables.size());
        if (failed_) return std::move(error_);
        return {};
    }

  private:
    // top: assignments are visible to blocks. soft: inside an if, where unknown filters are found late.
    struct Context {
        bool top = false;
        bool soft = false;
    };

    void fail(std::uint32_t line, const std::string& what) {
        if (failed_) return;
        failed_ = true;
        error_ = {ErrorKind::Template, "line " + std::to_string(line) + ": " + what};
    }

    void body(const Body& statements, Symbols& symbols, Context context) {
        for (Stmt* s : statements) {
            if (stack_.exhausted()) fail(s->line, "it nests too deeply");
            if (failed_) return;
            statement(*s, symbols, context);
        }
    }

    void expression(Expr* expr, const Symbols& symbols, bool soft) {
        if (expr == nullptr || failed_) return;
        switch (expr->kind) {
            case ExprKind::Name:
            case ExprKind::NamespaceRef: {
                const Place* place = symbols.find(expr->text);
                if (place == nullptr) {
                    fail(expr->line, "the name '" + expr->text + "' cannot be used here");
                    return;
                }
                expr->slot = symbols.slot(symbols.function(), *place);
                return;
            }
            case ExprKind::Conditional: soft = true; break;
            case ExprKind::Filter:
                expr->filter = find_filter(expr->text);
                if (expr->filter == nullptr && !soft)
                    fail(expr->line, "there is no filter named '" + expr->text + "'");
                break;
            case ExprKind::Test:
                expr->test = find_test(expr->text);
                if (expr->test == nullptr && !soft)
                    fail(expr->line, "there is no test named '" + expr->text + "'");
                break;
            default: break;
        }
        each_child(*expr, [&](Expr& child) { expression(&child, symbols, soft); });
    }

    void expressions(const std::vector<Expr*>& list, const Symbols& symbols, bool soft) {
        for (Expr* expr : list) expression(expr, symbols, soft);
    }

    void statement(Stmt& s, Symbols& symbols, Context context) {
        switch (s.kind) {
            case StmtKind::Output: expressions(s.values, symbols, context.soft); break;
            case StmtKind::If:
                for (Branch& branch : s.branches) {
                    expression(branch.test, symbols, true);
                    body(branch.body, symbols, {context.top, true});
                }
                body(s.otherwise, symbols, {context.top, true});
                break;
            case StmtKind::For: bind_for(s, symbols, context); break;
            case StmtKind::Set:
                s.exported = context.top;
                expression(s.expression, symbols, context.soft);
                expression(s.targets[0], symbols, context.soft);
                break;
            case StmtKind::SetBlock: {
                s.exported = context.top;
                Symbols inner(symbols.function(), &symbols);
                Finder finder(inner);
                finder.body(s.body);
                if (s.expression != nullptr) finder.expression(*s.expression);
                body(s.body, inner, {});
                expression(s.expression, inner, false);
                expression(s.targets[0], symbols, context.soft);
                s.frame = inner.frame();
                break;
            }
            case StmtKind::FilterBlock: {
                Symbols inner(symbols.function(), &symbols);
                Finder finder(inner);
                finder.body(s.body);
                finder.expression(*s.expression);
                body(s.body, inner, {});
                expression(s.expression, inner, false);
                s.frame = inner.frame();
                break;
            }
            case StmtKind::With: {
                Symbols inner(symbols.function(), &symbols);
                Finder finder(inner);
                for (const Expr* target : s.targets) finder.parameters(*target);
                finder.body(s.body);
                expressions(s.values, symbols, context.soft);
                expressions(s.targets, inner, false);
                body(s.body, inner, {});
                s.frame = inner.frame();
                break;
            }
            case StmtKind::Scope: {
                Symbols inner(symbols.function(), &symbols);
                Finder(inner).body(s.body);
                body(s.body, inner, {});
                s.frame = inner.frame();
                break;
            }
            case StmtKind::Macro:
                s.exported = context.top;
                s.name_slot = symbols.slot(symbols.function(), *symbols.find(s.text));
                bind_macro(s, symbols);
                break;
            case StmtKind::CallBlock:
                bind_macro(s, symbols);
                expression(s.expression, symbols, context.soft);
                break;
            case StmtKind::Block: {
                FunctionScope function;
                Symbols inner(function, nullptr);
                Finder(inner).body(s.body);
                body(s.body, inner, {});
                s.frame = inner.frame();
                s.function.variables = static_cast<std::uint32_t>(function.variables.size());
                break;
            }
            case StmtKind::Break:
            case StmtKind::Continue:
            case StmtKind::Refused: break;
        }
    }

    void bind_for(Stmt& s, Symbols& symbols, Context context) {
        FunctionScope own;
        own.outer = &symbols.function();
        FunctionScope& function = s.recursive ? own : symbols.function();

        Undeclared special({"loop"});
        special.body(s.body);
        s.extended = s.recursive || special.reads("loop");
        Symbols inner(function, &symbols);
        if (s.extended) s.loop_variable = inner.parameter("loop").variable;
        Finder finder(inner);
        finder.parameters(*s.targets[0]);
        finder.body(s.body);
        if (stores_loop(s)) fail(s.line, "the variable 'loop' of a for loop cannot be assigned to");

        if (s.test != nullptr) bind_for_test(s, symbols, function);
        expression(s.expression, symbols, context.soft);
        expression(s.targets[0], inner, false);
        body(s.body, inner, {});
        s.frame = inner.frame();

        Symbols otherwise(function, &symbols);
        Finder(otherwise).body(s.otherwise);
        body(s.otherwise, otherwise, {});
        s.else_frame = otherwise.frame();
        s.function.variables = static_cast<std::uint32_t>(own.variables.size());
    }

    // The condition of a loop runs in a function of its own, with the target as its variable.
    void bind_for_test(Stmt& s, const Symbols& symbols, FunctionScope& outer) {
        FunctionScope function;
        function.outer = &outer;
        Symbols inner(function, &symbols);
        Finder finder(inner);
        finder.parameters(*s.targets[0]);
        finder.expression(*s.test);
        s.test_target = copy_target(*s.targets[0]);
        expression(s.test_target, inner, false);
        expression(s.test, inner, false);
        s.test_frame = inner.frame();
        s.test_function.variables = static_cast<std::uint32_t>(function.variables.size());
    }

    Expr* copy_target(const Expr& target) {
        Expr& copy = program_.expressions.emplace_back(target);
        for (Expr*& child : copy.children) child = copy_target(*child);
        return &copy;
    }

    void bind_macro(Stmt& s, const Symbols& symbols) {
        FunctionScope function;
        function.outer = &symbols.function();
        Symbols inner(function, &symbols);
        Finder finder(inner);
        for (const Expr* parameter : s.targets) finder.parameters(*parameter);
        for (const Expr* value : s.defaults) finder.expression(*value);
        finder.body(s.body);

        const auto is_parameter = [&](std::string_view name) {
            return std::any_of(s.targets.begin(), s.targets.end(),
                               [&](const Expr* p) { return p->text == name; });
        };
        Undeclared special({"caller", "kwargs", "varargs"});
        special.body(s.body);
        if (special.reads("caller")) {
            s.wants_caller = true;
            if (!is_parameter("caller")) {
                s.caller_variable = inner.parameter("caller").variable;
            } else if (std::none_of(s.targets.end() - static_cast<std::ptrdiff_t>(s.defaults.size()),
                                    s.targets.end(), [](const Expr* p) { return p->text == "caller"; })) {
                fail(s.line, "the parameter 'caller' must be left out or have a default");
            }
        }
        if (special.reads("kwargs") && !is_parameter("kwargs")) {
            s.wants_kwargs = true;
            s.kwargs_variable = inner.parameter("kwargs").variable;
        }
        if (special.reads("varargs") && !is_parameter("varargs")) {
            s.wants_varargs = true;
            s.varargs_variable = inner.parameter("varargs").variable;
        }
        finder.body(s.body);
        expressions(s.targets, inner, false);
        expressions(s.defaults, inner, false);
        body(s.body, inner, {});
        s.frame = inner.frame();
        s.function.variables = static_cast<std::uint32_t>(function.variables.size());
    }

    Program& program_;
    StackGuard stack_;
    bool failed_ = false;
    Error error_;
};

}  // namespace

Status resolve_names(Program& program) { return Binder(program).run(); }

}  // namespace vitrine::jinja
