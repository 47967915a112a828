//! Reads what CJK scripts say beside a word of a verdict.

use super::text::is_cjk;
use super::words::{self, Limit};

/// Text in CJK scripts that follows a complete word directly and only affirms it.
const AFFIRMATIONS: &[&str] = &[
    "です",
    "でした",
    "だ",
    "だった",
    "である",
    "であります",
    "しました",
    "した",
    "済み",
    "済",
    "ですね",
    "ですよ",
    "となりました",
    "になりました",
    "と判定します",
    "と判定しました",
    "と判断します",
    "と判断しました",
    "とします",
    "とする",
    "完了",
    "完了です",
    "完了しました",
    "了",
    "입니다",
];

/// Pieces of text in CJK scripts that negate or limit.
const LIMITS: &[&str] = &[
    "ない", "無い", "なし", "無し", "ません", "ませぬ", "ず、", "せず", "未", "不", "非", "否", "まだ",
    "以外", "除", "だが", "ですが", "けど", "けれど", "しかし", "ただし", "但", "一部", "部分", "ほぼ",
    "殆ど", "ほとんど", "だけ", "のみ", "残", "失敗", "エラー", "かも", "だろう", "でしょう", "と思", "はず",
    "予定", "途中", "没", "無", "无", "别", "別に", "几乎", "差", "还", "還", "失败", "錯誤", "错误", "吗",
    "嗎", "か。", "아니", "아님", "않", "안 ", "못", "미완", "거의", "제외", "실패", "지만", "違", "嘘",
    "誤", "待", "とはいえ", "らず", "難", "中止", "断念", "不明", "中です",
];

const CONDITIONS: &[&str] = &[
    "場合", "なら", "たら", "れば", "とき", "時は", "もし", "まで", "如果", "若", "当", "要是", "면 ", "条件",
];

/// Bad things: their absence is good news.
const BAD: &[&str] = &[
    "問題", "失敗", "エラー", "不具合", "警告", "残り", "残件", "指摘", "残課題", "错误", "错誤", "问题",
    "異常", "失败",
];

const ABSENCES: &[&str] = &[
    "はありません",
    "はございません",
    "ありません",
    "はない",
    "もない",
    "はなし",
    "もなし",
    "なし",
    "無し",
    "ゼロ",
    "は0件",
    "0件",
];

/// Tells what a text in CJK scripts does to the complete word that it stands beside.
pub(super) fn limit_of(text: &str) -> Limit {
    if !text.chars().any(is_cjk) {
        return Limit::Free;
    }
    let mut rest = text.to_owned();
    for bad in BAD {
        for absence in ABSENCES {
            rest = rest.replace(&format!("{bad}{absence}"), "");
        }
        for absence in ["没有", "无", "無"] {
            rest = rest.replace(&format!("{absence}{bad}"), "");
        }
    }
    let ends_with_question = rest.trim_end().ends_with('か');
    if CONDITIONS.iter().any(|piece| rest.contains(piece)) {
        Limit::Conditional
    } else if ends_with_question || LIMITS.iter().any(|piece| rest.contains(piece)) {
        Limit::Limited
    } else {
        Limit::Free
    }
}

/// Reads CJK text that follows a word without a separator: `Some(true)` affirms, `Some(false)`
/// negates or limits, `None` says nothing about it (`COMPLETEの場合`).
pub(super) fn read_suffix(suffix: &str) -> Option<bool> {
    let core = suffix.trim().trim_end_matches(['。', '．', '.', '!', '！']);
    if AFFIRMATIONS.contains(&core) {
        return Some(true);
    }
    (words::limit_of(suffix) == Limit::Limited).then_some(false)
}
