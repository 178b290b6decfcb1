// Settings of a chat and of the application, templates, presets, the list of models, a second start, the log.
#include <thread>

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QListView>
#include <QListWidget>
#include <QLocalSocket>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPointer>
#include <QPushButton>
#include <QScreen>
#include <QSet>
#include <QSettings>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTreeView>
#include <QtTest>

#include "tests/ui/opened_window.h"
#include "ui/chat/chat_settings_card.h"
#include "ui/chat/template_dialog.h"
#include "ui/models/presets.h"
#include "ui/settings/log_file.h"
#include "ui/settings/theme.h"
#include "ui/window/about_dialog.h"
#include "ui/window/model_picker.h"
#include "ui/window/model_table.h"
#include "ui/window/settings_dialog.h"
#include "ui/window/single_instance.h"

using namespace vitrine;
using namespace vitrine::ui;

class TestWindowSettings : public QObject {
    Q_OBJECT

  private slots:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        plan_ = std::make_shared<FakePlan>();
    }

    void presets_are_chosen_saved_and_removed() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        ChatSettingsCard* card = o.window->page()->settings();
        QComboBox* box = card->presets();
        QCOMPARE(box->currentIndex(), 0);  // a new chat begins balanced
        const int greedy = box->findText(QStringLiteral("Greedy"));
        box->setCurrentIndex(greedy);
        emit box->activated(greedy);
        QCOMPARE(o.chat()->chat().settings.temperature, 0.0);
        ChatSettings own = o.chat()->chat().settings;
        own.temperature = 0.33;
        own.top_k = 7;
        card->set_settings(own);
        QCOMPARE(box->currentText(), QStringLiteral("Own settings"));
        o.window->save_preset(QStringLiteral("  Mine \n ü "), own);
        QCOMPARE(box->currentText(), QStringLiteral("Mine ü"));
        o.window->close();
        Opened again(folder_->path(), plan_);
        QComboBox* kept = again.window->page()->settings()->presets();
        QVERIFY(kept->findText(QStringLiteral("Mine ü")) >= 0);
        emit again.window->page()->settings()->remove_preset_requested(QStringLiteral("Mine ü"));
        QVERIFY(kept->findText(QStringLiteral("Mine ü")) < 0);
    }

    void presets_from_a_file_are_bounded() {
        QVERIFY(presets_from_json("no json").empty());
        const auto read = presets_from_json(
            R"([{"name":"","sampler":{}},{"name":"a","sampler":{"temperature":99,"top_k":-4}},)"
            R"({"name":"a","sampler":{}},5])");
        QCOMPARE(read.size(), std::size_t(1));
        QCOMPARE(read[0].temperature, ChatSettings{}.temperature);
        QCOMPARE(read[0].top_k, ChatSettings{}.top_k);
    }

    void switches_of_the_template_have_three_states() {
        plan_->switches = {QStringLiteral("enable_thinking")};
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        const auto boxes = o.window->page()->settings()->switches();
        QCOMPARE(boxes.size(), std::size_t(1));
        QCOMPARE(boxes[0]->checkState(), Qt::PartiallyChecked);  // as the template decides
        o.type_and_send(QStringLiteral("q"));
        QTRY_VERIFY(o.idle());
        QVERIFY(plan_->wishes.back().switches.empty());
        boxes[0]->setCheckState(Qt::Unchecked);
        o.type_and_send(QStringLiteral("q"));
        QTRY_VERIFY(o.idle());
        QCOMPARE(plan_->wishes.back().switches.size(), std::size_t(1));
        QCOMPARE(plan_->wishes.back().switches[0], std::pair(std::string("enable_thinking"), false));
        boxes[0]->setCheckState(Qt::PartiallyChecked);
        QVERIFY(o.chat()->chat().settings.switches.isEmpty());
    }

    void a_template_is_shown_rendered_checked_and_used() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.type_and_send(QStringLiteral("Why tides?"));
        QTRY_VERIFY(o.idle());
        QPointer<TemplateDialog> dialog = o.window->show_template();
        QVERIFY(dialog);
        QTRY_VERIFY(dialog->preview()->toPlainText().contains(QStringLiteral("user: Why tides?")));
        QCOMPARE(dialog->editor()->toPlainText(), QStringLiteral("{{ messages }}"));
        dialog->editor()->setPlainText(QStringLiteral("{%% broken"));
        QVERIFY(!dialog->use_button()->isEnabled());
        QTRY_VERIFY(dialog->verdict().contains(QStringLiteral("line 1")));
        QVERIFY(!dialog->use_button()->isEnabled());
        dialog->editor()->setPlainText(QStringLiteral("MINE "));
        QTRY_VERIFY(dialog->use_button()->isEnabled());
        QVERIFY(dialog->preview()->toPlainText().startsWith(QStringLiteral("MINE")));
        dialog->use_button()->click();
        QTRY_VERIFY(dialog.isNull());
        QCOMPARE(o.chat()->chat().settings.own_template, QStringLiteral("MINE "));
        o.type_and_send(QStringLiteral("q"));
        QTRY_VERIFY(o.idle());
        QCOMPARE(plan_->wishes.back().own_template, std::string("MINE "));
        // The model's own again is no template of the chat's.
        dialog = o.window->show_template();
        dialog->editor()->setPlainText(QStringLiteral("{{ messages }}"));
        QTRY_VERIFY(dialog->use_button()->isEnabled());
        dialog->use_button()->click();
        QCOMPARE(o.chat()->chat().settings.own_template, QString());
    }

    void settings_of_the_application_hold_and_the_model_is_opened_again() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        const int loads = plan_->loads;
        SettingsDialog* dialog = o.window->show_settings();
        dialog->theme()->setCurrentIndex(dialog->theme()->findData(int(ThemeChoice::Dark)));
        dialog->refresh()->setValue(5);
        dialog->apply_button()->click();
        QVERIFY(current_theme().is_dark);
        QCOMPARE(plan_->loads.load(), loads);  // colours are no business of the engine
        QSignalSpy ready(o.window.get(), &MainWindow::model_ready);
        dialog = o.window->show_settings();
        dialog->threads()->setValue(3);
        dialog->context()->setValue(2048);
        dialog->budget()->setValue(4096);
        dialog->block_size()->setCurrentIndex(dialog->block_size()->findData(32));
        dialog->kv_dtype()->setCurrentIndex(dialog->kv_dtype()->findData(QStringLiteral("F32")));
        dialog->language()->setCurrentIndex(dialog->language()->findData(QStringLiteral("de")));
        dialog->add_folder(QStringLiteral("/mnt/off-line"));
        dialog->apply_button()->click();
        QTRY_COMPARE(ready.size(), 1);
        QCOMPARE(plan_->loads.load(), loads + 1);
        o.window->close();
        const AppSettings kept(folder_->path());
        QCOMPARE(kept.threads(), 3);
        QCOMPARE(kept.context(), 2048);
        QCOMPARE(kept.memory_budget_mib(), 4096);
        QCOMPARE(kept.block_size(), 32);
        QCOMPARE(kept.kv_dtype(), QStringLiteral("F32"));
        QCOMPARE(kept.panel_refresh(), 5);
        QCOMPARE(kept.model_folders(), QStringList({"/mnt/off-line"}));
        QCOMPARE(AppSettings::stored_language(folder_->path()), QStringLiteral("de"));
    }

    // GUI-28: values by hand that mean nothing count as absent and are said.
    void bad_values_are_said_and_the_rest_is_kept() {
        {
            QSettings file(folder_->filePath(QStringLiteral("vitrine.ini")), QSettings::IniFormat);
            file.setValue(QStringLiteral("engine/device"), QStringLiteral("abacus"));
            file.setValue(QStringLiteral("engine/context"), QStringLiteral("1,5"));
            file.setValue(QStringLiteral("engine/memory_budget_mib"), -4);
            file.setValue(QStringLiteral("window/panel_refresh"), 100000);
            file.setValue(QStringLiteral("window/language"), QStringLiteral("xx"));
            file.setValue(QStringLiteral("engine/threads"), 2);
        }
        AppSettings settings(folder_->path());
        QCOMPARE(settings.device(), QStringLiteral("auto"));
        QCOMPARE(settings.context(), 0);
        QCOMPARE(settings.memory_budget_mib(), 0);
        QCOMPARE(settings.panel_refresh(), 20);
        QCOMPARE(settings.language(), QString());
        QCOMPARE(settings.threads(), 2);
        QCOMPARE(settings.take_notices().size(), 5);
    }

    void the_picker_lists_opens_and_names_what_is_broken() {
        const QString models = folder_->filePath(QStringLiteral("models"));
        QDir().mkpath(models);
        QVERIFY(QFile::copy(QStringLiteral(VITRINE_EMBEDDED_MODEL), models + QStringLiteral("/good.gguf")));
        QFile broken(models + QStringLiteral("/broken.gguf"));
        QVERIFY(broken.open(QIODevice::WriteOnly));
        broken.write("GGUF");
        broken.close();
        ModelPicker picker({{models, QStringLiteral("own"), 1, true}}, {});
        QSignalSpy searched(&picker, &ModelPicker::searched);
        QVERIFY(searched.wait(20'000));
        QAbstractItemModel* rows = picker.view()->model();
        QCOMPARE(rows->rowCount(), 2);
        QSignalSpy chosen(&picker, &ModelPicker::chosen);
        for (int row = 0; row < 2; ++row) {
            const QModelIndex index = rows->index(row, 0);
            picker.view()->setCurrentIndex(index);
            const bool good = index.data().toString() == QStringLiteral("good");
            QCOMPARE(picker.open_button()->isEnabled(), good);
            QVERIFY2(picker.detail().contains(good ? QStringLiteral("KV cache") : QStringLiteral("short")),
                     qPrintable(picker.detail()));
            if (!good) continue;
            const QString before = picker.detail();
            picker.kv_dtype()->setCurrentText(QStringLiteral("F32"));
            QVERIFY(picker.detail() != before);
            QCOMPARE(picker.options().kv_dtype, DType::F32);
            picker.open_button()->click();
        }
        QCOMPARE(chosen.size(), 1);
        QVERIFY(chosen[0][0].toString().endsWith(QStringLiteral("good.gguf")));
    }

    void a_window_comes_back_on_a_screen_that_is_there() {
        {
            Opened o(folder_->path(), plan_);
            o.window->move(40'000, 30'000);
            o.window->close();
        }
        Opened o(folder_->path(), plan_);
        QVERIFY2(QGuiApplication::primaryScreen()->availableGeometry().intersects(o.window->frameGeometry()),
                 qPrintable(QStringLiteral("%1 %2").arg(o.window->x()).arg(o.window->y())));
    }

    void every_action_has_a_shortcut_of_its_own() {
        Opened o(folder_->path(), plan_);
        QSet<QString> seen;
        for (const QAction* action : o.window->actions()) {
            if (action->isSeparator() || action->menu() != nullptr) continue;
            const QString keys = action->shortcut().toString(QKeySequence::PortableText);
            QVERIFY2(!keys.isEmpty(), qPrintable(action->text()));
            QVERIFY2(!seen.contains(keys), qPrintable(action->text() + u' ' + keys));
            seen.insert(keys);
        }
        QVERIFY(seen.size() > 25);
    }

    void every_control_has_a_name_for_screen_readers() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.window->page()->show_settings(true);
        QWidget* settings = o.window->show_settings();
        for (const QWidget* top : {static_cast<QWidget*>(o.window.get()), settings})
            for (const QWidget* w : top->findChildren<QWidget*>()) {
                if (w->focusPolicy() == Qt::NoFocus || !w->isVisibleTo(top)) continue;
                if (w->objectName().startsWith(QStringLiteral("qt_")) || w->focusProxy() != nullptr) continue;
                const auto* button = qobject_cast<const QAbstractButton*>(w);
                const bool named =
                    !w->accessibleName().isEmpty() || (button != nullptr && !button->text().isEmpty());
                if (!named) qInfo() << w->metaObject()->className() << w->objectName();
                const bool one_of_ours = qobject_cast<const QAbstractSpinBox*>(w) != nullptr ||
                                         qobject_cast<const QComboBox*>(w) != nullptr || button != nullptr ||
                                         qobject_cast<const QListView*>(w) != nullptr;
                QVERIFY2(named || !one_of_ours, w->metaObject()->className());
            }
    }

    void a_second_start_hands_over_and_a_stranger_is_refused() {
        SingleInstance first(folder_->path());
        QVERIFY(!first.hand_over({}));  // nobody is there
        QVERIFY(first.listen());
        std::vector<Handover> got;
        connect(&first, &SingleInstance::asked, this, [&](const Handover& h) { got.push_back(h); });
        std::atomic<int> taken{-1};
        std::thread second([&] {
            SingleInstance other(folder_->path());
            taken =
                other.hand_over({QStringLiteral("/ü 😀.gguf"), {QStringLiteral("a\nb"), QStringLiteral("c")}});
        });
        QTRY_VERIFY(taken >= 0);
        second.join();
        QCOMPARE(taken.load(), 1);
        QCOMPARE(got.size(), std::size_t(1));
        QCOMPARE(got[0].model, QStringLiteral("/ü 😀.gguf"));
        QCOMPARE(got[0].new_chats, QStringList({"a\nb", "c"}));
        // Bytes that are no message change nothing.
        QLocalSocket socket;
        socket.connectToServer(first.name());
        QVERIFY(socket.waitForConnected(2000));
        socket.write("\0\1garbage\n", 10);
        socket.flush();
        QTRY_COMPARE(socket.state(), QLocalSocket::UnconnectedState);
        QCOMPARE(got.size(), std::size_t(1));
        QVERIFY(SingleInstance(folder_->filePath(QStringLiteral("other"))).name() != first.name());
    }

    void what_another_start_asked_for_is_done() {
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        QSignalSpy ready(o.window.get(), &MainWindow::model_ready);
        o.window->take_over(
            {QStringLiteral("/other.gguf"), {QStringLiteral("one"), QString(), QStringLiteral("two")}});
        QTRY_COMPARE(ready.size(), 1);
        QCOMPARE(o.window->model().path, QStringLiteral("/other.gguf"));
        QTRY_VERIFY(o.idle() && o.window->chats().list()->rowCount() == 2);
        QVERIFY(o.window->isVisible());
    }

    void the_log_is_bounded_and_diagnostics_hold_no_chat() {
        QFile old(folder_->filePath(QStringLiteral("vitrine.log")));
        QVERIFY(old.open(QIODevice::WriteOnly));
        old.write(QByteArray(2 << 20, 'x'));
        old.close();
        begin_log(folder_->path());
        QVERIFY(QFile::exists(folder_->filePath(QStringLiteral("vitrine.log.1"))));
        QTest::ignoreMessage(QtWarningMsg, "something odd");
        qWarning("something odd");
        log_line(QStringLiteral("two\nlines"));
        Opened o(folder_->path(), plan_);
        QVERIFY(o.load());
        o.type_and_send(QStringLiteral("a secret question"));
        QTRY_VERIFY(o.idle());
        const QString text =
            diagnostics_text({QStringLiteral("0"), QStringLiteral("M"), {}, folder_->path()});
        QVERIFY(text.contains(QStringLiteral("two lines")));
        QVERIFY(text.contains(QStringLiteral("Qt %1").arg(QString::fromLatin1(qVersion()))));
        QVERIFY(!text.contains(QStringLiteral("secret")));
        end_log();
        QVERIFY(old.open(QIODevice::ReadOnly));
        QVERIFY(!old.readAll().contains("secret"));
        begin_log(QStringLiteral("/proc/nowhere"));  // no folder that can be written: no log, no harm
        log_line(QStringLiteral("x"));
        QCOMPARE(log_path(), QString());
        end_log();
    }

  private:
    std::unique_ptr<QTemporaryDir> folder_;
    std::shared_ptr<FakePlan> plan_;
};

QTEST_MAIN(TestWindowSettings)
#include "tst_window_settings.moc"
