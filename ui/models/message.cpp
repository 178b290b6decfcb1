#include "ui/models/message.h"

#include <QDateTime>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRandomGenerator>
#include <QTextBoundaryFinder>

namespace vitrine::ui {
namespace {

double number_or(const QJsonObject& o, const char* key, double standard, double least, double most) {
    const double value = o.value(QLatin1String(key)).toDouble(standard);
    return value >= least && value <= most ? value : standard;  // NaN fails both
}

}  // namespace

qint64 now_ms() { return QDateTime::currentMSecsSinceEpoch(); }

qint64 new_id() {
    static qint64 last = 0;
    const qint64 made = (now_ms() << 20) | QRandomGenerator::global()->bounded(1 << 20);
    last = std::max(made, last + 1);  // ascending also when the clock jumps back
    return last;
}

QByteArray ChatSettings::to_json() const {
    QJsonObject switches_json;
    for (auto it = switches.begin(); it != switches.end(); ++it) switches_json.insert(it.key(), it.value());
    const QJsonObject o{{"system", system},
                        {"temperature", temperature},
                        {"top_k", top_k},
                        {"top_p", top_p},
                        {"min_p", min_p},
                        {"repetition_penalty", repetition_penalty},
                        {"random_seed", random_seed},
                        {"seed", QString::number(seed)},  // 64 bits do not fit a JSON number
                        {"max_tokens", max_tokens},
                        {"context", context},
                        {"cut_oldest", cut_oldest},
                        {"template", own_template},
                        {"switches", switches_json},
                        {"merge_turns", merge_turns},
                        {"system_in_first_turn", system_in_first_turn}};
    return QJsonDocument(o).toJson(QJsonDocument::Compact);
}

ChatSettings ChatSettings::from_json(const QByteArray& json) {
    const QJsonObject o = QJsonDocument::fromJson(json).object();
    ChatSettings s;
    s.system = o.value("system").toString();
    s.temperature = number_or(o, "temperature", s.temperature, 0, 5);
    s.top_k = static_cast<int>(number_or(o, "top_k", s.top_k, 0, 1e6));
    s.top_p = number_or(o, "top_p", s.top_p, 0, 1);
    s.min_p = number_or(o, "min_p", s.min_p, 0, 1);
    s.repetition_penalty = number_or(o, "repetition_penalty", s.repetition_penalty, 0.1, 10);
    s.random_seed = o.value("random_seed").toBool(s.random_seed);
    bool ok = false;
    const quint64 seed = o.value("seed").toString().toULongLong(&ok);
    if (ok) s.seed = seed;
    s.max_tokens = static_cast<int>(number_or(o, "max_tokens", s.max_tokens, -1, 1e7));
    if (s.max_tokens == 0) s.max_tokens = ChatSettings{}.max_tokens;
    s.context = static_cast<int>(number_or(o, "context", s.context, 0, 1e7));
    s.cut_oldest = o.value("cut_oldest").toBool();
    s.own_template = o.value("template").toString();
    const QJsonObject switches = o.value("switches").toObject();
    for (auto it = switches.begin(); it != switches.end(); ++it)
        if (it.value().isBool()) s.switches.insert(it.key(), it.value().toBool());
    s.merge_turns = o.value("merge_turns").toBool();
    s.system_in_first_turn = o.value("system_in_first_turn").toBool();
    return s;
}

QString title_from(const QString& text) {
    constexpr qsizetype most = 60;
    QString line;
    // Only the beginning is looked at: the text may be a megabyte in one line.
    for (const QString& candidate : text.left(2000).split(u'\n')) {
        line = candidate.simplified();
        if (!line.isEmpty()) break;
    }
    // Control and bidi-override characters would disturb the list.
    line.removeIf([](QChar c) {
        return c.category() == QChar::Other_Control || (c.unicode() >= 0x202A && c.unicode() <= 0x202E) ||
               (c.unicode() >= 0x2066 && c.unicode() <= 0x2069);
    });
    if (line.size() <= most) return line;
    QTextBoundaryFinder words(QTextBoundaryFinder::Word, line);
    words.setPosition(most);
    qsizetype cut = words.toPreviousBoundary();
    if (cut < most / 2) {
        QTextBoundaryFinder characters(QTextBoundaryFinder::Grapheme, line);
        characters.setPosition(most);
        cut = characters.isAtBoundary() ? most : characters.toPreviousBoundary();
    }
    return line.left(cut).trimmed() + QChar(0x2026);
}

}  // namespace vitrine::ui
