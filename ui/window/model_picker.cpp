#include "ui/window/model_picker.h"

#include <utility>

#include <QComboBox>
#include <QCoreApplication>
#include <QDir>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QPushButton>
#include <QSpinBox>
#include <QStyledItemDelegate>
#include <QThreadPool>
#include <QTreeView>
#include <QVBoxLayout>

#include "ui/models/figures.h"
#include "ui/settings/theme.h"
#include "ui/window/model_finder.h"
#include "ui/window/model_table.h"

namespace vitrine::ui {
namespace {

// The fit by colour and word, broken rows in the second colour.
class FitDelegate : public QStyledItemDelegate {
  public:
    using QStyledItemDelegate::QStyledItemDelegate;

  protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        const Theme& theme = current_theme();
        QColor ink = theme.text;
        if (!index.data(ModelTable::ProblemRole).toString().isEmpty()) {
            ink = theme.text_second;
        } else if (index.column() == ModelTable::FitColumn) {
            switch (index.data(ModelTable::KindRole).toInt()) {
                case ModelFit::Fits: ink = theme.good; break;
                case ModelFit::Shortened: ink = theme.caution; break;
                case ModelFit::TooLarge: ink = theme.bad; break;
                default: break;
            }
        }
        for (const auto role : {QPalette::Text, QPalette::HighlightedText})
            option->palette.setColor(role, ink);
    }
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        QSize size = QStyledItemDelegate::sizeHint(option, index);
        size.setHeight(std::max(size.height(), current_theme().metrics.row));
        return size;
    }
};

}  // namespace

ModelPicker::ModelPicker(std::vector<ModelPlace> places, const Conditions& conditions, QWidget* parent)
    : QDialog(parent), places_(std::move(places)), conditions_(conditions) {
    setWindowTitle(tr("Models"));
    resize(860, 560);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 14, 16, 14);
    column->setSpacing(10);

    search_ = new QLineEdit(this);
    search_->setPlaceholderText(tr("Search models"));
    search_->setAccessibleName(tr("Search models"));
    search_->setClearButtonEnabled(true);
    column->addWidget(search_);

    table_ = new ModelTable(this);
    filter_ = new ModelTableFilter(this);
    filter_->setSourceModel(table_);
    view_ = new QTreeView(this);
    view_->setAccessibleName(tr("Models of this computer"));
    view_->setModel(filter_);
    view_->setItemDelegate(new FitDelegate(view_));
    view_->setRootIsDecorated(false);
    view_->setUniformRowHeights(true);
    view_->setSortingEnabled(true);
    view_->setAllColumnsShowFocus(true);
    view_->sortByColumn(ModelTable::NameColumn, Qt::AscendingOrder);
    view_->header()->setStretchLastSection(true);
    const int widths[] = {300, 100, 80, 90, 150};
    for (int i = 0; i < 5; ++i) view_->setColumnWidth(i, widths[i]);
    column->addWidget(view_, 1);

    state_ = new QLabel(this);
    state_->setProperty("role", "caption");
    column->addWidget(state_);
    detail_ = new QLabel(this);
    detail_->setWordWrap(true);
    detail_->setTextFormat(Qt::PlainText);
    detail_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    detail_->setMinimumHeight(3 * QFontMetrics(current_theme().fonts.text).lineSpacing() + 6);
    detail_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    detail_->setAccessibleName(tr("About the selected model"));
    column->addWidget(detail_);

    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    const auto caption = [this](const QString& text, QWidget* buddy) {
        auto* label = new QLabel(text, this);
        label->setProperty("role", "caption");
        label->setBuddy(buddy);
        return label;
    };
    context_ = new QSpinBox(this);
    context_->setLocale(QLocale::c());
    context_->setRange(0, 10'000'000);
    context_->setSingleStep(1024);
    context_->setSpecialValueText(tr("as trained"));
    context_->setValue(conditions_.options.context);
    context_->setAccessibleName(tr("Context"));
    context_->setToolTip(tr("Most tokens of one conversation. More needs more memory for the KV cache."));
    dtype_ = new QComboBox(this);
    for (const DType type : {DType::F16, DType::BF16, DType::F32})
        dtype_->addItem(QString::fromStdString(std::string(info_of(type).name)), static_cast<int>(type));
    dtype_->setCurrentIndex(std::max(0, dtype_->findData(static_cast<int>(conditions_.options.kv_dtype))));
    dtype_->setAccessibleName(tr("Precision of the KV cache"));
    open_ = new QPushButton(tr("Open"), this);
    open_->setProperty("role", "primary");
    open_->setDefault(true);
    auto* file = new QPushButton(tr("File…"), this);
    file->setToolTip(tr("A GGUF file that is somewhere else"));
    auto* folder = new QPushButton(tr("Folder…"), this);
    folder->setToolTip(tr("A Hugging Face folder that is somewhere else"));
    auto* close = new QPushButton(tr("Close"), this);
    for (QPushButton* button : {file, folder, close}) button->setAutoDefault(false);
    row->addWidget(caption(tr("Context"), context_));
    row->addWidget(context_);
    row->addWidget(caption(tr("KV cache"), dtype_));
    row->addWidget(dtype_);
    row->addStretch(1);
    row->addWidget(file);
    row->addWidget(folder);
    row->addWidget(close);
    row->addWidget(open_);
    column->addLayout(row);

    connect(search_, &QLineEdit::textChanged, filter_, &ModelTableFilter::set_text);
    connect(view_->selectionModel(), &QItemSelectionModel::currentChanged, this, &ModelPicker::show_detail);
    connect(table_, &QAbstractItemModel::dataChanged, this, &ModelPicker::show_detail);
    connect(view_, &QTreeView::activated, this, &ModelPicker::open_current);
    connect(open_, &QPushButton::clicked, this, &ModelPicker::open_current);
    connect(close, &QPushButton::clicked, this, &QDialog::reject);
    connect(file, &QPushButton::clicked, this, [this] {
        reject();
        emit file_wanted();
    });
    connect(folder, &QPushButton::clicked, this, [this] {
        reject();
        emit folder_wanted();
    });
    connect(context_, &QSpinBox::valueChanged, this, &ModelPicker::apply_conditions);
    connect(dtype_, &QComboBox::currentIndexChanged, this, &ModelPicker::apply_conditions);
    show_detail();
    begin_search();
    search_->setFocus();
}

