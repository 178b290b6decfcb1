// The docks: closed and opened by keys, floated, remembered, reset; what nobody sees is not fed.
#include <QDockWidget>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

#include "tests/ui/fake_backend.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/composer.h"
#include "ui/panels/batch_panel.h"
#include "ui/panels/kv_panel.h"
#include "ui/panels/latency_panel.h"
#include "ui/panels/memory_panel.h"
#include "ui/window/main_window.h"

using namespace vitrine;
using namespace vitrine::ui;

namespace {

std::unique_ptr<MainWindow> open(const QString& folder, const std::shared_ptr<FakePlan>& plan,
                                 const QSize& size = {1440, 900}) {
    Options options;
    options.model = QStringLiteral("/fake.gguf");
    options.size = size;
    auto window = std::make_unique<MainWindow>(options, folder, std::make_unique<FakeBackend>(plan));
    window->show();
    (void)QTest::qWaitForWindowExposed(window.get());
    QSignalSpy ready(window.get(), &MainWindow::model_ready);
    window->open_first_model();
    if (ready.isEmpty()) ready.wait(20'000);
    return window;
}

}  // namespace

class TestPanelDocks : public QObject {
    Q_OBJECT

  private slots:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        plan_ = std::make_shared<FakePlan>();
    }

    void each_has_a_key_a_title_and_exports() {
        auto window = open(folder_->path(), plan_);
        const auto& docks = window->panels()->docks();
        QCOMPARE(docks.size(), window->panels()->panels().size());
        QSet<QString> names;
        for (std::size_t i = 0; i < docks.size(); ++i) {
            const auto key = static_cast<Qt::Key>(Qt::Key_1 + static_cast<int>(i));
            QVERIFY(!docks[i]->isHidden());
            QTest::keyClick(window.get(), key, Qt::ControlModifier);
            QVERIFY2(docks[i]->isHidden(), qPrintable(docks[i]->objectName()));
            QTest::keyClick(window.get(), key, Qt::ControlModifier);
            QVERIFY(!docks[i]->isHidden());
            names.insert(docks[i]->objectName());
            Panel* panel = window->panels()->panels()[i];
            QCOMPARE(docks[i]->windowTitle(), panel->title());
            QVERIFY(!panel->accessibleName().isEmpty());
            const QString png = folder_->filePath(docks[i]->objectName() + QStringLiteral(".png"));
            QVERIFY(panel->save_png(png));
            QVERIFY(!QImage(png).isNull());
            const QString csv = folder_->filePath(docks[i]->objectName() + QStringLiteral(".csv"));
            QVERIFY(panel->save_csv(csv));
            QFile file(csv);
            QVERIFY(file.open(QIODevice::ReadOnly) && file.readLine().contains(','));
        }
        QCOMPARE(names.size(), static_cast<qsizetype>(docks.size()));
    }

    void layout_is_remembered_and_can_be_reset() {
        {
            auto window = open(folder_->path(), plan_);
            const auto& docks = window->panels()->docks();
            docks[0]->hide();
            docks[1]->setFloating(true);
            window->close();
        }
        auto window = open(folder_->path(), plan_);
        const auto& docks = window->panels()->docks();
        QVERIFY(docks[0]->isHidden());
        QVERIFY(docks[1]->isFloating());
        window->panels()->reset();
        QVERIFY(!docks[0]->isHidden());
        QVERIFY(!docks[1]->isFloating());
    }

    // A panel behind another one's tab costs as little as a closed one.
    void a_covered_panel_is_not_fed() {
        plan_->endless = true;
        plan_->step_us = 500;
        auto window = open(folder_->path(), plan_);
        BatchPanel* batch = window->panels()->batch();
        MemoryPanel* memory = window->panels()->memory();
        QVERIFY(batch->isVisible() != memory->isVisible());
        Panel* covered = batch->isVisible() ? static_cast<Panel*>(memory) : batch;
        const int before = covered == memory ? memory->refreshes() : batch->refreshes();
        window->page()->composer()->set_text(QStringLiteral("q"));
        window->chats().send(window->current_chat(), QStringLiteral("q"));
        QTest::qWait(400);
        QCOMPARE(covered == memory ? memory->refreshes() : batch->refreshes(), before);
        for (QDockWidget* dock : window->panels()->docks()) dock->hide();
        QCoreApplication::processEvents();
        QVERIFY(!window->panels()->any_visible());
        window->panels()->docks().back()->show();
        window->panels()->docks().back()->raise();
        QTRY_VERIFY(window->panels()->any_visible());
        window->chats().stop(window->current_chat());
        QTRY_VERIFY(!window->chats().answering());
    }

    // Nothing overlaps and nothing makes the window larger than the screen.
    void small_windows_scroll_their_panels() {
        for (const QSize size : {QSize(900, 480), QSize(1024, 600), QSize(1440, 900)}) {
            QTemporaryDir folder;
            auto window = open(folder.path(), plan_, size);
            QCoreApplication::processEvents();
            QCOMPARE(window->size(), size);
            QRect before;
            for (const QDockWidget* dock : window->panels()->docks()) {
                if (!dock->isVisible() || dock->visibleRegion().isEmpty()) continue;
                const QRect now = dock->geometry();
                QVERIFY2(window->rect().contains(now), qPrintable(dock->objectName()));
                QVERIFY2(!now.intersects(before), qPrintable(dock->objectName()));
                before = now;
            }
            const QWidget* composer = window->page()->composer();
            QVERIFY(window->rect().contains(
                QRect(composer->mapTo(window.get(), QPoint(0, 0)), composer->size())));
        }
    }

  private:
    std::unique_ptr<QTemporaryDir> folder_;
    std::shared_ptr<FakePlan> plan_;
};

QTEST_MAIN(TestPanelDocks)
#include "tst_panel_docks.moc"
