// MainWindow: what is known of tokens goes to the chat, and chat and KV panel point at each other.
#include <QDesktopServices>
#include <QMenu>

#include "ui/chat/chat_page.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/coloring_bar.h"
#include "ui/chat/find_bar.h"
#include "ui/models/figures.h"
#include "ui/panels/kv_panel.h"
#include "ui/window/main_window.h"
#include "ui/window/panel_docks.h"

namespace vitrine::ui {

// Where a place of a message lies in the pool. physical −1: not in the pool any more.
MainWindow::CachePlace MainWindow::cache_place(qint64 message, qint32 offset) const {
    CachePlace place;
    place.logical = recorder_.sequences().block_of(current_, message, offset, recorder_.path_of(current_));
    const SequenceView* sequence = panels_->kv()->model().sequence_of(current_);
    if (place.logical < 0 || sequence == nullptr) return place;
    const int at = place.logical - sequence->given_back;
    if (at >= 0 && at < static_cast<int>(sequence->blocks.size()))
        place.physical = sequence->blocks[static_cast<std::size_t>(at)];
    return place;
}

void MainWindow::connect_tokens() {
    ChatView* view = page_->view();
    KvPanel* kv = panels_->kv();
    view->set_traces(recorder_.traces());
    view->set_block_of([this](qint64 message, qint32 offset) {
        const CachePlace place = cache_place(message, offset);
        if (place.logical < 0) return QString();
        const QString logical = tr("logical %1").arg(count_text(place.logical));
        return place.physical < 0 ? tr("%1, not in the cache now").arg(logical)
                                  : tr("%1 → physical %2").arg(logical, count_text(place.physical));
    });
    connect(view, &ChatView::token_inspected, this, [this, kv](qint64 message, int token, qint32 offset) {
        kv->highlight_block(token < 0 ? -1 : cache_place(message, offset).physical);
    });
    connect(kv, &KvPanel::block_clicked, this, [this, view](int block, qint64 session, int logical) {
        // A second click takes the marks away again.
        if (block < 0 || logical < 0 || session != current_) return view->set_marks({});
        auto marks = recorder_.sequences().block_ranges(session, logical, recorder_.path_of(session));
        if (marks == view->marks()) marks.clear();
        view->set_marks(std::move(marks));
    });
    view->set_branching(true);
    connect(view, &ChatView::branch_requested, this,
            [this](qint64 message, int token, qint32 id, const QByteArray& bytes) {
                const TokenTrace* trace = recorder_.traces()->find(message);
                const ChatModel* chat = controller_.chat(current_);
                if (trace == nullptr || chat == nullptr || !chat->conversation().contains(message)) return;
                const TokenTrace beginning = trace->branched(token, id);
                const QString text = chat->conversation().at(message).text.left(trace->begin(token)) +
                                     QString::fromUtf8(bytes);
                page_->view()->close_inspector();
                if (const qint64 made = controller_.branch(current_, message, text); made != 0) {
                    recorder_.traces()->put(made, beginning);
                    page_->view()->scroll_to_end();
                }
            });
    connect(view, &ChatView::link_activated, this, [](const QUrl& url) { QDesktopServices::openUrl(url); });
    connect(view, &ChatView::stop_requested, this, [this] { controller_.stop(current_); });
}

void MainWindow::build_reading_actions(QMenu* menu) {
    add_action(menu, tr("Find in the chat"), QKeySequence::Find, [this] { page_->find_bar()->open(); });
    add_action(menu, tr("Next place found"), QKeySequence(Qt::Key_F3),
               [this] { page_->view()->find_step(1); });
    add_action(menu, tr("Place found before"), QKeySequence(tr("Shift+F3")),
               [this] { page_->view()->find_step(-1); });
    add_action(menu, tr("Look into a token"), QKeySequence(tr("Ctrl+Shift+I")), [this] {
        if (page_->view()->inspect_last()) page_->view()->setFocus();
    });
    add_action(menu, tr("Colour tokens by the next"), QKeySequence(tr("Ctrl+Shift+T")),
               [this] { page_->coloring_bar()->step(); });
}

// The innermost thing that is open over the text; false: there was none.
bool MainWindow::close_over_text() {
    if (page_->view()->inspector_open()) {
        page_->view()->close_inspector();
        return true;
    }
    if (page_->find_bar()->isVisible()) {
        page_->find_bar()->close();
        return true;
    }
    return false;
}

}  // namespace vitrine::ui
