#include "ui/chat/composer_edit.h"

#include <algorithm>
#include <cmath>

#include <QAbstractTextDocumentLayout>
#include <QCoreApplication>
#include <QInputMethodEvent>
#include <QKeyEvent>
#include <QMimeData>
#include <QScrollBar>
#include <QUrl>

namespace vitrine::ui {
namespace {

constexpr int most_lines = 9;

}  // namespace

ComposerEdit::ComposerEdit(QWidget* parent) : QPlainTextEdit(parent) {
    setTabChangesFocus(true);
    setFrameShape(QFrame::NoFrame);
    setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    document()->setDocumentMargin(2);
    // Height follows the text; the document only says how many lines it has once it is laid out.
    connect(document()->documentLayout(), &QAbstractTextDocumentLayout::documentSizeChanged, this,
            [this] { fit(); });
}

QSize ComposerEdit::sizeHint() const {
    const int line = QFontMetrics(font()).lineSpacing();
    return {200, std::clamp(lines_, 1, most_lines) * line + 10};
}

void ComposerEdit::fit() {
    const int lines = static_cast<int>(std::lround(document()->size().height()));
    if (lines == lines_) return;
    lines_ = lines;
    updateGeometry();
}

void ComposerEdit::resizeEvent(QResizeEvent* event) {
    QPlainTextEdit::resizeEvent(event);
    fit();
}

void ComposerEdit::keyPressEvent(QKeyEvent* event) {
    const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (enter && !preedit_.isEmpty()) {
        // Enter confirms what the input method shows; it never sends in the same stroke.
        QInputMethodEvent commit;
        commit.setCommitString(preedit_);
        QCoreApplication::sendEvent(this, &commit);
        return;
    }
    if (enter && (event->modifiers() & Qt::ShiftModifier)) {
        insertPlainText(QStringLiteral("\n"));
        ensureCursorVisible();
        return;
    }
    if (enter && !(event->modifiers() & (Qt::AltModifier | Qt::MetaModifier))) {
        emit send_requested();
        return;
    }
    const int by = event->key() == Qt::Key_Up ? -1 : event->key() == Qt::Key_Down ? 1 : 0;
    if (by != 0 && (event->modifiers() & ~Qt::KeypadModifier) == Qt::NoModifier && at_edge(by)) {
        emit recall_requested(by);
        return;
    }
    QPlainTextEdit::keyPressEvent(event);
}

bool ComposerEdit::at_edge(int by) const {
    QTextCursor cursor = textCursor();
    if (by < 0 && !recalling_ && cursor.position() != 0) return false;
    if (by > 0 && !recalling_) return false;
    return !cursor.movePosition(by < 0 ? QTextCursor::Up : QTextCursor::Down);
}

void ComposerEdit::inputMethodEvent(QInputMethodEvent* event) {
    preedit_ = event->preeditString();
    QPlainTextEdit::inputMethodEvent(event);
}

bool ComposerEdit::canInsertFromMimeData(const QMimeData* source) const {
    return source->hasText() || source->hasUrls();
}

void ComposerEdit::insertFromMimeData(const QMimeData* source) {
    if (source->hasUrls()) {
        bool taken = false;
        for (const QUrl& url : source->urls()) {
            if (!url.isLocalFile()) continue;
            taken = true;
            emit file_dropped(url.toLocalFile());
        }
        if (taken) return;
    }
    // Plain text alone: what a web page brings along is not wanted here.
    const QString text = source->text();
    if (text.size() + document()->characterCount() > large) {
        emit pasted_large(text);
    } else {
        insertPlainText(text);
        ensureCursorVisible();
    }
}

}  // namespace vitrine::ui
