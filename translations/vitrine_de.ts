<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name>About</name>
    <message>
        <source>window, threads, database, network</source>
        <translation>Fenster, Threads, Datenbank, Netz</translation>
    </message>
    <message>
        <source>vector instructions</source>
        <translation>Vektorbefehle</translation>
    </message>
    <message>
        <source>vocabularies</source>
        <translation>Vokabulare</translation>
    </message>
    <message>
        <source>splitting text as the models do</source>
        <translation>Zerlegen von Text, wie es die Modelle tun</translation>
    </message>
    <message>
        <source>Unicode</source>
        <translation>Unicode</translation>
    </message>
    <message>
        <source>JSON</source>
        <translation>JSON</translation>
    </message>
    <message>
        <source>command lines of vitrine-cli</source>
        <translation>Befehlszeilen von vitrine-cli</translation>
    </message>
    <message>
        <source>hashes of blocks</source>
        <translation>Prüfsummen der Blöcke</translation>
    </message>
    <message>
        <source>chats on disk</source>
        <translation>Chats auf der Platte</translation>
    </message>
    <message>
        <source>public domain</source>
        <translation>gemeinfrei</translation>
    </message>
</context>
<context>
    <name>AppSettings</name>
    <message>
        <source>The settings file was damaged. It was kept as %1; the settings begin anew.</source>
        <translation>Die Datei mit den Einstellungen war beschädigt. Sie wurde als %1 aufgehoben; die Einstellungen beginnen neu.</translation>
    </message>
    <message>
        <source>The settings file %1 is damaged and could not be set aside; the settings begin anew.</source>
        <translation>Die Datei %1 mit den Einstellungen ist beschädigt und ließ sich nicht beiseitelegen; die Einstellungen beginnen neu.</translation>
    </message>
    <message>
        <source>Settings cannot be saved in %1: it is not writable. They hold until the window closes.</source>
        <translation>Einstellungen lassen sich in %1 nicht speichern: Die Datei ist nicht beschreibbar. Sie gelten, bis das Fenster geschlossen wird.</translation>
    </message>
    <message>
        <source>The setting &quot;%1&quot; had the value &quot;%2&quot;, which means nothing; %3 is used.</source>
        <translation>Die Einstellung „%1“ hatte den Wert „%2“, der nichts bedeutet; es gilt %3.</translation>
    </message>
    <message>
        <source>Settings could not be saved in %1.</source>
        <translation>Die Einstellungen konnten nicht in %1 gespeichert werden.</translation>
    </message>
</context>
<context>
    <name>ChatExport</name>
    <message>
        <source>New chat</source>
        <translation>Neuer Chat</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>You</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Antwort</translation>
    </message>
    <message>
        <source>Answer of %1</source>
        <translation>Antwort von %1</translation>
    </message>
    <message>
        <source>This is no JSON file: %1 at byte %2.</source>
        <translation>Das ist keine JSON-Datei: %1 bei Byte %2.</translation>
    </message>
    <message>
        <source>This file was written by a newer version of Vitrine.</source>
        <translation>Diese Datei wurde von einer neueren Version von Vitrine geschrieben.</translation>
    </message>
    <message>
        <source>There is no conversation in this file. Vitrine reads what it exported itself, and lists of messages with &quot;role&quot; and &quot;content&quot;.</source>
        <translation>In dieser Datei ist kein Gespräch. Vitrine liest, was es selbst exportiert hat, und Listen von Nachrichten mit „role“ und „content“.</translation>
    </message>
</context>
<context>
    <name>ChatStore</name>
    <message>
        <source>The file with your chats is damaged (%1). It was kept as %2, and a new one was begun.</source>
        <translation>Die Datei mit Ihren Chats ist beschädigt (%1). Sie wurde als %2 aufgehoben, und eine neue wurde begonnen.</translation>
    </message>
    <message>
        <source>%1 cannot be written (%2). You can read your chats; what you write now stays in memory and is lost when the window closes.</source>
        <translation>%1 kann nicht geschrieben werden (%2). Sie können Ihre Chats lesen; was Sie jetzt schreiben, bleibt im Arbeitsspeicher und geht verloren, wenn das Fenster geschlossen wird.</translation>
    </message>
    <message>
        <source>Chats cannot be saved in %1 (%2). They go on in memory and are lost when the window closes.</source>
        <translation>Chats können nicht in %1 gespeichert werden (%2). Sie gehen im Arbeitsspeicher weiter und sind verloren, wenn das Fenster geschlossen wird.</translation>
    </message>
</context>
<context>
    <name>ModelLook</name>
    <message>
        <source>This folder is not there now. It is kept among your folders and looked into again when it is back.</source>
        <translation>Diesen Ordner gibt es gerade nicht. Er bleibt unter Ihren Ordnern und wird wieder durchsucht, wenn er zurück ist.</translation>
    </message>
    <message>
        <source>own folder</source>
        <translation>eigener Ordner</translation>
    </message>
</context>
<context>
    <name>Options</name>
    <message>
        <source>Vitrine: chat with a local language model and see the engine that answers.
The window. For the terminal there is vitrine-cli.</source>
        <translation>Vitrine: mit einem lokalen Sprachmodell chatten und die Maschine sehen, die antwortet.
Das Fenster. Für das Terminal gibt es vitrine-cli.</translation>
    </message>
    <message>
        <source>This text.</source>
        <translation>Dieser Text.</translation>
    </message>
    <message>
        <source>Version.</source>
        <translation>Version.</translation>
    </message>
    <message>
        <source>Model to open (a .gguf file). Without it: the one used last, else the default model, else the small built-in one.</source>
        <translation>Zu öffnendes Modell (eine .gguf-Datei). Ohne Angabe: das zuletzt benutzte, sonst das Standardmodell, sonst das kleine eingebaute.</translation>
    </message>
    <message>
        <source>PATH</source>
        <translation>PFAD</translation>
    </message>
    <message>
        <source>Begins a chat with this message. May be given several times; each one begins when the one before has begun to answer.</source>
        <translation>Beginnt einen Chat mit dieser Nachricht. Mehrfach möglich; jeder beginnt, wenn der vorige zu antworten begonnen hat.</translation>
    </message>
    <message>
        <source>TEXT</source>
        <translation>TEXT</translation>
    </message>
    <message>
        <source>Waits for the end of the answers, writes the window as PNG, ends. Needs no display; uses a data folder of its own unless one is given.</source>
        <translation>Wartet das Ende der Antworten ab, schreibt das Fenster als PNG und endet. Braucht keinen Bildschirm; benutzt einen eigenen Datenordner, wenn keiner genannt ist.</translation>
    </message>
    <message>
        <source>FILE</source>
        <translation>DATEI</translation>
    </message>
    <message>
        <source>Size of the window, for example 1400x900.</source>
        <translation>Größe des Fensters, zum Beispiel 1400x900.</translation>
    </message>
    <message>
        <source>WxH</source>
        <translation>BxH</translation>
    </message>
    <message>
        <source>Light theme, whatever the settings say.</source>
        <translation>Helles Design, was auch immer eingestellt ist.</translation>
    </message>
    <message>
        <source>Dark theme, whatever the settings say.</source>
        <translation>Dunkles Design, was auch immer eingestellt ist.</translation>
    </message>
    <message>
        <source>Chats and settings in the folder &quot;data&quot; beside the program.</source>
        <translation>Chats und Einstellungen im Ordner „data“ neben dem Programm.</translation>
    </message>
    <message>
        <source>Chats and settings in this folder.</source>
        <translation>Chats und Einstellungen in diesem Ordner.</translation>
    </message>
    <message>
        <source>DIR</source>
        <translation>ORDNER</translation>
    </message>
    <message>
        <source>Longest answer of the chats begun with --new-chat.</source>
        <translation>Längste Antwort der mit --new-chat begonnenen Chats.</translation>
    </message>
    <message>
        <source>N</source>
        <translation>N</translation>
    </message>
    <message>
        <source>Seed of the answers of --new-chat.</source>
        <translation>Startwert der Antworten von --new-chat.</translation>
    </message>
    <message>
        <source>Model to open, as --model.</source>
        <translation>Zu öffnendes Modell, wie --model.</translation>
    </message>
    <message>
        <source>[FILE]</source>
        <translation>[DATEI]</translation>
    </message>
    <message>
        <source>See --help.</source>
        <translation>Siehe --help.</translation>
    </message>
    <message>
        <source>One model at a time: %1 is too many.</source>
        <translation>Ein Modell auf einmal: %1 ist zu viel.</translation>
    </message>
    <message>
        <source>--screenshot needs the name of a file.</source>
        <translation>--screenshot braucht den Namen einer Datei.</translation>
    </message>
    <message>
        <source>--size %1: WIDTHxHEIGHT from 400x300 to 8000x8000 is wanted.</source>
        <translation>--size %1: erwartet wird BREITExHÖHE von 400x300 bis 8000x8000.</translation>
    </message>
    <message>
        <source>--light or --dark, not both.</source>
        <translation>--light oder --dark, nicht beides.</translation>
    </message>
    <message>
        <source>--data-dir needs a folder.</source>
        <translation>--data-dir braucht einen Ordner.</translation>
    </message>
    <message>
        <source>--max-tokens %1: a number is wanted.</source>
        <translation>--max-tokens %1: erwartet wird eine Zahl.</translation>
    </message>
    <message>
        <source>--seed %1: a number is wanted.</source>
        <translation>--seed %1: erwartet wird eine Zahl.</translation>
    </message>
    <message>
        <source>There is no display to open a window on. In a terminal, use: vitrine-cli chat</source>
        <translation>Es gibt keinen Bildschirm, auf dem sich ein Fenster öffnen ließe. Im Terminal: vitrine-cli chat</translation>
    </message>
    <message>
        <source>The display %1 does not answer. In a terminal, use: vitrine-cli chat</source>
        <translation>Der Bildschirm %1 antwortet nicht. Im Terminal: vitrine-cli chat</translation>
    </message>