ModelPicker::~ModelPicker() { *cancel_ = true; }

// On a thread of the pool: disks can be slow and folders large. What is found comes over one by one.
void ModelPicker::begin_search() {
    cancel_ = std::make_shared<std::atomic<bool>>(false);
    state_->setText(tr("Looking for models …"));
    QThreadPool::globalInstance()->start([picker = QPointer<ModelPicker>(this), cancel = cancel_,
                                          places = places_, device = conditions_.device] {
        const auto over = [&](auto run) {
            QMetaObject::invokeMethod(
                QCoreApplication::instance(),
                [picker, run = std::move(run)] {
                    if (picker) run(picker.data());
                },
                Qt::QueuedConnection);
        };
        const std::uint64_t free = free_memory(device);
        over([free](ModelPicker* p) {
            p->free_ = free;
            p->apply_conditions();
        });
        look_for_models(places, *cancel, [&](ModelLook look) {
            over([look = std::move(look)](ModelPicker* p) {
                p->table_->add(look);
                if (!p->view_->currentIndex().isValid() || look.path == p->conditions_.open_path) {
                    for (int row = 0; row < p->filter_->rowCount(); ++row)
                        if (p->filter_->index(row, 0).data(ModelTable::PathRole).toString() == look.path)
                            p->view_->setCurrentIndex(p->filter_->index(row, 0));
                }
            });
        });
        over([](ModelPicker* p) {
            const int rows = p->table_->rowCount();
            p->state_->setText(
                rows == 0   ? tr("No models were found. Open a file, or name a folder in the settings.")
                : rows == 1 ? tr("1 model")
                            : tr("%1 models").arg(rows));
            emit p->searched();
        });
    });
}

void ModelPicker::apply_conditions() {
    conditions_.options.context = context_->value();
    conditions_.options.kv_dtype = static_cast<DType>(dtype_->currentData().toInt());
    table_->set_conditions(conditions_.options, free_ == 0 ? 0 : free_ + conditions_.given_back);
    show_detail();
}

QString ModelPicker::detail() const { return detail_->text(); }

void ModelPicker::show_detail() {
    const QModelIndex index = view_->currentIndex();
    if (!index.isValid()) {
        detail_->setText({});
        open_->setEnabled(false);
        return;
    }
    const int row = filter_->mapToSource(index).row();
    const ModelLook& look = table_->look(row);
    QStringList lines{QDir::toNativeSeparators(look.path)};
    if (look.parameters > 0)
        lines << tr("%1 parameters, trained for %2 tokens")
                     .arg(count_text(static_cast<qint64>(look.parameters)),
                          count_text(look.config ? look.config->context : 0));
    lines << ModelTable::fit_sentence(look, table_->fit(row));
    detail_->setText(lines.join(u'\n'));
    // One that seems too large may be tried: what is free changes, and the engine says what is missing.
    open_->setEnabled(look.problem.isEmpty());
}

void ModelPicker::open_current() {
    const QModelIndex index = view_->currentIndex();
    if (!index.isValid() || !index.data(ModelTable::ProblemRole).toString().isEmpty()) return;
    const QString path = index.data(ModelTable::PathRole).toString();
    accept();
    emit chosen(path);
}

}  // namespace vitrine::ui
