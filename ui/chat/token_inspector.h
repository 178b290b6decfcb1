// What is known of one token, beside the text: its candidates with their probabilities, rank, time, origin
// and place in the KV cache. A card over the conversation that never takes the keyboard by itself: ChatView
// hands it the keys. As text for screen readers: accessibleDescription.
#pragma once

#include <vector>

#include <QFrame>

#include "ui/models/token_trace.h"

class QLabel;
class QPushButton;

namespace vitrine::ui {

// The candidates as rows: text, bar, the model's probability, the probability it was drawn with.
class CandidateList : public QWidget {
    Q_OBJECT

  public:
    struct Entry {
        qint32 id = 0;
        QString text;
        double probability = -1;  // the model's own; −1: not among the most probable
        double drawn = -1;        // after the sampler's settings; −1: not known
        bool chosen = false;
    };

    explicit CandidateList(QWidget* parent = nullptr);
    void set_entries(std::vector<Entry> entries, int selected);
    const std::vector<Entry>& entries() const { return entries_; }
    int selected() const { return selected_; }
    void select(int row);
    QRect row_rect(int row) const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

  signals:
    void selected_changed(int row);
    void activated(int row);

  protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;

  private:
    int row_height() const;
    int first_row() const;  // that is shown, where not all have room
    int row_at(const QPoint& point) const;
    std::vector<Entry> entries_;
    int selected_ = -1;
};

class TokenInspector : public QFrame {
    Q_OBJECT

  public:
    explicit TokenInspector(QWidget* parent = nullptr);

    // block: where it lies in the KV cache, for people; empty: not known.
    void show_token(const TokenTrace& trace, int index, const QString& block, bool can_branch);
    void select_step(int by);
    void branch();

    CandidateList* list() { return list_; }
    QPushButton* branch_button() { return branch_; }
    QString title() const;
    QString value(const QString& name) const;  // of a figure, for tests

  signals:
    void branch_requested(qint32 id, const QByteArray& bytes);
    void close_requested();

  protected:
    void paintEvent(QPaintEvent* event) override;
    // Nothing of the mouse reaches the text below.
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;

  private:
    void show_branch();

    QLabel* title_;
    QLabel* number_;
    QLabel* probability_;
    QLabel* log_probability_;
    QLabel* time_;
    QLabel* rank_;
    QLabel* origin_;
    QLabel* block_;
    QLabel* columns_;
    CandidateList* list_;
    QPushButton* branch_;
    std::vector<QByteArray> bytes_;  // of the candidates
    std::vector<bool> can_begin_;    // of the candidates: has a text of its own
    qint32 chosen_ = 0;
    bool can_branch_ = false;
    qint64 shown_ = -1;  // which token, so that a refresh keeps the selected candidate
};

}  // namespace vitrine::ui