</context>
<context>
    <name>Presets</name>
    <message>
        <source>Balanced</source>
        <translation>Ausgewogen</translation>
    </message>
    <message>
        <source>Precise</source>
        <translation>Genau</translation>
    </message>
    <message>
        <source>Creative</source>
        <translation>Einfallsreich</translation>
    </message>
    <message>
        <source>Plain sampling</source>
        <translation>Reines Ziehen</translation>
    </message>
    <message>
        <source>Greedy</source>
        <translation>Gierig</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::AboutDialog</name>
    <message>
        <source>About Vitrine</source>
        <translation>Über Vitrine</translation>
    </message>
    <message>
        <source>Vitrine %1</source>
        <translation>Vitrine %1</translation>
    </message>
    <message>
        <source>Chat with a local language model and see the engine that answers. Nothing leaves this computer.
Apache License 2.0, without any warranty.</source>
        <translation>Mit einem lokalen Sprachmodell chatten und die Maschine sehen, die antwortet. Nichts verlässt diesen Rechner.
Apache-Lizenz 2.0, ohne jede Gewährleistung.</translation>
    </message>
    <message>
        <source>Built from</source>
        <translation>Gebaut aus</translation>
    </message>
    <message>
        <source>Built from the work of others:</source>
        <translation>Gebaut aus der Arbeit anderer:</translation>
    </message>
    <message>
        <source>%1: %2 (%3)</source>
        <translation>%1: %2 (%3)</translation>
    </message>
    <message>
        <source>The small model that comes with Vitrine is its own and has the licence of the program. Each model of others has the licence that its makers gave it.</source>
        <translation>Das kleine Modell, das mit Vitrine kommt, ist sein eigenes und hat die Lizenz des Programms. Jedes Modell anderer hat die Lizenz, die seine Hersteller ihm gegeben haben.</translation>
    </message>
    <message>
        <source>Chats, settings and the log lie in %1. To remove all of it, close Vitrine and delete that folder.</source>
        <translation>Chats, Einstellungen und Protokoll liegen in %1. Um alles zu entfernen, Vitrine schließen und diesen Ordner löschen.</translation>
    </message>
    <message>
        <source>Copy diagnostics</source>
        <translation>Diagnose kopieren</translation>
    </message>
    <message>
        <source>Versions, system, device and the newest lines of the log, for a report of a fault. No text of any chat is in it.</source>
        <translation>Versionen, System, Gerät und die neuesten Zeilen des Protokolls, für eine Fehlermeldung. Kein Text eines Chats ist darin.</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>Kopiert</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::BlockTableView</name>
    <message>
        <source>Block table</source>
        <translation>Blocktabelle</translation>
    </message>
    <message>
        <source>Block table: choose a chat to see where its tokens lie</source>
        <translation>Blocktabelle: einen Chat wählen, um zu sehen, wo seine Token liegen</translation>
    </message>
    <message>
        <source>Block table of “%1”: it holds no block now</source>
        <translation>Blocktabelle von „%1“: hält gerade keinen Block</translation>
    </message>
    <message>
        <source>Block table of “%1”: logical → physical</source>
        <translation>Blocktabelle von „%1“: logisch → physisch</translation>
    </message>
    <message>
        <source>%1 blocks in between are not shown</source>
        <translation>%1 Blöcke dazwischen sind nicht gezeigt</translation>
    </message>
    <message>
        <source>Logical block %1 lies in physical block %2</source>
        <translation>Der logische Block %1 liegt im physischen Block %2</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::Card</name>
    <message>
        <source>The picture could not be written to %1: %2</source>
        <translation>Das Bild konnte nicht nach %1 geschrieben werden: %2</translation>
    </message>
    <message>
        <source>The table could not be written to %1: %2</source>
        <translation>Die Tabelle konnte nicht nach %1 geschrieben werden: %2</translation>
    </message>
    <message>
        <source>Save as picture…</source>
        <translation>Als Bild speichern…</translation>
    </message>
    <message>
        <source>Save as CSV…</source>
        <translation>Als CSV speichern…</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::ChatList</name>
    <message>
        <source>Search chats</source>
        <translation>Chats durchsuchen</translation>
    </message>
    <message>
        <source>Words in titles and messages (Ctrl+K)</source>
        <translation>Wörter in Titeln und Nachrichten (Strg+K)</translation>
    </message>
    <message>
        <source>New</source>
        <translation>Neu</translation>
    </message>
    <message>
        <source>New chat (Ctrl+N)</source>
        <translation>Neuer Chat (Strg+N)</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>Neuer Chat</translation>
    </message>
    <message>
        <source>Chats</source>
        <translation>Chats</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>Umbenennen</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>Nicht mehr anheften</translation>
    </message>
    <message>
        <source>Pin</source>
        <translation>Anheften</translation>
    </message>
    <message>
        <source>Export as Markdown…</source>
        <translation>Als Markdown exportieren…</translation>
    </message>
    <message>
        <source>Export as JSON…</source>
        <translation>Als JSON exportieren…</translation>
    </message>
    <message>
        <source>Import…</source>
        <translation>Importieren…</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>Looking through the messages …</source>
        <translation>Die Nachrichten werden durchsucht …</translation>
    </message>
    <message>
        <source>No chat has these words in its title or its messages.</source>
        <translation>Kein Chat hat diese Wörter im Titel oder in den Nachrichten.</translation>
    </message>
    <message>
        <source>Your chats will be listed here. They stay on this computer.</source>
        <translation>Hier werden Ihre Chats stehen. Sie bleiben auf diesem Rechner.</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::ChatListDelegate</name>
    <message>
        <source>writing</source>
        <translation>schreibt</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::ChatListModel</name>
    <message>
        <source>New chat</source>
        <translation>Neuer Chat</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>Angeheftet</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>Heute</translation>
    </message>
    <message>
        <source>Yesterday</source>
        <translation>Gestern</translation>
    </message>
    <message>
        <source>Last seven days</source>
        <translation>Letzte sieben Tage</translation>
    </message>
    <message>
        <source>Last month</source>
        <translation>Letzter Monat</translation>
    </message>
    <message>
        <source>Earlier</source>
        <translation>Früher</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::ChatModel</name>
    <message>
        <source>1 token</source>
        <translation>1 Token</translation>
    </message>
    <message>
        <source>%1 tokens</source>
        <translation>%1 Token</translation>
    </message>
    <message>
        <source>%1 tok/s</source>
        <translation>%1 tok/s</translation>
    </message>
    <message>
        <source>TTFT %1</source>
        <translation>TTFT %1</translation>
    </message>
    <message>
        <source>%1 prompt tokens from cache, %2 computed</source>
        <translation>%1 Prompt-Token aus dem Cache, %2 berechnet</translation>
    </message>
    <message>
        <source>without the oldest message</source>
        <translation>ohne die älteste Nachricht</translation>
    </message>
    <message>
        <source>without the oldest %1 messages</source>
        <translation>ohne die ältesten %1 Nachrichten</translation>
    </message>
    <message>
        <source>stopped</source>
        <translation>angehalten</translation>
    </message>
    <message>
        <source>interrupted: the program ended while this was written</source>
        <translation>unterbrochen: Das Programm endete, während dies geschrieben wurde</translation>
    </message>
    <message>
        <source>length limit</source>
        <translation>Längengrenze</translation>
    </message>
    <message>
        <source>context full</source>
        <translation>Kontext voll</translation>
    </message>
    <message>
        <source>end of turn</source>
        <translation>Ende der Antwort</translation>
    </message>
    <message>
        <source>You: %1</source>
        <translation>Sie: %1</translation>
    </message>
    <message>
        <source>Answer: %1</source>
        <translation>Antwort: %1</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::ChatSettingsCard</name>
    <message>
        <source>Chat settings</source>
        <translation>Chat-Einstellungen</translation>
    </message>
    <message>
        <source>Settings of this chat</source>
        <translation>Einstellungen dieses Chats</translation>
    </message>
    <message>
        <source>Defaults</source>
        <translation>Vorgaben</translation>
    </message>
    <message>
        <source>Sampler settings as they come with Vitrine; the system prompt stays</source>
        <translation>Sampler-Einstellungen, wie sie mit Vitrine kommen; der Systemprompt bleibt</translation>
    </message>
    <message>
        <source>Use for new chats</source>
        <translation>Für neue Chats benutzen</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>System prompt: how the model should answer. Empty: the template&apos;s own, if it has one.</source>
        <translation>Systemprompt: wie das Modell antworten soll. Leer: der eigene der Vorlage, wenn sie einen hat.</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>Preset</source>
        <translation>Profil</translation>
    </message>
    <message>
        <source>Sampler settings under a name</source>
        <translation>Sampler-Einstellungen unter einem Namen</translation>
    </message>
    <message>
        <source>Save as preset…</source>
        <translation>Als Profil speichern…</translation>
    </message>
    <message>
        <source>Keeps the sampler settings below under a name</source>
        <translation>Hält die Sampler-Einstellungen darunter unter einem Namen fest</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Forgets this preset of yours; the settings stay as they are</source>
        <translation>Vergisst dieses eigene Profil; die Einstellungen bleiben, wie sie sind</translation>
    </message>
    <message>
        <source>Template…</source>
        <translation>Vorlage…</translation>
    </message>
    <message>
        <source>Look at the chat template, rendered with this conversation, or change it</source>
        <translation>Die Chat-Vorlage ansehen, mit diesem Gespräch gefüllt, oder ändern</translation>
    </message>
    <message>
        <source>0 (greedy)</source>
        <translation>0 (gierig)</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>Temperatur</translation>
    </message>
    <message>
        <source>Higher: more varied. 0: always the most probable token.</source>
        <translation>Höher: abwechslungsreicher. 0: immer das wahrscheinlichste Token.</translation>
    </message>
    <message>
        <source>off</source>
        <translation>aus</translation>
    </message>
    <message>
        <source>Top-k</source>
        <translation>Top-k</translation>
    </message>
    <message>
        <source>Only the k most probable tokens are candidates.</source>
        <translation>Nur die k wahrscheinlichsten Token kommen in Frage.</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>Only the most probable tokens that together reach this probability. 1: off.</source>
        <translation>Nur die wahrscheinlichsten Token, die zusammen diese Wahrscheinlichkeit erreichen. 1: aus.</translation>
    </message>
    <message>
        <source>Min-p</source>
        <translation>Min-p</translation>
    </message>
    <message>
        <source>Only tokens at least this share as probable as the most probable one.</source>
        <translation>Nur Token, die mindestens diesen Anteil der Wahrscheinlichkeit des wahrscheinlichsten haben.</translation>
    </message>
    <message>
        <source>Repetition penalty</source>
        <translation>Wiederholungsstrafe</translation>
    </message>
    <message>
        <source>Above 1: tokens that were seen already become less probable. 1: off.</source>
        <translation>Über 1: schon gesehene Token werden weniger wahrscheinlich. 1: aus.</translation>
    </message>
    <message>
        <source>until full</source>
        <translation>bis voll</translation>
    </message>
    <message>
        <source>Longest answer</source>
        <translation>Längste Antwort</translation>
    </message>
    <message>
        <source>Tokens. “until full”: as far as the context reaches.</source>
        <translation>Token. „bis voll“: so weit der Kontext reicht.</translation>
    </message>
    <message>
        <source>all there is</source>
        <translation>alles</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>Kontext</translation>
    </message>
    <message>
        <source>Most tokens of this conversation. “all there is”: as many as the model was opened with.</source>
        <translation>Höchstens so viele Token in diesem Gespräch. „alles“: so viele, wie das Modell beim Öffnen bekam.</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>Startwert</translation>
    </message>
    <message>
        <source>The same seed, settings and conversation give the same answer.</source>
        <translation>Gleicher Startwert, gleiche Einstellungen und gleiches Gespräch geben die gleiche Antwort.</translation>
    </message>
    <message>
        <source>New for each answer</source>
        <translation>Neu für jede Antwort</translation>
    </message>
    <message>
        <source>Every answer draws its own seed</source>
        <translation>Jede Antwort zieht ihren eigenen Startwert</translation>
    </message>
    <message>
        <source>Cut old turns</source>
        <translation>Altes weglassen</translation>
    </message>
    <message>
        <source>Where the conversation does not fit, its oldest turns are not given to the model, and are marked. Off: such a message is refused.</source>
        <translation>Wo das Gespräch nicht passt, bekommt das Modell die ältesten Runden nicht, und sie werden gekennzeichnet. Aus: Eine solche Nachricht wird abgelehnt.</translation>
    </message>
    <message>
        <source>Own settings</source>
        <translation>Eigene Werte</translation>
    </message>
    <message>
        <source>A switch of this model&apos;s template. Half: as the template itself decides.</source>
        <translation>Ein Schalter der Vorlage dieses Modells. Halb: wie die Vorlage selbst entscheidet.</translation>
    </message>
    <message>
        <source>Own template…</source>
        <translation>Eigene Vorlage…</translation>
    </message>
    <message>
        <source>Greedy</source>
        <translation>Gierig</translation>
    </message>
    <message>
        <source>Temperature %1</source>
        <translation>Temperatur %1</translation>
    </message>
    <message>
        <source>%1 · system prompt</source>
        <translation>%1 · Systemprompt</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::ChatView</name>
    <message>
        <source>Conversation</source>
        <translation>Gespräch</translation>
    </message>
    <message>
        <source>↓ To the end</source>
        <translation>↓ Ans Ende</translation>
    </message>
    <message>
        <source>Go to the end of the conversation and follow it (End)</source>
        <translation>Ans Ende des Gesprächs gehen und ihm folgen (Ende)</translation>
    </message>
    <message>
        <source>Copy selection</source>
        <translation>Auswahl kopieren</translation>
    </message>
    <message>
        <source>Copy message</source>
        <translation>Nachricht kopieren</translation>
    </message>
    <message>
        <source>Copy answer</source>
        <translation>Antwort kopieren</translation>
    </message>
    <message>
        <source>Select all</source>
        <translation>Alles auswählen</translation>
    </message>
    <message>
        <source>Edit…</source>
        <translation>Bearbeiten…</translation>
    </message>
    <message>
        <source>Regenerate</source>
        <translation>Neu antworten</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Weiter</translation>
    </message>
    <message>
        <source>Copy this message to the clipboard</source>
        <translation>Diese Nachricht in die Zwischenablage kopieren</translation>
    </message>
    <message>
        <source>Write another answer; this one is kept beside it (Ctrl+R)</source>
        <translation>Eine weitere Antwort schreiben; diese bleibt daneben erhalten (Strg+R)</translation>
    </message>
    <message>
        <source>Let this answer go on where it ended (Ctrl+G)</source>
        <translation>Diese Antwort dort fortsetzen, wo sie endete (Strg+G)</translation>
    </message>
    <message>
        <source>Change this message; the old version is kept beside it</source>
        <translation>Diese Nachricht ändern; die alte Fassung bleibt daneben erhalten</translation>
    </message>
    <message>
        <source>The version before</source>
        <translation>Die Fassung davor</translation>
    </message>
    <message>
        <source>The version after</source>
        <translation>Die Fassung danach</translation>
    </message>
    <message>
        <source>not seen by the model: everything above this line</source>
        <translation>vom Modell nicht gesehen: alles über dieser Linie</translation>
    </message>
    <message>
        <source>writing</source>
        <translation>schreibt</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::Composer</name>
    <message>
        <source>Editing your message. The old version is kept beside it.</source>
        <translation>Sie bearbeiten Ihre Nachricht. Die alte Fassung bleibt daneben erhalten.</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Write a message, or drop a text file</source>
        <translation>Eine Nachricht schreiben oder eine Textdatei ablegen</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>Nachricht</translation>
    </message>
    <message>
        <source>System prompt and sampler settings of this chat (Ctrl+,)</source>
        <translation>Systemprompt und Sampler-Einstellungen dieses Chats (Strg+,)</translation>
    </message>
    <message>
        <source>Chat settings</source>
        <translation>Chat-Einstellungen</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>Pasted text</source>
        <translation>Eingefügter Text</translation>
    </message>
    <message>
        <source>Text</source>
        <translation>Text</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Send again</source>
        <translation>Neu senden</translation>
    </message>
    <message>
        <source>Stop the answer; what was written stays (Esc)</source>
        <translation>Die Antwort anhalten; das Geschriebene bleibt (Esc)</translation>
    </message>
    <message>
        <source>Send (Enter). Shift+Enter begins a new line.</source>
        <translation>Senden (Eingabe). Umschalt+Eingabe beginnt eine neue Zeile.</translation>
    </message>
    <message>
        <source>%1 cannot be read.</source>
        <translation>%1 kann nicht gelesen werden.</translation>
    </message>
    <message>
        <source>%1 is %2; texts up to %3 can be attached.</source>
        <translation>%1 hat %2; Texte bis %3 lassen sich anhängen.</translation>
    </message>
    <message>
        <source>%1 is not a text file.</source>
        <translation>%1 ist keine Textdatei.</translation>
    </message>
    <message>
        <source>1 token</source>
        <translation>1 Token</translation>
    </message>
    <message>
        <source>%1 tokens</source>
        <translation>%1 Token</translation>
    </message>
    <message>
        <source>%1 · %2  ×</source>
        <translation>%1 · %2  ×</translation>
    </message>
    <message>
        <source>Remove %1, %2</source>
        <translation>%1 entfernen, %2</translation>
    </message>
    <message>
        <source>%1, %2: sent along with the message. Click to remove it.</source>
        <translation>%1, %2: wird mit der Nachricht gesendet. Klicken entfernt es.</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::ContextGauge</name>
    <message>
        <source>Context</source>
        <translation>Kontext</translation>
    </message>
    <message>
        <source>%1: system prompt %2, conversation %3, this message %4.</source>
        <translation>%1: Systemprompt %2, Gespräch %3, diese Nachricht %4.</translation>
    </message>
    <message>
        <source>Tokens of this conversation as the model gets it: system prompt, all turns with what the template puts around them, and the message being written, counted with the model&apos;s own tokenizer.</source>
        <translation>Token dieses Gesprächs, wie das Modell es bekommt: Systemprompt, alle Runden mit dem, was die Vorlage um sie setzt, und die entstehende Nachricht, gezählt mit dem Tokenizer des Modells.</translation>
    </message>
    <message>
        <source>no model</source>
        <translation>kein Modell</translation>
    </message>
    <message>
        <source>– of %1 tokens</source>
        <translation>– von %1 Token</translation>
    </message>
    <message>
        <source>%1 of %2 tokens</source>
        <translation>%1 von %2 Token</translation>
    </message>
    <message>
        <source>%1 / %2</source>
        <translation>%1 / %2</translation>
    </message>
    <message>
        <source>%1 in this message</source>
        <translation>%1 in dieser Nachricht</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::KvGridView</name>
    <message>
        <source>Physical KV blocks</source>
        <translation>Physische KV-Blöcke</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::KvPanel</name>
    <message>
        <source>KV blocks</source>
        <translation>KV-Blöcke</translation>
    </message>
    <message>
        <source>No model is loaded. Open one above: the blocks that hold its memory of each chat appear here, one square a block.</source>
        <translation>Kein Modell ist geladen. Öffnen Sie oben eines: Die Blöcke, die sein Gedächtnis jedes Chats halten, erscheinen hier, ein Quadrat je Block.</translation>
    </message>
    <message>
        <source>Iteration %1.</source>
        <translation>Iteration %1.</translation>
    </message>
    <message>
        <source>Nothing is remembered yet. Write a message: every %1 tokens take one of these blocks.</source>
        <translation>Noch ist nichts gemerkt. Schreiben Sie eine Nachricht: Je %1 Token belegen einen dieser Blöcke.</translation>
    </message>
    <message>
        <source>%1 blocks of %2 tokens</source>
        <translation>%1 Blöcke zu %2 Token</translation>
    </message>
    <message>
        <source>, %1 a square</source>
        <translation>, %1 je Quadrat</translation>
    </message>
    <message>
        <source>used blocks</source>
        <translation>belegte Blöcke</translation>
    </message>
    <message>
        <source>Blocks that at least one sequence refers to.</source>
        <translation>Blöcke, auf die mindestens eine Sequenz verweist.</translation>
    </message>
    <message>
        <source>cached, free</source>
        <translation>gemerkt, frei</translation>
    </message>
    <message>
        <source>Free blocks that still hold known tokens: a prompt that begins with them need not compute them again.</source>
        <translation>Freie Blöcke, die noch bekannte Token halten: Ein Prompt, der mit ihnen beginnt, muss sie nicht neu berechnen.</translation>
    </message>
    <message>
        <source>shared</source>
        <translation>geteilt</translation>
    </message>
    <message>
        <source>Blocks with more than one reference, counted once.</source>
        <translation>Blöcke mit mehr als einem Verweis, einmal gezählt.</translation>
    </message>
    <message>
        <source>wasted</source>
        <translation>vergeudet</translation>
    </message>
    <message>
        <source>Places in used blocks that hold no token: the last block of a sequence is rarely full.</source>
        <translation>Plätze in belegten Blöcken, die kein Token halten: Der letzte Block einer Sequenz ist selten voll.</translation>
    </message>
    <message>
        <source>less than reserving %1</source>
        <translation>weniger als %1 zu reservieren</translation>
    </message>
    <message>
        <source>less than reserving</source>
        <translation>weniger als zu reservieren</translation>
    </message>
    <message>
        <source>Blocks of a full context for each of the %1 sequences that hold any, divided by the used blocks.</source>
        <translation>Blöcke eines vollen Kontexts für jede der %1 Sequenzen, die welche halten, geteilt durch die belegten Blöcke.</translation>
    </message>
    <message>
        <source>request %1</source>
        <translation>Anfrage %1</translation>
    </message>
    <message>
        <source>chat %1</source>
        <translation>Chat %1</translation>
    </message>
    <message>
        <source>Blocks %1 to %2
