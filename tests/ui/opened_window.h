// A window over the tests' engine, with the few things that every test of it does.
#pragma once

#include <memory>

#include <QSignalSpy>
#include <QStringList>
#include <QtTest>

#include "tests/ui/fake_backend.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/composer.h"
#include "ui/chat/composer_edit.h"
#include "ui/chat/notice_bar.h"
#include "ui/window/main_window.h"

namespace vitrine::ui {

struct Opened {
    std::shared_ptr<FakePlan> plan;
    std::unique_ptr<MainWindow> window;

    Opened(const QString& folder, std::shared_ptr<FakePlan> p,
           const QString& model = QStringLiteral("/fake.gguf"))
        : plan(std::move(p)) {
        Options options;
        options.model = model;
        options.size = QSize(1200, 800);
        window = std::make_unique<MainWindow>(options, folder, std::make_unique<FakeBackend>(plan));
        window->show();
    }
    bool load() {
        QSignalSpy ready(window.get(), &MainWindow::model_ready);
        window->open_first_model();
        return ready.size() == 1 || ready.wait(20'000);
    }
    Composer* composer() { return window->page()->composer(); }
    NoticeBar* notices() { return window->page()->notices(); }
    ChatModel* chat() { return window->chats().chat(window->current_chat()); }
    void type_and_send(const QString& text) {
        composer()->set_text(text);
        QTest::keyClick(composer()->edit(), Qt::Key_Return);
    }
    bool idle() { return !window->chats().answering(); }
    QStringList texts() {
        QStringList all;
        for (int row = 0; row < chat()->rowCount(); ++row) all << chat()->message(row).text;
        return all;
    }
};

}  // namespace vitrine::ui
