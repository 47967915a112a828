//! Reads what CJK scripts say beside a word of a verdict.

use super::limits::{self, Limit};
use crate::verdict::text::is_cjk;

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
    "ない",
    "無い",
    "なし",
    "無し",
    "ません",
    "ませぬ",
    "ず、",
    "せず",
    "未",
    "不",
    "非",
    "否",
    "まだ",
    "以外",
    "除",
    "だが",
    "ですが",
    "けど",
    "けれど",
    "しかし",
    "ただし",
    "但",
    "一部",
    "部分",
    "ほぼ",
    "殆ど",
    "ほとんど",
    "だけ",
    "のみ",
    "残",
    "失敗",
    "エラー",
    "かも",
    "だろう",
    "でしょう",
    "と思",
    "はず",
    "予定",
    "途中",
    "没",
    "無",
    "无",
    "别",
    "別に",
    "几乎",
    "差",
    "还",
    "還",
    "失败",
    "錯誤",
    "错误",
    "吗",
    "嗎",
    "か。",
    "아니",
    "아님",
    "않",
    "안 ",
    "못",
    "미완",
    "거의",
    "제외",
    "실패",
    "지만",
    "違",
    "嘘",
    "誤",
    "待",
    "とはいえ",
    "らず",
    "難",
    "中止",
    "断念",
    "不明",
    "中です",
    "スキップ",
    "省略",
    "諦",
    "あきらめ",
    "後で",
    "あとで",
    "後日",
    "仮の",
    "仮に",
    "仮実",
    "仮対",
    "仮置",
    "ダミー",
    "モック",
    "ハードコード",
    "コメントアウト",
    "飛ばし",
    "無視",
    "保留",
    "延期",
    "跳过",
    "放弃",
    "模拟",
    "稍后",
    "以后",
    "暂",
    "건너",
    "생략",
    "포기",
    "나중",
    "임시",
    "보류",
    "일부",
    "부분",
    "確認中",
    "作業中",
    "対応中",
    "修正中",
    "実装中",
    "進行中",
    "进行中",
    "진행 중",
];

/// Pieces of text in CJK scripts that say that something is done or good.
const GOOD: &[&str] = &[
    "通り", "通過", "通った", "成功", "完了", "済", "修正", "追加", "実装", "対応", "確認", "解消", "解決",
    "合格", "完成", "満た", "更新", "作成", "整備", "できた", "できて", "できまし", "動作", "緑", "グリーン",
    "パス", "正常", "全て", "すべて", "全部", "はい", "通过", "修复", "添加", "实现", "完毕", "正常", "통과",
    "완료", "성공", "수정", "추가", "구현", "확인", "해결", "정상",
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
pub(in crate::verdict) fn limit_of(text: &str) -> Limit {
    if !text.chars().any(is_cjk) {
        return Limit::Free;
    }
    let rest = without_good_news(text);
    let ends_with_question = rest.trim_end().ends_with('か');
    if CONDITIONS.iter().any(|piece| rest.contains(piece)) {
        Limit::Conditional
    } else if ends_with_question || LIMITS.iter().any(|piece| rest.contains(piece)) {
        Limit::Limited
    } else {
        Limit::Free
    }
}

/// Says whether a text in CJK scripts names something that is done, a good state, or a bad thing that is not there.
pub(in crate::verdict) fn affirms(text: &str) -> bool {
    text.chars().any(is_cjk)
        && (without_good_news(text).len() < text.len() || GOOD.iter().any(|piece| text.contains(piece)))
}

/// `未完了`, `失敗`: a value that says by itself that something is open.
pub(in crate::verdict) fn is_open(value: &str) -> bool {
    const OPEN: &[&str] =
        &["未完", "失敗", "失败", "進行中", "进行中", "不合格", "まだ", "미완", "실패", "진행 중", "진행중"];
    let is_negated = value.starts_with(['未', '不', '非']) && value.chars().nth(1).is_some_and(is_cjk);
    is_negated || (OPEN.iter().any(|piece| value.contains(piece)) && limit_of(value) == Limit::Limited)
}

/// Takes out what says that a bad thing is not there.
fn without_good_news(text: &str) -> String {
    let mut rest = text.to_owned();
    for bad in BAD {
        for absence in ABSENCES {
            rest = rest.replace(&format!("{bad}{absence}"), "");
        }
        for absence in ["没有", "无", "無"] {
            rest = rest.replace(&format!("{absence}{bad}"), "");
        }
    }
    rest
}

/// Reads CJK text that follows a word without a separator: `Some(true)` affirms, `Some(false)`
/// negates or limits, `None` says nothing about it (`COMPLETEの場合`).
pub(in crate::verdict) fn read_suffix(suffix: &str) -> Option<bool> {
    let core = suffix.trim().trim_end_matches(['。', '．', '.', '!', '！']);
    if AFFIRMATIONS.contains(&core) {
        return Some(true);
    }
    (limits::limit_of(suffix) == Limit::Limited).then_some(false)
}