%3 used, %4 cached, %5 free</source>
        <translation>Blöcke %1 bis %2
%3 belegt, %4 gemerkt, %5 frei</translation>
    </message>
    <message>
        <source>Block %1</source>
        <translation>Block %1</translation>
    </message>
    <message>
        <source>Free</source>
        <translation>Frei</translation>
    </message>
    <message>
        <source>Free, still holds known tokens</source>
        <translation>Frei, hält noch bekannte Token</translation>
    </message>
    <message>
        <source>Free, still holds tokens of “%1”</source>
        <translation>Frei, hält noch Token von „%1“</translation>
    </message>
    <message>
        <source>and more</source>
        <translation>und weitere</translation>
    </message>
    <message>
        <source>“%1”, logical block %2</source>
        <translation>„%1“, logischer Block %2</translation>
    </message>
    <message>
        <source>1 reference</source>
        <translation>1 Verweis</translation>
    </message>
    <message>
        <source>%1 references</source>
        <translation>%1 Verweise</translation>
    </message>
    <message>
        <source>%1 of %2 tokens</source>
        <translation>%1 von %2 Token</translation>
    </message>
    <message>
        <source>Being written</source>
        <translation>Wird gerade geschrieben</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::LatencyPanel</name>
    <message>
        <source>Latency</source>
        <translation>Latenz</translation>
    </message>
    <message>
        <source>No token yet. Write a message: every token of the answer becomes a point here, as high as the milliseconds it took.</source>
        <translation>Noch kein Token. Schreiben Sie eine Nachricht: Jedes Token der Antwort wird hier ein Punkt, so hoch wie die Millisekunden, die es brauchte.</translation>
    </message>
    <message>
        <source>per token, ms · last %1 s</source>
        <translation>je Token, ms · letzte %1 s</translation>
    </message>
    <message>
        <source>%1 % of the last %2 times between two tokens of one request, all requests together, are at most this (nearest rank).</source>
        <translation>%1 % der letzten %2 Zeiten zwischen zwei Token einer Anfrage, alle Anfragen zusammen, sind höchstens so groß (nächster Rang).</translation>
    </message>
    <message>
        <source>p50</source>
        <translation>p50</translation>
    </message>
    <message>
        <source>p95</source>
        <translation>p95</translation>
    </message>
    <message>
        <source>p99</source>
        <translation>p99</translation>
    </message>
    <message>
        <source>tok/s, this chat</source>
        <translation>tok/s, dieser Chat</translation>
    </message>
    <message>
        <source>Tokens a second of the selected chat&apos;s newest answer, over its last 64 tokens at most.</source>
        <translation>Token je Sekunde der neuesten Antwort des gewählten Chats, über höchstens ihre letzten 64 Token.</translation>
    </message>
    <message>
        <source>of read bandwidth</source>
        <translation>der Lesebandbreite</translation>
    </message>
    <message>
        <source>%1 of weights read by the engine, of %2 that this machine was measured to read.</source>
        <translation>%1 Gewichte liest die Maschine, von %2, die dieser Rechner gemessen lesen kann.</translation>
    </message>
    <message>
        <source>Weights read a second, as a share of what this machine can read. Not measured yet.</source>
        <translation>Je Sekunde gelesene Gewichte als Anteil dessen, was dieser Rechner lesen kann. Noch nicht gemessen.</translation>
    </message>
    <message>
        <source>chat %1</source>
        <translation>Chat %1</translation>
    </message>
    <message>
        <source>request %1</source>
        <translation>Anfrage %1</translation>
    </message>
    <message>
        <source>Token %1 of %2
