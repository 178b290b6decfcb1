#include "ui/panels/kv_calculator.h"

#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSpinBox>

#include "ui/plot/figure_format.h"

namespace vitrine::ui {

KvCalculator::KvCalculator(QWidget* parent) : QWidget(parent) {
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(8);
    grid->setVerticalSpacing(2);
    const QString names[fields] = {tr("layers"), tr("KV heads"), tr("head size"), tr("length, tokens"),
                                   tr("batch")};
    const QString hints[fields] = {
        tr("Layers that have keys and values of their own."),
        tr("Heads of keys and values. Grouped-query attention has fewer of them than query heads."),
        tr("Numbers of one key or value vector of one head."), tr("Tokens of one sequence."),
        tr("Sequences of that length at once.")};
    constexpr int most[fields] = {1024, 4096, 4096, 100'000'000, 1'000'000};
    const auto caption = [this](const QString& text) {
        auto* label = new QLabel(text, this);
        label->setProperty("role", "caption");
        return label;
    };
    for (int i = 0; i < fields; ++i) {
        auto* box = new QSpinBox(this);
        box->setRange(1, most[i]);
        box->setLocale(QLocale::c());
        box->setAccessibleName(names[i]);
        box->setToolTip(hints[i]);
        box->setButtonSymbols(QAbstractSpinBox::NoButtons);
        box->setMinimumWidth(48);
        fields_[i] = box;
        QLabel* name = caption(names[i]);
        name->setBuddy(box);
        grid->addWidget(name, i / 3 * 2, i % 3);
        grid->addWidget(box, i / 3 * 2 + 1, i % 3);
        connect(box, qOverload<int>(&QSpinBox::valueChanged), this, [this] {
            touched_ = true;
            recompute();
        });
    }
    dtype_ = new QComboBox(this);
    dtype_->addItems({QStringLiteral("F32"), QStringLiteral("F16"), QStringLiteral("BF16")});
    dtype_->setAccessibleName(tr("Type of the numbers"));
    dtype_->setToolTip(tr("Type of the numbers in the cache: 4 or 2 bytes each."));
    grid->addWidget(caption(tr("type")), 2, 2);
    grid->addWidget(dtype_, 3, 2);
    connect(dtype_, &QComboBox::currentIndexChanged, this, [this] {
        touched_ = true;
        recompute();
    });
    for (int column = 0; column < 3; ++column) grid->setColumnStretch(column, 1);
    formula_ = new QLabel(this);
    formula_->setWordWrap(true);
    formula_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    grid->addWidget(formula_, 4, 0, 1, 3);
    model_ = caption({});
    model_->setWordWrap(true);
    grid->addWidget(model_, 5, 0, 1, 2);
    reset_ = new QPushButton(tr("As loaded"), this);
    reset_->setProperty("role", "flat");
    reset_->setToolTip(tr("The sizes of the loaded model again"));
    grid->addWidget(reset_, 5, 2, Qt::AlignRight | Qt::AlignTop);
    connect(reset_, &QPushButton::clicked, this, [this] {
        touched_ = false;
        put(question_of(facts_), facts_.kv_dtype);
    });
    put({.layers = 30, .kv_heads = 3, .head_dim = 64, .length = 8192, .batch = 1, .bytes = 2},
        QStringLiteral("F16"));
}

void KvCalculator::put(const KvShapeQuestion& q, const QString& dtype) {
    const std::int64_t values[fields] = {q.layers, q.kv_heads, q.head_dim, q.length, q.batch};
    for (int i = 0; i < fields; ++i) {
        const QSignalBlocker quiet(fields_[i]);
        fields_[i]->setValue(static_cast<int>(values[i]));
    }
    const QSignalBlocker quiet(dtype_);
    dtype_->setCurrentText(dtype);
    recompute();
}

void KvCalculator::set_facts(const MemoryFacts& facts) {
    const bool same = facts.layers == facts_.layers && facts.kv_heads == facts_.kv_heads &&
                      facts.head_dim == facts_.head_dim && facts.context == facts_.context &&
                      facts.kv_dtype == facts_.kv_dtype && facts.blocks == facts_.blocks;
    facts_ = facts;
    if (same) return;
    if (!touched_ && facts_.valid() && facts_.layers > 0) {
        put(question_of(facts_), facts_.kv_dtype);
    } else {
        recompute();
    }
}

KvShapeQuestion KvCalculator::question() const {
    return {.layers = fields_[0]->value(),
            .kv_heads = fields_[1]->value(),
            .head_dim = fields_[2]->value(),
            .length = fields_[3]->value(),
            .batch = fields_[4]->value(),
            .bytes = kv_number_bytes(dtype_->currentText())};
}

QString KvCalculator::formula() const { return formula_->text(); }
QString KvCalculator::of_model() const { return model_->text(); }

void KvCalculator::recompute() {
    const KvShapeQuestion q = question();
    formula_->setText(tr("2 × %1 layers × %2 KV heads × %3 × %4 bytes = %5 a token; × %6 tokens × %7 = %8")
                          .arg(format_count(q.layers), format_count(q.kv_heads), format_count(q.head_dim),
                               format_count(q.bytes), format_bytes(q.bytes_per_token()),
                               format_count(q.length), format_count(q.batch), format_bytes(q.total())));
    formula_->setAccessibleName(formula_->text());
    const bool known = facts_.valid() && facts_.layers > 0;
    reset_->setVisible(known);
    reset_->setEnabled(known && q != question_of(facts_));
    model_->setVisible(known);
    if (known) {
        const std::uint64_t token = question_of(facts_).bytes_per_token();
        model_->setText(tr("Loaded: %1 a token, %2 blocks of %3 tokens = %4")
                            .arg(format_bytes(token), format_count(facts_.blocks),
                                 format_count(facts_.block_size), format_bytes(facts_.kv)));
    }
    emit changed();
}

}  // namespace vitrine::ui
