// Chats as files: Markdown for people, JSON for this program and others.
//
// JSON of ours ("format": "vitrine-chat", version 1) holds the whole tree of each chat with its settings and
// figures. Read are it and lists of {"role", "content"} as many programs write them, alone or under
// "messages". What is read gets ids of its own, so that nothing that is there is ever overwritten.
#pragma once

#include <vector>

#include <QByteArray>
#include <QString>

#include "ui/models/message.h"

namespace vitrine::ui {

struct ExportedChat {
    Chat chat;
    std::vector<Message> messages;  // of all branches
};

// The shown path, one heading a message.
QString chat_to_markdown(const ExportedChat& exported);
QByteArray chats_to_json(const std::vector<ExportedChat>& chats);

struct ImportedChats {
    std::vector<ExportedChat> chats;
    QString problem;  // one sentence; then there are no chats
};
// Never trusts the file: unknown keys are passed over, messages without a parent that is there are left out.
ImportedChats chats_from_json(const QByteArray& json);

// "Why tides come twice a day" as the name of a file, without an ending; never empty.
QString file_name_of(const QString& title);

constexpr qint64 largest_import = 256LL << 20;  // bytes

}  // namespace vitrine::ui