%3 after the one before
Iteration %4</source>
        <translation>Token %1 von %2
%3 nach dem davor
Iteration %4</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::LatencyPlot</name>
    <message>
        <source>Time of each token</source>
        <translation>Zeit jedes Tokens</translation>
    </message>
    <message>
        <source>prefill</source>
        <translation>Prefill</translation>
    </message>
    <message>
        <source>TTFT %1</source>
        <translation>TTFT %1</translation>
    </message>
    <message>
        <source>preempted</source>
        <translation>verdrängt</translation>
    </message>
    <message>
        <source>cancelled</source>
        <translation>abgebrochen</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>gescheitert</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::MainWindow</name>
    <message>
        <source>%1 – Vitrine</source>
        <translation>%1 – Vitrine</translation>
    </message>
    <message>
        <source>Open the model again</source>
        <translation>Das Modell wieder öffnen</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>Neuer Chat</translation>
    </message>
    <message>
        <source>Models…</source>
        <translation>Modelle…</translation>
    </message>
    <message>
        <source>Ctrl+M</source>
        <translation>Ctrl+M</translation>
    </message>
    <message>
        <source>Open a model…</source>
        <translation>Ein Modell öffnen…</translation>
    </message>
    <message>
        <source>Search chats</source>
        <translation>Chats durchsuchen</translation>
    </message>
    <message>
        <source>Ctrl+K</source>
        <translation>Ctrl+K</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>Chat</translation>
    </message>
    <message>
        <source>Settings of this chat</source>
        <translation>Einstellungen dieses Chats</translation>
    </message>
    <message>
        <source>Ctrl+,</source>
        <translation>Ctrl+,</translation>
    </message>
    <message>
        <source>Chat template…</source>
        <translation>Chat-Vorlage…</translation>
    </message>
    <message>
        <source>Ctrl+T</source>
        <translation>Ctrl+T</translation>
    </message>
    <message>
        <source>Regenerate the last answer</source>
        <translation>Letzte Antwort neu schreiben</translation>
    </message>
    <message>
        <source>Ctrl+R</source>
        <translation>Ctrl+R</translation>
    </message>
    <message>
        <source>Copy the last answer</source>
        <translation>Letzte Antwort kopieren</translation>
    </message>
    <message>
        <source>Ctrl+Shift+C</source>
        <translation>Ctrl+Shift+C</translation>
    </message>
    <message>
        <source>Continue the last answer</source>
        <translation>Letzte Antwort fortsetzen</translation>
    </message>
    <message>
        <source>Ctrl+G</source>
        <translation>Ctrl+G</translation>
    </message>
    <message>
        <source>Edit the last message</source>
        <translation>Letzte Nachricht bearbeiten</translation>
    </message>
    <message>
        <source>Ctrl+E</source>
        <translation>Ctrl+E</translation>
    </message>
    <message>
        <source>Version before</source>
        <translation>Fassung davor</translation>
    </message>
    <message>
        <source>Alt+Left</source>
        <translation>Alt+Left</translation>
    </message>
    <message>
        <source>Version after</source>
        <translation>Fassung danach</translation>
    </message>
    <message>
        <source>Alt+Right</source>
        <translation>Alt+Right</translation>
    </message>
    <message>
        <source>Pin or unpin</source>
        <translation>Anheften oder lösen</translation>
    </message>
    <message>
        <source>Ctrl+D</source>
        <translation>Ctrl+D</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>Umbenennen</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>Ctrl+Shift+Backspace</source>
        <translation>Ctrl+Shift+Backspace</translation>
    </message>
    <message>
        <source>Export as Markdown…</source>
        <translation>Als Markdown exportieren…</translation>
    </message>
    <message>
        <source>Ctrl+S</source>
        <translation>Ctrl+S</translation>
    </message>
    <message>
        <source>Export as JSON…</source>
        <translation>Als JSON exportieren…</translation>
    </message>
    <message>
        <source>Ctrl+Shift+S</source>
        <translation>Ctrl+Shift+S</translation>
    </message>
    <message>
        <source>Import…</source>
        <translation>Importieren…</translation>
    </message>
    <message>
        <source>Ctrl+I</source>
        <translation>Ctrl+I</translation>
    </message>
    <message>
        <source>Chat before</source>
        <translation>Chat davor</translation>
    </message>
    <message>
        <source>Ctrl+PgUp</source>
        <translation>Ctrl+PgUp</translation>
    </message>
    <message>
        <source>Chat after</source>
        <translation>Chat danach</translation>
    </message>
    <message>
        <source>Ctrl+PgDown</source>
        <translation>Ctrl+PgDown</translation>
    </message>
    <message>
        <source>View</source>
        <translation>Ansicht</translation>
    </message>
    <message>
        <source>Panels as in the beginning</source>
        <translation>Felder wie am Anfang</translation>
    </message>
    <message>
        <source>Ctrl+Shift+0</source>
        <translation>Ctrl+Shift+0</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>Design</translation>
    </message>
    <message>
        <source>As the desktop</source>
        <translation>Wie der Desktop</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source>Larger text</source>
        <translation>Größerer Text</translation>
    </message>
    <message>
        <source>Smaller text</source>
        <translation>Kleinerer Text</translation>
    </message>
    <message>
        <source>Text as in the beginning</source>
        <translation>Text wie am Anfang</translation>
    </message>
    <message>
        <source>Ctrl+0</source>
        <translation>Ctrl+0</translation>
    </message>
    <message>
        <source>Engine</source>
        <translation>Maschine</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>Pause</translation>
    </message>
    <message>
        <source>One iteration</source>
        <translation>Eine Iteration</translation>
    </message>
    <message>
        <source>Run</source>
        <translation>Laufen</translation>
    </message>
    <message>
        <source>Run slowly</source>
        <translation>Langsam laufen</translation>
    </message>
    <message>
        <source>Slowly, but faster</source>
        <translation>Langsam, aber schneller</translation>
    </message>
    <message>
        <source>Shift+F9</source>
        <translation>Shift+F9</translation>
    </message>
    <message>
        <source>Slowly, and slower</source>
        <translation>Langsam, und langsamer</translation>
    </message>
    <message>
        <source>Ctrl+F9</source>
        <translation>Ctrl+F9</translation>
    </message>
    <message>
        <source>Settings…</source>
        <translation>Einstellungen…</translation>
    </message>
    <message>
        <source>Ctrl+Alt+S</source>
        <translation>Ctrl+Alt+S</translation>
    </message>
    <message>
        <source>Open the data folder</source>
        <translation>Datenordner öffnen</translation>
    </message>
    <message>
        <source>Ctrl+Alt+D</source>
        <translation>Ctrl+Alt+D</translation>
    </message>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>Tastenkürzel</translation>
    </message>
    <message>
        <source>About Vitrine</source>
        <translation>Über Vitrine</translation>
    </message>
    <message>
        <source>Shift+F1</source>
        <translation>Shift+F1</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>Beenden</translation>
    </message>
    <message>
        <source>Menu</source>
        <translation>Menü</translation>
    </message>
    <message>
        <source>Stop the answer</source>
        <translation>Antwort anhalten</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>Enter</source>
        <translation>Eingabe</translation>
    </message>
    <message>
        <source>New line</source>
        <translation>Neue Zeile</translation>
    </message>
    <message>
        <source>Shift+Enter</source>
        <translation>Umschalt+Eingabe</translation>
    </message>
    <message>
        <source>The conversation fills the context of %1 tokens.</source>
        <translation>Das Gespräch füllt den Kontext von %1 Token.</translation>
    </message>
    <message>
        <source>the oldest turn</source>
        <translation>die älteste Runde</translation>
    </message>
    <message>
        <source>the oldest %1 turns</source>
        <translation>die ältesten %1 Runden</translation>
    </message>
    <message>
        <source>%1 tokens, and the context holds %2: %3 (%4 tokens) will not be seen by the model.</source>
        <translation>%1 Token, und der Kontext fasst %2: Das Modell wird %3 (%4 Token) nicht sehen.</translation>
    </message>
    <message>
        <source>Do not leave out anything</source>
        <translation>Nichts weglassen</translation>
    </message>
    <message>
        <source>Messages that do not fit are refused in this chat from now on</source>
        <translation>Nachrichten, die nicht passen, werden in diesem Chat von jetzt an abgelehnt</translation>
    </message>
    <message>
        <source>Too long: %1 tokens, and the context holds %2 with room for an answer. Nothing is cut; shorten the message or begin a new chat.</source>
        <translation>Zu lang: %1 Token, und der Kontext fasst %2 mit Platz für eine Antwort. Nichts wird weggelassen; kürzen Sie die Nachricht oder beginnen Sie einen neuen Chat.</translation>
    </message>
    <message>
        <source>Too long: %1 tokens, and the context holds %2 with room for an answer. Nothing is cut unless you want it.</source>
        <translation>Zu lang: %1 Token, und der Kontext fasst %2 mit Platz für eine Antwort. Nichts wird weggelassen, wenn Sie es nicht wollen.</translation>
    </message>
    <message>
        <source>Leave out %1 (%2 tokens)</source>
        <translation>%1 weglassen (%2 Token)</translation>
    </message>
    <message>
        <source>The oldest turns that do not fit are not given to the model, in this chat from now on. They stay in the chat, and are marked.</source>
        <translation>Die ältesten Runden, die nicht passen, bekommt das Modell in diesem Chat von jetzt an nicht. Sie bleiben im Chat und werden gekennzeichnet.</translation>
    </message>
    <message>
        <source>No model is open. Open one first (Ctrl+O).</source>
        <translation>Kein Modell ist offen. Öffnen Sie zuerst eines (Strg+O).</translation>
    </message>
    <message>
        <source>This model has no usable chat template.</source>
        <translation>Dieses Modell hat keine brauchbare Chat-Vorlage.</translation>
    </message>
    <message>
        <source>Not sent: %1</source>
        <translation>Nicht gesendet: %1</translation>
    </message>
    <message>
        <source>Your text is back in the field below.</source>
        <translation>Ihr Text steht wieder im Feld darunter.</translation>
    </message>
    <message>
        <source>Leave out the oldest turns</source>
        <translation>Die ältesten Runden weglassen</translation>
    </message>
    <message>
        <source>Leave out the oldest turns and send</source>
        <translation>Die ältesten Runden weglassen und senden</translation>
    </message>
    <message>
        <source>What does not fit is not given to the model, in this chat from now on</source>
        <translation>Was nicht passt, bekommt das Modell in diesem Chat von jetzt an nicht</translation>
    </message>
    <message>
        <source>Join and send</source>
        <translation>Verbinden und senden</translation>
    </message>
    <message>
        <source>Neighbouring messages of one side are sent as one, in this chat from now on</source>
        <translation>Benachbarte Nachrichten einer Seite werden in diesem Chat von jetzt an als eine gesendet</translation>
    </message>
    <message>
        <source>Move system prompt and send</source>
        <translation>Systemprompt verschieben und senden</translation>
    </message>
    <message>
        <source>The system prompt is put in front of your first message, in this chat from now on</source>
        <translation>Der Systemprompt wird in diesem Chat von jetzt an vor Ihre erste Nachricht gesetzt</translation>
    </message>
    <message>
        <source>“%1” was deleted.</source>
        <translation>„%1“ wurde gelöscht.</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Write a message below</source>
        <translation>Schreiben Sie unten eine Nachricht</translation>
    </message>
    <message>
        <source>Opening %1 …</source>
        <translation>%1 wird geöffnet …</translation>
    </message>
    <message>
        <source>You can write already; the message is sent when the model is ready.</source>
        <translation>Sie können schon schreiben; die Nachricht wird gesendet, wenn das Modell bereit ist.</translation>
    </message>
    <message>
        <source>No model is open</source>
        <translation>Kein Modell ist offen</translation>
    </message>
    <message>
        <source>Drop a .gguf file here, or open one with Ctrl+O. It stays where it is, and nothing you write leaves this computer.</source>
        <translation>Legen Sie hier eine .gguf-Datei ab oder öffnen Sie eine mit Strg+O. Sie bleibt, wo sie ist, und nichts, was Sie schreiben, verlässt diesen Rechner.</translation>
    </message>
    <message>
        <source>%1 cannot chat</source>
        <translation>%1 kann nicht chatten</translation>
    </message>
    <message>
        <source>The file has no chat template, so there is no way to tell how a conversation has to look. Its name would be a guess, and a wrong guess makes a model talk nonsense. Open another one with Ctrl+O.</source>
        <translation>Die Datei hat keine Chat-Vorlage, also lässt sich nicht sagen, wie ein Gespräch auszusehen hat. Ihr Name wäre geraten, und falsch Geratenes lässt ein Modell Unsinn reden. Öffnen Sie mit Strg+O ein anderes.</translation>
    </message>
    <message>
        <source>Its chat template cannot be used: %1</source>
        <translation>Seine Chat-Vorlage kann nicht benutzt werden: %1</translation>
    </message>
    <message>
        <source>%1 answers: the small built-in model, fluent but without much knowledge. Open a better one with Ctrl+O.

