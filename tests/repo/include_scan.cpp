#include "tests/repo/include_scan.h"

#include <QRegularExpression>
#include <QStringList>

namespace vitrine::repo {
namespace {

// The source with comments as blanks; line breaks stay where they are.
QString without_comments(const QString& source) {
    enum class In { Code, Line, Block, String, Character } in = In::Code;
    QString out;
    out.reserve(source.size());
    for (qsizetype i = 0; i < source.size(); ++i) {
        const QChar c = source[i];
        const QChar next = i + 1 < source.size() ? source[i + 1] : QChar();
        switch (in) {
            case In::Code:
                if (c == '/' && (next == '/' || next == '*')) {
                    in = next == '/' ? In::Line : In::Block;
                    out += ' ';
                    ++i;
                    continue;
                }
                if (c == '"') in = In::String;
                // An apostrophe after a digit or letter separates digits (1'000).
                if (c == '\'' && !(i > 0 && source[i - 1].isLetterOrNumber())) in = In::Character;
                out += c;
                break;
            case In::Line:
                if (c == '\n') {
                    in = In::Code;
                    out += c;
                }
                break;
            case In::Block:
                if (c == '*' && next == '/') {
                    in = In::Code;
                    ++i;
                } else if (c == '\n') {
                    out += c;
                }
                break;
            case In::String:
            case In::Character:
                out += c;
                if (c == '\\' && !next.isNull()) {
                    out += next;
                    ++i;
                } else if (c == '\n' || c == (in == In::String ? '"' : '\'')) {
                    in = In::Code;
                }
                break;
        }
    }
    return out;
}

}  // namespace

std::vector<Include> includes_of(const QString& source) {
    static const QRegularExpression directive(
        QStringLiteral("^\\s*(?:#|%:)\\s*include(?:_next)?\\b\\s*(.*)$"));
    static const QRegularExpression name(QStringLiteral("^(?:\"([^\"]+)\"|<([^>]+)>)"));
    QString text = source;
    text.replace(QStringLiteral("\r\n"), QStringLiteral("\n"));
    // A joined line keeps its number: the breaks it loses are given back behind it.
    QString joined;
    int owed = 0;
    for (qsizetype i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '\n') {
            ++owed;
            ++i;
        } else {
            joined += text[i];
            if (text[i] == '\n' && owed > 0) {
                joined += QString(owed, QLatin1Char('\n'));
                owed = 0;
            }
        }
    }

    std::vector<Include> found;
    const QStringList lines = without_comments(joined).split('\n');
    for (qsizetype i = 0; i < lines.size(); ++i) {
        const auto match = directive.match(lines[i]);
        if (!match.hasMatch()) continue;
        Include include;
        include.line = static_cast<int>(i) + 1;
        const QString rest = match.captured(1).trimmed();
        if (const auto file = name.match(rest); file.hasMatch()) {
            include.quoted = file.captured(2).isEmpty();
            include.target = include.quoted ? file.captured(1) : file.captured(2);
        } else {
            include.computed = true;
            include.target = rest;
        }
        found.push_back(include);
    }
    return found;
}

}  // namespace vitrine::repo
