// The window's command line.
#pragma once

#include <optional>

#include <QSize>
#include <QString>
#include <QStringList>

namespace vitrine::ui {

struct Options {
    QString model;                // empty: the program chooses
    QStringList new_chats;        // sent one after the other, each in a chat of its own
    QString screenshot;           // PNG to write; empty: an ordinary window
    QSize size;                   // empty: remembered or standard
    std::optional<bool> dark;     // none: as the settings say
    QString data_folder;          // empty: the user's
    int max_tokens = 0;           // of scripted answers; 0: the chat's own
    std::optional<quint64> seed;  // of scripted answers

    bool scripted() const { return !screenshot.isEmpty(); }
};

struct ParsedOptions {
    Options options;
    std::optional<int> exit_code;  // the program has said what it had to say
    QString message;               // to standard output (exit code 0) or standard error
};

// `arguments` with the program's name first. Needs no application object.
ParsedOptions parse_options(const QStringList& arguments);

// Where chats and settings lie: --data-dir, --portable (beside the program) or the user's folders.
QString user_data_folder();

// What Qt is to be told before it starts, and whether there is a display at all.
struct PlatformChoice {
    QByteArray platform;  // for QT_QPA_PLATFORM; empty: Qt's own choice
    QString problem;      // not empty: no window can be opened, and why
};
PlatformChoice choose_platform(bool scripted);

}  // namespace vitrine::ui