While it writes, the KV cache fills block by block on the right, and each token becomes a point on the time line. Begin a second chat with the same words to see blocks shared.</source>
        <translation>%1 antwortet: das kleine eingebaute Modell, flüssig, aber ohne viel Wissen. Öffnen Sie mit Strg+O ein besseres.

Während es schreibt, füllt sich rechts der KV-Cache Block um Block, und jedes Token wird ein Punkt auf der Zeitachse. Beginnen Sie einen zweiten Chat mit denselben Wörtern, um geteilte Blöcke zu sehen.</translation>
    </message>
    <message>
        <source>%1 answers, on this computer. While it writes, the KV cache fills block by block on the right, and each token becomes a point on the time line. Begin a second chat with the same words to see blocks shared.</source>
        <translation>%1 antwortet, auf diesem Rechner. Während es schreibt, füllt sich rechts der KV-Cache Block um Block, und jedes Token wird ein Punkt auf der Zeitachse. Beginnen Sie einen zweiten Chat mit denselben Wörtern, um geteilte Blöcke zu sehen.</translation>
    </message>
    <message>
        <source>Export this chat</source>
        <translation>Diesen Chat exportieren</translation>
    </message>
    <message>
        <source>Markdown (*.md)</source>
        <translation>Markdown (*.md)</translation>
    </message>
    <message>
        <source>JSON, all branches (*.json)</source>
        <translation>JSON, alle Zweige (*.json)</translation>
    </message>
    <message>
        <source>Exported to %1.</source>
        <translation>Exportiert nach %1.</translation>
    </message>
    <message>
        <source>%1 could not be written: %2. Choose another folder.</source>
        <translation>%1 konnte nicht geschrieben werden: %2. Wählen Sie einen anderen Ordner.</translation>
    </message>
    <message>
        <source>Import chats</source>
        <translation>Chats importieren</translation>
    </message>
    <message>
        <source>Conversations (*.json);;All files (*)</source>
        <translation>Gespräche (*.json);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>It has %1; conversations up to %2 can be read.</source>
        <translation>Sie hat %1; Gespräche bis %2 können gelesen werden.</translation>
    </message>
    <message>
        <source>%1 was not imported: %2</source>
        <translation>%1 wurde nicht importiert: %2</translation>
    </message>
    <message>
        <source>One chat was imported.</source>
        <translation>Ein Chat wurde importiert.</translation>
    </message>
    <message>
        <source>%1 chats were imported.</source>
        <translation>%1 Chats wurden importiert.</translation>
    </message>
    <message>
        <source>The model used last, %1, is not there any more.</source>
        <translation>Das zuletzt benutzte Modell %1 ist nicht mehr da.</translation>
    </message>
    <message>
        <source>Vitrine ended while it was opening %1 last time, so it was not opened again by itself.</source>
        <translation>Vitrine endete beim letzten Mal, während es %1 öffnete, deshalb wurde es nicht von selbst wieder geöffnet.</translation>
    </message>
    <message>
        <source>Open it anyway</source>
        <translation>Trotzdem öffnen</translation>
    </message>
    <message>
        <source>Open another…</source>
        <translation>Ein anderes öffnen…</translation>
    </message>
    <message>
        <source>The program ended while it was opening %1 last time.</source>
        <translation>Das Programm endete beim letzten Mal, während es %1 öffnete.</translation>
    </message>
    <message>
        <source>There is no model to open: name one with --model.</source>
        <translation>Es gibt kein Modell zu öffnen: Nennen Sie eines mit --model.</translation>
    </message>
    <message>
        <source>%1
