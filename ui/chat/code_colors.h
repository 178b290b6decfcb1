// Colours for code, one line at a time: what is a keyword, a string, a comment. One scanner, driven by one
// table of languages (code_languages.cpp). Linear; what it does not know stays plain.
#pragma once

#include <vector>

#include <QSet>
#include <QString>
#include <QStringList>
#include <QStringView>

#include "ui/chat/inline_markdown.h"

namespace vitrine::ui {

struct StringRule {
    QString open, close;
    bool escapes = true;
    bool lines = false;  // goes on over line ends
};

struct CodeLanguage {
    enum Special { None, Markup, Diff, KeyValue, Json };
    QString name;  // for people
    QStringList line_comments;
    QString block_open, block_close;
    std::vector<StringRule> strings;
    QSet<QString> keywords;
    QSet<QString> types;
    bool any_case = false;    // keywords in any case
    bool directives = false;  // # at the beginning of a line
    bool decorators = false;  // @name
    bool variables = false;   // $name
    QString word_extra;       // counts as part of a word, besides letters, digits and _
    Special special = None;
};

// By what stands behind the fence, "c++", "py", "{.python}", "ts title=x"; null: not known.
const CodeLanguage* find_language(QStringView info);
// For people, "Python"; as it was written where it is not known.
QString language_name(QStringView info);

// Appends spans of `line`; `state` is what the line before gave, 0 at the beginning. Returns the next.
int color_code(const CodeLanguage& language, QStringView line, int state, std::vector<Span>& out);

// All that are known, for tests.
const std::vector<CodeLanguage>& all_languages();

}  // namespace vitrine::ui
