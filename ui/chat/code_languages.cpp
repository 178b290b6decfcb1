// The languages that code is coloured in: one row each. Words of their specifications.
#include <memory>

#include <QHash>

#include "ui/chat/code_colors.h"

namespace vitrine::ui {
namespace {

struct Row {
    const char* names;  // the first is for people
    const char* line_comments;
    const char* block;    // open and close
    const char* strings;  // each: a letter that names a rule, see rule_of()
    const char* keywords;
    const char* types;
    const char* flags;
};

StringRule rule_of(char letter) {
    switch (letter) {
        case 'd': return {QStringLiteral("\""), QStringLiteral("\""), true, false};
        case 's': return {QStringLiteral("'"), QStringLiteral("'"), true, false};
        case 'S': return {QStringLiteral("'"), QStringLiteral("'"), false, true};  // shell, SQL
        case 'D': return {QStringLiteral("\""), QStringLiteral("\""), true, true};
        case 'b': return {QStringLiteral("`"), QStringLiteral("`"), true, true};
        case 't': return {QStringLiteral("\"\"\""), QStringLiteral("\"\"\""), true, true};
        case 'T': return {QStringLiteral("'''"), QStringLiteral("'''"), true, true};
        case 'r': return {QStringLiteral("R\"("), QStringLiteral(")\""), false, true};
        case 'l': return {QStringLiteral("[["), QStringLiteral("]]"), false, true};
        default: return {};
    }
}

#define C_KEYWORDS                                                                                       \
    "break case const continue default do else enum extern for goto if inline register restrict return " \
    "sizeof "                                                                                            \
    "static struct switch typedef union volatile while NULL true false"
#define C_TYPES                                                                                         \
    "bool char double float int long short signed unsigned void size_t ssize_t int8_t int16_t int32_t " \
    "int64_t "                                                                                          \
    "uint8_t uint16_t uint32_t uint64_t ptrdiff_t"

constexpr Row rows[] = {
    {"C|c|h", "//", "/* */", "ds", C_KEYWORDS, C_TYPES, "#"},
    {"C++|cpp|c++|cc|cxx|hpp|cuda|cu|arduino|ino", "//", "/* */", "rds",
     C_KEYWORDS
     " alignas alignof and auto catch class co_await co_return co_yield concept consteval constexpr "
     "constinit const_cast decltype delete dynamic_cast explicit export final friend import module "
     "mutable namespace new noexcept not nullptr operator or override private protected public "
     "reinterpret_cast requires static_assert static_cast template this thread_local throw try "
     "typeid typename using virtual",
     C_TYPES " string vector map set optional unique_ptr shared_ptr wchar_t char8_t char16_t char32_t", "#"},
    {"C#|csharp|cs|c#", "//", "/* */", "tds",
     "abstract as async await base break case catch checked class const continue default delegate do else "
     "enum "
     "event explicit extern false finally fixed for foreach get goto if implicit in init interface internal "
     "is "
     "lock namespace new null operator out override params partial private protected public readonly record "
     "ref "
     "return sealed set sizeof static struct switch this throw true try typeof unsafe using value var "
     "virtual "
     "void when where while yield",
     "bool byte char decimal double dynamic float int long object sbyte short string uint ulong ushort", "#"},
    {"Java|java", "//", "/* */", "tds",
     "abstract assert break case catch class const continue default do else enum extends final finally for "
     "goto "
     "if implements import instanceof interface native new null package permits private protected public "
     "record "
     "return sealed static strictfp super switch synchronized this throw throws transient true false try var "
     "void volatile while yield",
     "boolean byte char double float int long short String Integer List Map Object", "@"},
    {"Kotlin|kotlin|kt|kts", "//", "/* */", "tds",
     "abstract as break by catch class companion const constructor continue data do else enum false final "
     "finally for fun get if import in init inline interface internal is it lateinit null object open "
     "operator "
     "out override package private protected public return sealed set super suspend this throw true try "
     "typealias val var vararg when where while",
     "Any Boolean Byte Char Double Float Int List Long Map Set Short String Unit", "@"},
    {"Swift|swift", "//", "/* */", "td",
     "actor any as associatedtype async await break case catch class continue default defer deinit do else "
     "enum "
     "extension false fallthrough fileprivate for func get guard if import in init inout internal is lazy "
     "let "
     "mutating nil open operator override private protocol public repeat required rethrows return self Self "
     "set "
     "some static struct subscript super switch throw throws true try typealias unowned var weak where while",
     "Any Array Bool Character Dictionary Double Float Int Optional Set String UInt Void", "@"},
    {"JavaScript|javascript|js|jsx|mjs|cjs|node", "//", "/* */", "dsb",
     "async await break case catch class const continue debugger default delete do else export extends false "
     "finally for from function get if import in instanceof let new null of return set static super switch "
     "this "
     "throw true try typeof undefined var void while with yield",
     "Array Boolean Date Error JSON Map Math Number Object Promise RegExp Set String Symbol console document "
     "window",
     "@"},
    {"TypeScript|typescript|ts|tsx", "//", "/* */", "dsb",
     "abstract any as asserts async await break case catch class const constructor continue declare default "
     "delete do else enum export extends false finally for from function get if implements import in infer "
     "instanceof interface is keyof let module namespace new null of override private protected public "
     "readonly "
     "return satisfies set static super switch this throw true try type typeof undefined var void while "
     "yield",
     "Array Date Error Map Partial Promise Readonly Record Set bigint boolean never number object string "
     "symbol "
     "unknown",
     "@"},
    {"Go|go|golang", "//", "/* */", "dsb",
     "break case chan const continue default defer else fallthrough false for func go goto if import "
     "interface "
     "iota map nil package range return select struct switch true type var",
     "any bool byte complex128 complex64 error float32 float64 int int16 int32 int64 int8 rune string uint "
     "uint16 uint32 uint64 uint8 uintptr",
     ""},
    {"Rust|rust|rs", "//", "/* */", "D",
     "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match "
     "mod "
     "move mut pub ref return self Self static struct super trait true type union unsafe use where while",
     "Box Err HashMap None Ok Option Rc Result Some String Vec bool char f32 f64 i128 i16 i32 i64 i8 isize "
     "str "
     "u128 u16 u32 u64 u8 usize",
     "#"},
    {"Python|python|py|python3|pyi|gyp|ipython", "#", "", "tTds",
     "and as assert async await break case class continue def del elif else except False finally for from "
     "global if import in is lambda match None nonlocal not or pass raise return self True try type while "
     "with "
     "yield",
     "abs all any bool bytes dict enumerate float frozenset int isinstance len list map max min object open "
     "print range reversed set sorted str sum super tuple zip",
     "@"},
    {"Ruby|ruby|rb", "#", "=begin =end", "ds",
     "alias and begin break case class def defined do else elsif end ensure false for if in module next nil "
     "not "
     "or private protected public raise redo require rescue retry return self super then true undef unless "
     "until when while yield",
     "Array Float Hash Integer String Symbol attr_accessor attr_reader puts", "$@"},
    {"PHP|php", "// #", "/* */", "Ds",
     "abstract and array as break callable case catch class clone const continue declare default do echo "
     "else "
     "elseif enum extends false final finally fn for foreach function global goto if implements include "
     "instanceof interface isset list match namespace new null or print private protected public readonly "
     "require require_once return static switch this throw trait true try unset use var while yield",
     "bool float int iterable mixed object string void", "$"},
    {"Shell|bash|sh|shell|zsh|ksh|console|shell-session|terminal", "#", "", "DS",
     "alias break case continue declare do done elif else esac eval exec exit export fi for function if in "
     "local "
     "read readonly return select set shift source then time trap unset until while",
     "apt awk cat cd chmod chown cp curl echo find git grep kill ln ls make mkdir mv pip printf ps pwd "
     "python rm "
     "sed sudo tail tar test touch wget",
     "$-"},
    {"PowerShell|powershell|ps1|pwsh", "#", "<# #>", "Ds",
     "begin break catch class continue do else elseif end enum filter finally for foreach function if in "
     "param "
     "process return switch throw trap try until using while",
     "", "$i-"},
    {"SQL|sql|sqlite|postgres|postgresql|mysql|plsql", "--", "/* */", "Sd",
     "add all alter and as asc begin between by cascade case check column commit constraint create cross "
     "database default delete desc distinct drop else end except exists explain false foreign from full "
     "grant "
     "group having if in index inner insert intersect into is join key left like limit not null offset on or "
     "order outer over partition primary references replace returning right rollback select set table then "
     "transaction trigger true union unique update using values view when where with",
     "bigint bit blob boolean char date decimal double float int integer interval json numeric real serial "
     "smallint text time timestamp uuid varchar avg coalesce count max min sum",
     "i"},
    {"JSON|json|jsonc|json5|jsonl|geojson", "//", "/* */", "d", "true false null", "", "J"},
    {"YAML|yaml|yml", "#", "", "ds", "true false null yes no on off", "", "K"},
    {"TOML|toml|ini|cfg|conf|properties|desktop", "# ;", "", "tTds", "true false", "", "K"},
    {"HTML|html|xml|svg|xhtml|vue|svelte|qml-xml|xaml|plist|rss", "", "<!-- -->", "ds", "", "", "M"},
    {"CSS|css|scss|sass|less", "", "/* */", "ds",
     "important media import keyframes supports font-face root hover active focus before after not from to",
     "auto block bold center flex grid inherit initial inline none normal px em rem solid", "-@"},
    {"Lua|lua", "--", "--[[ ]]", "lds",
     "and break do else elseif end false for function goto if in local nil not or repeat return then true "
     "until "
     "while",
     "ipairs math pairs print require setmetatable string table tonumber tostring type", ""},
    {"R|r|rscript", "#", "", "ds",
     "break else FALSE for function if in Inf NA NaN next NULL repeat return TRUE while library require",
     "c data.frame factor length list matrix mean print sum vector", ""},
    {"Julia|julia|jl", "#", "#= =#", "td",
     "abstract baremodule begin break catch const continue do else elseif end export false finally for "
     "function "
     "global if import in let local macro module mutable nothing quote return struct true try type using "
     "while",
     "Any Array Bool Dict Float32 Float64 Int Int64 String Vector", "@"},
    {"Perl|perl|pl", "#", "", "Ds",
     "and cmp die do else elsif eq foreach for ge gt if last le local lt my ne next no not or our package "
     "print "
     "qw redo require return sub undef unless until use while",
     "", "$@"},
    {"Haskell|haskell|hs", "--", "{- -}", "d",
     "as case class data default deriving do else family forall foreign hiding if import in infix infixl "
     "infixr "
     "instance let module newtype of qualified then type where",
     "Bool Char Double Either Float Int Integer IO Just Left Maybe Nothing Right String", ""},
    {"CMake|cmake", "#", "", "D",
     "add_custom_command add_custom_target add_executable add_library add_subdirectory add_test "
     "cmake_minimum_required else elseif endforeach endfunction endif endmacro find_package foreach function "
     "if "
     "include install macro message option project return set target_compile_definitions "
     "target_include_directories target_link_libraries target_sources",
     "ALIAS AND CACHE FALSE INTERFACE NOT OFF ON OR PRIVATE PUBLIC REQUIRED SHARED STATIC TRUE", "$i"},
    {"Makefile|makefile|make|mk", "#", "", "ds",
     "define else endef endif export ifdef ifeq ifndef ifneq include", "", "$"},
    {"Dockerfile|dockerfile|docker|containerfile", "#", "", "ds",
     "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL ONBUILD RUN SHELL STOPSIGNAL USER VOLUME "
     "WORKDIR AS",
     "", "$"},
    {"Diff|diff|patch", "", "", "", "", "", "+"},
    {"Plain text|text|txt|plain|plaintext|output|log", "", "", "", "", "", ""},
};

QSet<QString> words(const char* text, bool any_case) {
    QSet<QString> out;
    for (const QString& word : QString::fromLatin1(text).split(u' ', Qt::SkipEmptyParts))
        out.insert(any_case ? word.toLower() : word);
    return out;
}

struct Languages {
    std::vector<CodeLanguage> all;
    QHash<QString, std::size_t> by_name;
    Languages() {
        for (const Row& row : rows) {
            CodeLanguage l;
            const QStringList names = QString::fromLatin1(row.names).split(u'|');
            l.name = names.front();
            const QString flags = QString::fromLatin1(row.flags);
            l.any_case = flags.contains(u'i');
            l.directives = flags.contains(u'#');
            l.decorators = flags.contains(u'@');
            l.variables = flags.contains(u'$');
            if (flags.contains(u'-')) l.word_extra = QStringLiteral("-");
            l.special = flags.contains(u'M')   ? CodeLanguage::Markup
                        : flags.contains(u'+') ? CodeLanguage::Diff
                        : flags.contains(u'K') ? CodeLanguage::KeyValue
                        : flags.contains(u'J') ? CodeLanguage::Json
                                               : CodeLanguage::None;
            l.line_comments = QString::fromLatin1(row.line_comments).split(u' ', Qt::SkipEmptyParts);
            const QStringList block = QString::fromLatin1(row.block).split(u' ', Qt::SkipEmptyParts);
            if (block.size() == 2) {
                l.block_open = block[0];
                l.block_close = block[1];
            }
            for (const char* s = row.strings; *s != '\0'; ++s) l.strings.push_back(rule_of(*s));
            l.keywords = words(row.keywords, l.any_case);
            l.types = words(row.types, l.any_case);
            for (const QString& name : names) by_name.insert(name.toLower(), all.size());
            all.push_back(std::move(l));
        }
    }
};

const Languages& languages() {
    static const Languages all;
    return all;
}

// "{.python}", "lang=python", "python:file.py", "python title=x": the word that names the language.
QString name_in(QStringView info) {
    while (!info.isEmpty() && (info[0] == u'{' || info[0] == u'.' || info[0].isSpace())) info = info.mid(1);
    qsizetype end = 0;
    while (end < info.size() && end < 40 && !info[end].isSpace() &&
           !QStringView(u"{},:=").contains(info[end]))
        ++end;
    return info.left(end).toString().toLower();
}

}  // namespace

const std::vector<CodeLanguage>& all_languages() { return languages().all; }

const CodeLanguage* find_language(QStringView info) {
    const auto known = languages().by_name.constFind(name_in(info));
    return known == languages().by_name.constEnd() ? nullptr : &languages().all[*known];
}

QString language_name(QStringView info) {
    if (const CodeLanguage* known = find_language(info)) return known->name;
    return info.trimmed().toString();
}

}  // namespace vitrine::ui
