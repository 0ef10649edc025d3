/* linkwords.h -- the words of a signed link's page, in the languages of the page.
 *
 * One table: a line is a word in every language, so none can be forgotten. {} stands for what is
 * filled in. The buttons are called as the page calls them (web/src/words). What the server says of
 * a form that does not fit is English at every door, and is marked so.
 */
#ifndef PARLEY_LINKWORDS_H
#define PARLEY_LINKWORDS_H

#include "base/buf.h"
#include "base/str.h"

#define LINK_WORDS(W)                                                                             \
    W(waiting, "A decision is waiting", "Eine Entscheidung wartet", "承認を待っている依頼")       \
    W(asked_by, "Asked for by", "Angefragt von", "依頼者")                                        \
    W(said, "Their words", "Im Wortlaut", "依頼の言葉")                                           \
    W(changed_by, "Changed by", "Geändert von", "変更した人")                                     \
    W(was, "{} before", "{} vorher", "変更前の {}")                                               \
    W(decided_by, "Decided by", "Entscheidung durch", "決める人")                                 \
    W(yes_of, "Has said yes", "Hat Ja gesagt", "承認した人")                                      \
    W(yes_void, "Yes that does not count any more", "Ja, das nicht mehr zählt",                   \
      "無効になった承認")                                                                         \
    W(still, "Yeses still needed", "Noch nötig", "あと必要な承認")                                \
    W(in_order, "to be read from left to right", "von links nach rechts zu lesen",                \
      "左から右へ読みます")                                                                       \
    W(tool, "Tool", "Werkzeug", "ツール")                                                         \
    W(risk, "Risk", "Risiko", "リスク")                                                           \
    W(risk_low, "low", "gering", "低い")                                                          \
    W(risk_high, "high", "hoch", "高い")                                                          \
    W(waits_until, "Waits until", "Wartet bis", "回答の期限")                                     \
    W(good_until, "This link is good until", "Dieser Link gilt bis", "リンクの有効期限")          \
    W(reason, "Reason (if you like)", "Begründung (wenn Sie möchten)", "理由（任意）")            \
    W(approve, "Approve", "Freigeben", "承認")                                                    \
    W(deny, "Deny", "Ablehnen", "拒否")                                                           \
    W(decide_as, "You decide as {}.", "Sie entscheiden als {}.", "{} として回答します。")         \
    W(said_yes, "You said yes", "Sie haben freigegeben", "承認しました")                          \
    W(said_no, "You said no", "Sie haben abgelehnt", "拒否しました")                              \
    W(recorded, "It is recorded under your name. You may close this page.",                       \
      "Das ist unter Ihrem Namen festgehalten. Sie können diese Seite schließen.",                \
      "あなたの名前で記録されました。このページは閉じてかまいません。")                           \
    W(counted, "Your yes is counted; others have to say yes, too. You may close this page.",      \
      "Ihr Ja zählt; andere müssen noch zustimmen. Sie können diese Seite schließen.",            \
      "あなたの承認を数えました。ほかの人の承認も必要です。このページは閉じてかまいません。")     \
    W(changed, "You changed it", "Sie haben es geändert", "変更しました")                         \
    W(asked_anew,                                                                                 \
      "What you changed it to is asked about now. Nothing happens before it is decided.",         \
      "Gefragt wird jetzt nach Ihrer Fassung. Vor der Entscheidung darüber geschieht nichts.",    \
      "変更後の内容について確認しています。決まるまでは何も行われません。")                       \
    W(not_now, "Not now", "Gerade nicht möglich", "今はできません")                               \
    W(not_saved, "It could not be saved. Try again in a moment.",                                 \
      "Es konnte nicht gespeichert werden. Versuchen Sie es gleich noch einmal.",                 \
      "保存できませんでした。少し待ってから、もう一度お試しください。")                           \
    W(void_link, "This link is of no use", "Dieser Link ist nicht gültig",                        \
      "このリンクは使えません")                                                                   \
    W(void_why,                                                                                   \
      "It is not one of ours, its time is over, or what it asked about is decided. Nothing was "  \
      "changed.",                                                                                 \
      "Er ist nicht von uns, seine Zeit ist um, oder die Sache ist schon entschieden. Es wurde "  \
      "nichts geändert.",                                                                         \
      "こちらのリンクではないか、期限が切れたか、すでに決定されています。何も変わっていません。") \
    W(not_yours, "Not yours to decide", "Nicht Ihre Entscheidung",                                \
      "あなたが決めるものではありません")                                                         \
    W(not_yours_why, "Somebody else has to decide this.",                                         \
      "Darüber muss jemand anderes entscheiden.", "ほかの人が決める必要があります。")             \
    W(undecided, "Nothing was decided", "Es wurde nichts entschieden", "何も決定されていません")  \
    W(elsewhere, "Answer it in the conversation, or in your inbox.",                              \
      "Antworten Sie im Gespräch oder in Ihrem Eingang.",                                         \
      "会話の中か、受信箱で回答してください。")                                                   \
    W(press, "Press Approve or Deny.", "Drücken Sie „Freigeben“ oder „Ablehnen“.",                \
      "「承認」か「拒否」を押してください。")                                                     \
    W(no_name, "no name", "ohne Namen", "名前なし")                                               \
    W(empty, "empty", "leer", "空")                                                               \
    W(yes, "Yes", "Ja", "はい")                                                                   \
    W(no, "No", "Nein", "いいえ")                                                                 \
    W(needed, "(needed)", "(nötig)", "（必須）")                                                  \
    W(misfit, "This does not fit:", "Das passt nicht:", "入力が合いません：")                     \
    W(unreadable, "The form cannot be read.", "Das Formular ist nicht lesbar.",                   \
      "フォームを読み取れません。")                                                               \
    /* begins with the place: that is how its field is found */                                   \
    W(too_many, "/{} was given more values than it takes.",                                       \
      "/{} hat mehr Werte bekommen, als dort stehen können.", "/{} の値が多すぎます。")           \
    W(not_changed, "\"/{}\" may not be changed here; deny with a reason instead.",                \
      "\"/{}\" kann hier nicht geändert werden; lehnen Sie stattdessen mit einer Begründung ab.", \
      "\"/{}\" はここでは変更できません。代わりに、理由を添えて拒否してください。")

struct linkwords {
    const char *lang; /* "en", "de", "ja" */
#define LINK_WORD_MEMBER(name, en, de, ja) const char *name;
    LINK_WORDS(LINK_WORD_MEMBER)
#undef LINK_WORD_MEMBER
};

/* The one of `offered` ("de", "en"; at least one) that the header Accept-Language wants most; the
 * first of them where it wants none. */
const struct linkwords *linkwords_for(const struct str *offered, size_t count,
                                      struct str accept_language);
/* Appends `words` with `value` in the place of its {}; `put` writes the value. */
void                    linkwords_fill(struct buf *out, const char *words, struct str value,
                                       void (*put)(struct buf *, struct str));

#endif
