// One message as ChatView keeps it. Private to the view.
#pragma once

#include <vector>

#include <QRectF>
#include <QStringList>

#include "ui/chat/chat_view.h"

namespace vitrine::ui {

struct ChatView::Action {
    enum What { None, Copy, Regenerate, Continue, Stop, Edit, Earlier, Later };
    What what = Copy;
    qint64 message = 0;
    QString text;
    QRectF rect;  // in the coordinates of the content
    bool enabled = true;
    bool always = false;  // also where the mouse is not over the message
};

struct ChatView::Row {
    explicit Row(bool plain) : text(plain) {}
    qint64 id = 0;
    Role role = Role::User;
    MessageState state = MessageState::Complete;
    MessageText text;
    QStringList stats;
    QString error;
    QString branch;  // "2 / 3"
    double y = 0;    // in the coordinates of the content
    double height = 0;
    double error_height = 0;
    std::vector<Action> actions;

    bool user() const { return role == Role::User; }
};

// What the measures of the drawing are, in pixels.
namespace chat_measures {
constexpr double top = 20;
constexpr double bottom = 24;
constexpr double between = 20;
constexpr double side = 28;      // beside the column, at least
constexpr double bubble_x = 12;  // padding of the user's message
constexpr double bubble_y = 8;
constexpr double footer = 30;  // under an answer: its figures and what can be done with it
constexpr double user_footer = 0;
}  // namespace chat_measures

}  // namespace vitrine::ui