Click to open another one (Ctrl+O).</source>
        <translation>%1
Klicken öffnet ein anderes (Strg+O).</translation>
    </message>
    <message>
        <source>%1 has no chat template, so it cannot chat.</source>
        <translation>%1 hat keine Chat-Vorlage und kann deshalb nicht chatten.</translation>
    </message>
    <message>
        <source>The chat template of %1 cannot be used: %2</source>
        <translation>Die Chat-Vorlage von %1 kann nicht benutzt werden: %2</translation>
    </message>
    <message>
        <source>%1 was not opened: %2</source>
        <translation>%1 wurde nicht geöffnet: %2</translation>
    </message>
    <message>
        <source>%1 still answers.</source>
        <translation>%1 antwortet weiterhin.</translation>
    </message>
    <message>
        <source>Use the built-in model</source>
        <translation>Das eingebaute Modell benutzen</translation>
    </message>
    <message>
        <source>Cancel opening</source>
        <translation>Öffnen abbrechen</translation>
    </message>
    <message>
        <source>%1  ·  cannot be opened</source>
        <translation>%1  ·  nicht zu öffnen</translation>
    </message>
    <message>
        <source>%1  ·  %2</source>
        <translation>%1  ·  %2</translation>
    </message>
    <message>
        <source>%1  ·  used last</source>
        <translation>%1  ·  zuletzt benutzt</translation>
    </message>
    <message>
        <source>Small built-in model (16 M)</source>
        <translation>Kleines eingebautes Modell (16 M)</translation>
    </message>
    <message>
        <source>All models…</source>
        <translation>Alle Modelle…</translation>
    </message>
    <message>
        <source>Open a GGUF file…</source>
        <translation>Eine GGUF-Datei öffnen…</translation>
    </message>
    <message>
        <source>Open a Hugging Face folder…</source>
        <translation>Einen Hugging-Face-Ordner öffnen…</translation>
    </message>
    <message>
        <source>Precision of the cache</source>
        <translation>Genauigkeit des Cache</translation>
    </message>
    <message>
        <source>Tokens in a block</source>
        <translation>Token in einem Block</translation>
    </message>
    <message>
        <source>Open a model</source>
        <translation>Ein Modell öffnen</translation>
    </message>
    <message>
        <source>GGUF models (*.gguf);;All files (*)</source>
        <translation>GGUF-Modelle (*.gguf);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Open a folder with config.json and safetensors files</source>
        <translation>Einen Ordner mit config.json und safetensors-Dateien öffnen</translation>
    </message>
    <message>
        <source>New chats begin with these settings.</source>
        <translation>Neue Chats beginnen mit diesen Einstellungen.</translation>
    </message>
    <message>
        <source>Save as preset</source>
        <translation>Als Profil speichern</translation>
    </message>
    <message>
        <source>Name of the preset</source>
        <translation>Name des Profils</translation>
    </message>
    <message>
        <source>Theme: %1</source>
        <translation>Design: %1</translation>
    </message>
    <message>
        <source>Earlier messages</source>
        <translation>Frühere Nachrichten</translation>
    </message>
    <message>
        <source>Up, Down</source>
        <translation>Auf, Ab</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::ModelPicker</name>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>Search models</source>
        <translation>Modelle durchsuchen</translation>
    </message>
    <message>
        <source>Models of this computer</source>
        <translation>Modelle dieses Rechners</translation>
    </message>
    <message>
        <source>About the selected model</source>
        <translation>Über das gewählte Modell</translation>
    </message>
    <message>
        <source>as trained</source>
        <translation>wie trainiert</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>Kontext</translation>
    </message>
    <message>
        <source>Most tokens of one conversation. More needs more memory for the KV cache.</source>
        <translation>Höchstens so viele Token in einem Gespräch. Mehr brauchen mehr Speicher für den KV-Cache.</translation>
    </message>
    <message>
        <source>Precision of the KV cache</source>
        <translation>Genauigkeit des KV-Cache</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>File…</source>
        <translation>Datei…</translation>
    </message>
    <message>
        <source>A GGUF file that is somewhere else</source>
        <translation>Eine GGUF-Datei, die woanders liegt</translation>
    </message>
    <message>
        <source>Folder…</source>
        <translation>Ordner…</translation>
    </message>
    <message>
        <source>A Hugging Face folder that is somewhere else</source>
        <translation>Ein Hugging-Face-Ordner, der woanders liegt</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>KV cache</source>
        <translation>KV-Cache</translation>
    </message>
    <message>
        <source>Looking for models …</source>
        <translation>Modelle werden gesucht …</translation>
    </message>
    <message>
        <source>No models were found. Open a file, or name a folder in the settings.</source>
        <translation>Es wurden keine Modelle gefunden. Öffnen Sie eine Datei, oder nennen Sie in den Einstellungen einen Ordner.</translation>
    </message>
    <message>
        <source>1 model</source>
        <translation>1 Modell</translation>
    </message>
    <message>
        <source>%1 models</source>
        <translation>%1 Modelle</translation>
    </message>
    <message>
        <source>%1 parameters, trained for %2 tokens</source>
        <translation>%1 Parameter, trainiert für %2 Token</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::ModelTable</name>
    <message>
        <source>cannot be opened</source>
        <translation>nicht zu öffnen</translation>
    </message>
    <message>
        <source>fits · %1</source>
        <translation>passt · %1</translation>
    </message>
    <message>
        <source>fits with %1 tokens</source>
        <translation>passt mit %1 Token</translation>
    </message>
    <message>
        <source>too large</source>
        <translation>zu groß</translation>
    </message>
    <message>
        <source>weights %1 + KV cache %2 + workspace %3 = %4</source>
        <translation>Gewichte %1 + KV-Cache %2 + Arbeitsbereich %3 = %4</translation>
    </message>
    <message>
        <source>%1; %2 are free.</source>
        <translation>%1; %2 sind frei.</translation>
    </message>
    <message>
        <source>%1; %2 are free, so the context is shortened to %3 tokens.</source>
        <translation>%1; %2 sind frei, deshalb wird der Kontext auf %3 Token gekürzt.</translation>
    </message>
    <message>
        <source>%1, and %2 are free. Close other programs, or choose a smaller format or model. %3</source>
        <translation>%1, und %2 sind frei. Schließen Sie andere Programme, oder wählen Sie ein kleineres Format oder Modell. %3</translation>
    </message>
    <message>
        <source>%1; how much memory is free is not known. %2</source>
        <translation>%1; wie viel Speicher frei ist, ist nicht bekannt. %2</translation>
    </message>
    <message>
        <source>%1, %2, %3</source>
        <translation>%1, %2, %3</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Architecture</source>
        <translation>Architektur</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>Format</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>Größe</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>Found in</source>
        <translation>Gefunden in</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::NoticeBar</name>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Close this notice</source>
        <translation>Diese Meldung schließen</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::PanelDocks</name>
    <message>
        <source>Drag to move this panel; double-click to float it</source>
        <translation>Ziehen verschiebt dieses Feld; Doppelklick löst es</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::ScriptRun</name>
    <message>
        <source>%1 cannot be written: %2</source>
        <translation>%1 kann nicht geschrieben werden: %2</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::SettingsDialog</name>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>Window</source>
        <translation>Fenster</translation>
    </message>
    <message>
        <source>As the desktop</source>
        <translation>Wie der Desktop</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>Design</translation>
    </message>
    <message>
        <source>Colours of the window</source>
        <translation>Farben des Fensters</translation>
    </message>
    <message>
        <source>As the system</source>
        <translation>Wie das System</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>Sprache</translation>
    </message>
    <message>
        <source>Language of the window</source>
        <translation>Sprache des Fensters</translation>
    </message>
    <message>
        <source>The language changes with the next start.</source>
        <translation>Die Sprache wechselt mit dem nächsten Start.</translation>
    </message>
    <message>
        <source> times a second</source>
        <translation> mal je Sekunde</translation>
    </message>
    <message>
        <source>Panels are refreshed</source>
        <translation>Felder werden erneuert</translation>
    </message>
    <message>
        <source>At most; fewer leave more time to a slow computer</source>
        <translation>Höchstens; weniger lässt einem langsamen Rechner mehr Zeit</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>Vitrine looks into %1 and into these folders:</source>
        <translation>Vitrine sieht in %1 und in diese Ordner:</translation>
    </message>
    <message>
        <source>Folders with models</source>
        <translation>Ordner mit Modellen</translation>
    </message>
    <message>
        <source>Add a folder…</source>
        <translation>Ordner hinzufügen…</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Forgets this folder; nothing in it is deleted</source>
        <translation>Vergisst diesen Ordner; nichts darin wird gelöscht</translation>
    </message>
    <message>
        <source>Also models of LM Studio, GPT4All, Jan and the Hugging Face cache</source>
        <translation>Auch Modelle von LM Studio, GPT4All, Jan und aus dem Hugging-Face-Cache</translation>
    </message>
    <message>
        <source>They are used where they are; nothing is copied or changed</source>
        <translation>Sie werden benutzt, wo sie sind; nichts wird kopiert oder geändert</translation>
    </message>
    <message>
        <source>Engine</source>
        <translation>Maschine</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>Automatisch</translation>
    </message>
    <message>
        <source>Processor</source>
        <translation>Prozessor</translation>
    </message>
    <message>
        <source>NVIDIA GPU</source>
        <translation>NVIDIA-GPU</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>Gerät</translation>
    </message>
    <message>
        <source>What computes. A GPU that cannot be used is said when the model is opened.</source>
        <translation>Was rechnet. Eine GPU, die nicht benutzt werden kann, wird beim Öffnen des Modells genannt.</translation>
    </message>
    <message>
        <source>one for each core</source>
        <translation>einer je Kern</translation>
    </message>
    <message>
        <source>Threads</source>
        <translation>Threads</translation>
    </message>
    <message>
        <source>Of the processor</source>
        <translation>Des Prozessors</translation>
    </message>
    <message>
        <source>as trained</source>
        <translation>wie trainiert</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>Kontext</translation>
    </message>
    <message>
        <source>Most tokens of one conversation. More needs more memory for the KV cache.</source>
        <translation>Höchstens so viele Token in einem Gespräch. Mehr brauchen mehr Speicher für den KV-Cache.</translation>
    </message>
    <message>
        <source>Tokens in a KV block</source>
        <translation>Token in einem KV-Block</translation>
    </message>
    <message>
        <source>Small blocks waste less, large ones need shorter tables</source>
        <translation>Kleine Blöcke vergeuden weniger, große brauchen kürzere Tabellen</translation>
    </message>
    <message>
        <source>Precision of the KV cache</source>
        <translation>Genauigkeit des KV-Cache</translation>
    </message>
    <message>
        <source>F32 takes twice the memory of F16 and BF16</source>
        <translation>F32 braucht doppelt so viel Speicher wie F16 und BF16</translation>
    </message>
    <message>
        <source>what is free</source>
        <translation>was frei ist</translation>
    </message>
    <message>
        <source>Memory budget</source>
        <translation>Speicherbudget</translation>
    </message>
    <message>
        <source>For weights, KV cache and workspace together</source>
        <translation>Für Gewichte, KV-Cache und Arbeitsbereich zusammen</translation>
    </message>
    <message>
        <source>Data</source>
        <translation>Daten</translation>
    </message>
    <message>
        <source>Open the data folder</source>
        <translation>Datenordner öffnen</translation>
    </message>
    <message>
        <source>Apply</source>
        <translation>Anwenden</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Folder with models</source>
        <translation>Ordner mit Modellen</translation>
    </message>
    <message>
        <source>%1 (not there now)</source>
        <translation>%1 (gerade nicht da)</translation>
    </message>
    <message>
        <source>Chats, settings and the log lie in %1. To remove all of it, close Vitrine and delete that folder. Vitrine&apos;s own models lie in %2.</source>
        <translation>Chats, Einstellungen und Protokoll liegen in %1. Um alles zu entfernen, Vitrine schließen und diesen Ordner löschen. Vitrines eigene Modelle liegen in %2.</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::StatusStrip</name>
    <message>
        <source>Device, speed, memory</source>
        <translation>Gerät, Tempo, Speicher</translation>
    </message>
    <message>
        <source>No model is loaded</source>
        <translation>Kein Modell ist geladen</translation>
    </message>
    <message>
        <source>tok/s</source>
        <translation>tok/s</translation>
    </message>
    <message>
        <source> · %1 % of measured read bandwidth</source>
        <translation> · %1 % der gemessenen Lesebandbreite</translation>
    </message>
    <message>
        <source> GB/s</source>
        <translation> GB/s</translation>
    </message>
    <message>
        <source>weights %1, KV %2, workspace %3</source>
        <translation>Gewichte %1, KV %2, Arbeitsbereich %3</translation>
    </message>
    <message>
        <source>free %1</source>
        <translation>frei %1</translation>
    </message>
    <message>
        <source>weights %1 · KV %2 · workspace %3</source>
        <translation>Gewichte %1 · KV %2 · Arbeitsbereich %3</translation>
    </message>
    <message>
        <source>tok/s: tokens of all answers together over the last second of decoding.
