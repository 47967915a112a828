//! Inserts the check id into instructions.
//!
//! Replaces exact, case-sensitive names and nothing else: no escapes, no defaults (`${N:-x}`), no other template (docs
//! on workflow files, "Check id in instructions").

use std::sync::LazyLock;

use regex::{NoExpand, Regex};

static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    const NAME: &str = "(?:UNSTUCK_CHECK_ID|(?:UNSTUCK|ROBOPPI|AGENTCORE)_COMPLETION_CHECK_ID)";
    Regex::new(&format!(r"\$\{{{NAME}\}}|\${NAME}\b|\{{\{{[ \t]{{0,8}}completion_check_id[ \t]{{0,8}}\}}\}}"))
        .expect("well formed")
});

/// Replaces `$N`, `${N}` and `{{completion_check_id}}` (whitespace inside the braces allowed) by the id.
///
/// `N` is `UNSTUCK_CHECK_ID`, or `COMPLETION_CHECK_ID` under the prefix `UNSTUCK_`, `ROBOPPI_` or
/// `AGENTCORE_`. The inserted id is not scanned again. Takes time linear in the text.
///
/// ```
/// use unstuck_core::interpolate::check_id;
/// assert_eq!(check_id("id: $UNSTUCK_CHECK_ID.", "c-1"), "id: c-1.");
/// assert_eq!(check_id("$UNSTUCK_CHECK_IDS", "c-1"), "$UNSTUCK_CHECK_IDS");
/// ```
pub fn check_id(text: &str, id: &str) -> String {
    PLACEHOLDER.replace_all(text, NoExpand(id)).into_owned()
}
