<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en" sourcelanguage="en">
<context>
    <name>vitrine::ui::StepControl</name>
    <message numerus="yes">
        <source>Run slowly, %n iteration(s) a second (F9). The wheel or a right click changes it, Shift+F9 and Ctrl+F9 as well.</source>
        <translation>
            <numerusform>Run slowly, %n iteration a second (F9). The wheel or a right click changes it, Shift+F9 and Ctrl+F9 as well.</numerusform>
            <numerusform>Run slowly, %n iterations a second (F9). The wheel or a right click changes it, Shift+F9 and Ctrl+F9 as well.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n iteration(s) a second</source>
        <translation>
            <numerusform>%n iteration a second</numerusform>
            <numerusform>%n iterations a second</numerusform>
        </translation>
    </message>
</context>
</TS>