GB/s: bytes of weights read for these tokens, and their share of what this machine reads from memory, measured when the model was loaded.
Memory: weights %1, KV pool %2, workspace %3.</source>
        <translation>tok/s: Token aller Antworten zusammen in der letzten Sekunde des Dekodierens.
GB/s: für diese Token gelesene Bytes der Gewichte, und ihr Anteil an dem, was dieser Rechner aus dem Speicher liest, gemessen beim Laden des Modells.
Speicher: Gewichte %1, KV-Vorrat %2, Arbeitsbereich %3.</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::StepControl</name>
    <message>
        <source>Pause the engine after this iteration (F6)</source>
        <translation>Die Maschine nach dieser Iteration anhalten (F6)</translation>
    </message>
    <message>
        <source>One iteration (F7)</source>
        <translation>Eine Iteration (F7)</translation>
    </message>
    <message>
        <source>Run as fast as it can (F8)</source>
        <translation>So schnell laufen, wie es geht (F8)</translation>
    </message>
    <message>
        <source>Pause the engine</source>
        <translation>Die Maschine anhalten</translation>
    </message>
    <message>
        <source>One iteration</source>
        <translation>Eine Iteration</translation>
    </message>
    <message>
        <source>Run slowly</source>
        <translation>Langsam laufen</translation>
    </message>
    <message>
        <source>Run</source>
        <translation>Laufen</translation>
    </message>
    <message>
        <source>Engine</source>
        <translation>Maschine</translation>
    </message>
    <message numerus="yes">
        <source>Run slowly, %n iteration(s) a second (F9). The wheel or a right click changes it, Shift+F9 and Ctrl+F9 as well.</source>
        <translation>
            <numerusform>Langsam laufen, %n Iteration je Sekunde (F9). Das Rad oder ein Rechtsklick ändert es, Umschalt+F9 und Strg+F9 auch.</numerusform>
            <numerusform>Langsam laufen, %n Iterationen je Sekunde (F9). Das Rad oder ein Rechtsklick ändert es, Umschalt+F9 und Strg+F9 auch.</numerusform>
        </translation>
    </message>
    <message>
        <source>no model</source>
        <translation>kein Modell</translation>
    </message>
    <message>
        <source>paused at iteration %1</source>
        <translation>angehalten bei Iteration %1</translation>
    </message>
    <message>
        <source>%1 a second</source>
        <translation>%1 je Sekunde</translation>
    </message>
    <message>
        <source>run</source>
        <translation>läuft</translation>
    </message>
    <message numerus="yes">
        <source>%n iteration(s) a second</source>
        <translation>
            <numerusform>%n Iteration je Sekunde</numerusform>
            <numerusform>%n Iterationen je Sekunde</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>vitrine::ui::StoreThread</name>
    <message>
        <source>Chats are saved again; nothing was lost.</source>
        <translation>Chats werden wieder gespeichert; nichts ging verloren.</translation>
    </message>
    <message>
        <source>Your chats cannot be saved at the moment (%1). They go on in memory; saving is tried again every few seconds.</source>
        <translation>Ihre Chats können gerade nicht gespeichert werden (%1). Sie gehen im Arbeitsspeicher weiter; das Speichern wird alle paar Sekunden wieder versucht.</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::TemplateDialog</name>
    <message>
        <source>Chat template</source>
        <translation>Chat-Vorlage</translation>
    </message>
    <message>
        <source>The template (Jinja) turns the messages into the one text that the model reads. A change holds for this chat alone; what it makes of this conversation stands on the right.</source>
        <translation>Die Vorlage (Jinja) macht aus den Nachrichten den einen Text, den das Modell liest. Eine Änderung gilt für diesen Chat allein; was sie aus diesem Gespräch macht, steht rechts.</translation>
    </message>
    <message>
        <source>Template</source>
        <translation>Vorlage</translation>
    </message>
    <message>
        <source>This conversation, rendered</source>
        <translation>Dieses Gespräch, ausgefüllt</translation>
    </message>
    <message>
        <source>Result</source>
        <translation>Ergebnis</translation>
    </message>
    <message>
        <source>The model&apos;s own</source>
        <translation>Die des Modells</translation>
    </message>
    <message>
        <source>Puts the template of the model file back into the editor</source>
        <translation>Setzt die Vorlage der Modelldatei wieder in das Feld</translation>
    </message>
    <message>
        <source>Use in this chat</source>
        <translation>In diesem Chat benutzen</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>%1 tokens, with the control tokens that the template writes.</source>
        <translation>%1 Token, mit den Steuertoken, die die Vorlage schreibt.</translation>
    </message>
    <message>
        <source>This template cannot be used: %1</source>
        <translation>Diese Vorlage kann nicht benutzt werden: %1</translation>
    </message>
