#include "ui/window/status_strip.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <QHelpEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>

#include "ui/models/figures.h"
#include "ui/settings/tabular.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

constexpr double side = 12;
constexpr double between = 20;
constexpr double bar_width = 200;

}  // namespace

StatusStrip::StatusStrip(QWidget* parent) : QStatusBar(parent) {
    setSizeGripEnabled(false);
    setFixedHeight(28);
    setAccessibleName(tr("Device, speed, memory"));
    connect(theme_signal(), &ThemeSignal::changed, this, [this] { update(); });
    since_.start();
}

void StatusStrip::set_model(const ModelInfo& info) {
    info_ = info;
    setToolTip(info.device_note);
    tok_s_.reset();
    gb_s_.reset();
    setAccessibleDescription(text());
    update();
}

void StatusStrip::set_speed(std::optional<double> tok_s, std::optional<double> gb_s, double read_gb_s) {
    if (since_.elapsed() < current_theme().metrics.figure_update_ms && tok_s_) return;
    since_.restart();
    tok_s_ = tok_s;
    gb_s_ = gb_s;
    read_gb_s_ = read_gb_s;
    setAccessibleDescription(text());
    update();
}

std::vector<StatusStrip::Piece> StatusStrip::left_pieces() const {
    std::vector<Piece> pieces;
    if (!info_.valid()) {
        pieces.push_back({{}, tr("No model is loaded")});
        return pieces;
    }
    const qsizetype space = info_.device.indexOf(u' ');
    pieces.push_back(space > 0 ? Piece{info_.device.left(space), info_.device.mid(space + 1)}
                               : Piece{info_.device, {}});
    pieces.push_back({tok_s_ ? figure_text(*tok_s_) : QStringLiteral("–"), tr("tok/s")});
    QString share;
    if (gb_s_ && read_gb_s_ > 0)
        share = tr(" · %1 % of measured read bandwidth").arg(figure_text(100 * *gb_s_ / read_gb_s_));
    pieces.push_back({gb_s_ ? figure_text(*gb_s_) + tr(" GB/s") : QStringLiteral("– GB/s"), share.trimmed()});
    return pieces;
}

QString StatusStrip::text() const {
    QStringList parts;
    for (const Piece& piece : left_pieces()) parts << (piece.strong + u' ' + piece.plain).trimmed();
    if (info_.valid())
        parts << tr("weights %1, KV %2, workspace %3")
                     .arg(bytes_text(info_.weights_bytes), bytes_text(info_.kv_bytes),
                          bytes_text(info_.workspace_bytes));
    return parts.join(QStringLiteral(", "));
}

void StatusStrip::paintEvent(QPaintEvent*) {
    const Theme& theme = current_theme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillRect(rect(), theme.surface);
    painter.fillRect(QRect(0, 0, width(), 1), theme.hairline);
    const QFont& plain = theme.fonts.caption;
    QFont strong = plain;
    strong.setWeight(QFont::DemiBold);
    const double base = std::round(height() / 2.0 + QFontMetricsF(plain).capHeight() / 2) + 0.5;

    // Memory at the right: it is there as long as the window is wide enough for both.
    double right = width() - side;
    if (info_.valid()) {
        const std::uint64_t taken = info_.weights_bytes + info_.kv_bytes + info_.workspace_bytes;
        const std::uint64_t pool = info_.kv_bytes + info_.workspace_bytes;
        const std::uint64_t left = info_.free_bytes > pool ? info_.free_bytes - pool : 0;
        const QString free = tr("free %1").arg(bytes_text(left));
        const double free_width = tabular_width(free, plain);
        painter.setPen(theme.text_second);
        draw_tabular(painter, QPointF(right - free_width, base), free, plain);
        right -= free_width + 12;
        if (width() > 760) {
            const QRectF bar(right - bar_width, height() / 2.0 - 3, bar_width, 6);
            QPainterPath round;
            round.addRoundedRect(bar, 3, 3);
            painter.fillPath(round, theme.plot_grid);
            painter.setClipPath(round);
            const double all = static_cast<double>(taken + left);
            double x = bar.left();
            // Shades of one colour: sequence colours mean sequences and nothing else.
            const std::array<std::pair<std::uint64_t, double>, 3> parts{
                {{info_.weights_bytes, 1.0}, {info_.kv_bytes, 0.65}, {info_.workspace_bytes, 0.35}}};
            for (const auto& [bytes, shade] : parts) {
                if (bytes == 0 || all <= 0) continue;
                const double w = std::max(2.0, static_cast<double>(bytes) / all * bar_width);
                painter.fillRect(QRectF(x, bar.top(), w - 0.5, bar.height()),
                                 mix(theme.surface, theme.accent, shade));
                x += w;
            }
            painter.setClipping(false);
            right -= bar_width + 12;
        }
        const QString memory = tr("weights %1 · KV %2 · workspace %3")
                                   .arg(bytes_text(info_.weights_bytes), bytes_text(info_.kv_bytes),
                                        bytes_text(info_.workspace_bytes));
        const double memory_width = tabular_width(memory, plain);
        if (width() > 1320) {
            painter.setPen(theme.text_second);
            draw_tabular(painter, QPointF(right - memory_width, base), memory, plain);
            right -= memory_width + between;
        }
    }

    double x = side;
    for (const Piece& piece : left_pieces()) {
        const double strong_width = piece.strong.isEmpty() ? 0 : tabular_width(piece.strong, strong) + 5;
        if (x + strong_width + tabular_width(piece.plain, plain) > right) {
            if (x > side) break;
        }
        if (!piece.strong.isEmpty()) {
            painter.setPen(theme.text);
            draw_tabular(painter, QPointF(x, base), piece.strong, strong);
            x += strong_width;
        }
        painter.setPen(theme.text_second);
        draw_tabular(painter, QPointF(x, base), piece.plain, plain);
        x += tabular_width(piece.plain, plain) + between;
    }
}

bool StatusStrip::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip && info_.valid()) {
        QToolTip::showText(
            static_cast<QHelpEvent*>(event)->globalPos(),
            tr("tok/s: tokens of all answers together over the last second of decoding.\n"
               "GB/s: bytes of weights read for these tokens, and their share of what this machine reads "
               "from memory, measured when the model was loaded.\n"
               "Memory: weights %1, KV pool %2, workspace %3.")
                .arg(bytes_text(info_.weights_bytes), bytes_text(info_.kv_bytes),
                     bytes_text(info_.workspace_bytes)),
            this);
        return true;
    }
    return QStatusBar::event(event);
}

}  // namespace vitrine::ui
