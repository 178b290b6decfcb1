// The dock "KV blocks": figures of the pool, the pool itself, the block table of the selected chat, and a
// sentence about the last change. While the panel is hidden a new snapshot is only kept, nothing is computed
// from it.
#pragma once

#include <memory>

#include <QHash>

#include "ui/panels/kv_model.h"
#include "ui/panels/panel.h"
#include "ui/panels/throttle.h"
#include "ui/settings/sequence_colors.h"

namespace vitrine::ui {

class BlockTableView;
class FigureRow;
class KvGridView;

class KvPanel : public Panel {
    Q_OBJECT

  public:
    // `colors` is shared with the chat list and lives longer than the panel.
    explicit KvPanel(SequenceColors* colors, QWidget* parent = nullptr);

    const KvModel& model() const { return model_; }
    KvGridView* grid() { return grid_; }
    BlockTableView* table() { return table_; }
    FigureRow* figure_row() { return figures_; }
    // How often figures and pictures were computed; a hidden panel does not count on.
    int refreshes() const { return refreshes_; }
    bool timers_running() const { return refresh_.pending() || figure_refresh_.pending(); }
    // Shows everything known so far at once, for screenshots. Nothing where the panel is hidden.
    void bring_up_to_date() override;

    // Answer to text_wanted(): the text of a block's tokens, empty where it is not known.
    void set_block_text(int block, qint64 iteration, const QString& text);

    // One row a block.
    QString csv() const override;

  public slots:
    // Null: no model is loaded.
    void set_snapshot(std::shared_ptr<const vitrine::KvSnapshot> snapshot) override;
    void append(const std::vector<vitrine::Record>& records) override;
    // Whose a request is, see LatencyPanel.
    void set_request_session(qint64 request, qint64 session) override;
    // Whose block table is shown; 0: no chat.
    void set_selected(qint64 session) override;
    // Titles of the chats, by session.
    void set_names(const QHash<qint64, QString>& names) override;
    void set_paused(bool paused) override;
    // Marks a block from outside (a token was clicked in the chat); −1: none.
    void highlight_block(int block);

  signals:
    // session 0 and logical −1 where the block is in no table.
    void block_clicked(int block, qint64 session, int logical);
    // Somebody points at a block: what do its tokens say?
    void text_wanted(int block);

  protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

  private:
    void refresh();  // grid, table, sentence
    void refresh_figures();
    void show_subtitle();
    void show_table();
    void click(std::int32_t block, std::int32_t logical_in_table);
    QString name_of_sequence(SequenceKey key) const;
    QString told(const std::string& change) const;
    QString describe(std::int32_t first, std::int32_t end) const;

    KvModel model_;
    SequenceColors* colors_;
    std::shared_ptr<const KvSnapshot> latest_;
    qint64 selected_ = 0;
    bool paused_ = false;
    QHash<qint64, QString> names_;
    SequenceKey shown_ = no_sequence;  // whose table, where it is not the selected chat's
    int text_block_ = -1;
    qint64 text_iteration_ = -1;
    QString text_;
    FigureRow* figures_;
    KvGridView* grid_;
    BlockTableView* table_;
    Throttle refresh_;
    Throttle figure_refresh_;
    int refreshes_ = 0;
};

}  // namespace vitrine::ui