</context>
<context>
    <name>vitrine::ui::TopBar</name>
    <message>
        <source>Menu</source>
        <translation>Menü</translation>
    </message>
    <message>
        <source>View, theme, data, help (F10)</source>
        <translation>Ansicht, Design, Daten, Hilfe (F10)</translation>
    </message>
    <message>
        <source>The model that answers. Click to open another one (Ctrl+O).</source>
        <translation>Das Modell, das antwortet. Klicken öffnet ein anderes (Strg+O).</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>Kein Modell</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>Format</translation>
    </message>
    <message>
        <source>KV</source>
        <translation>KV</translation>
    </message>
    <message>
        <source>Open a model first.</source>
        <translation>Öffnen Sie zuerst ein Modell.</translation>
    </message>
    <message>
        <source>Precision of the weights as the file stores them, and the memory they take: %1 parameters, architecture %2, %3 layers.</source>
        <translation>Genauigkeit der Gewichte, wie die Datei sie speichert, und der Speicher, den sie brauchen: %1 Parameter, Architektur %2, %3 Schichten.</translation>
    </message>
    <message>
        <source>%1-token blocks</source>
        <translation>Blöcke zu %1 Token</translation>
    </message>
    <message>
        <source>Precision of the KV cache and size of its blocks: %1 blocks, %2. A change opens the model again; the chats stay.</source>
        <translation>Genauigkeit des KV-Cache und Größe seiner Blöcke: %1 Blöcke, %2. Eine Änderung öffnet das Modell neu; die Chats bleiben.</translation>
    </message>
    <message>
        <source>Loading</source>
        <translation>Lädt</translation>
    </message>
    <message>
        <source>%1 %</source>
        <translation>%1 %</translation>
    </message>
</context>
</TS>
