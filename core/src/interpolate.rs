//! Puts the check id into instructions.
//!
//! Whole names only, in the case they are written in, and nothing else is touched: no escapes, no
//! defaults (`${N:-x}`), no other template (docs on workflow files, "Check id in instructions").

const NAMES: [&str; 4] = [
    "UNSTUCK_CHECK_ID",
    "UNSTUCK_COMPLETION_CHECK_ID",
    "ROBOPPI_COMPLETION_CHECK_ID",
    "AGENTCORE_COMPLETION_CHECK_ID",
];

const TEMPLATE: &str = "completion_check_id";

/// Replaces `$N`, `${N}` and `{{completion_check_id}}` (blanks inside the braces allowed) by the id.
///
/// `N` is `UNSTUCK_CHECK_ID`, or `COMPLETION_CHECK_ID` under the prefix `UNSTUCK_`, `ROBOPPI_` or
/// `AGENTCORE_`. What is put in is not looked at again. Takes time linear in the text.
///
/// ```
/// use unstuck_core::interpolate::check_id;
/// assert_eq!(check_id("id: $UNSTUCK_CHECK_ID.", "c-1"), "id: c-1.");
/// assert_eq!(check_id("$UNSTUCK_CHECK_IDS", "c-1"), "$UNSTUCK_CHECK_IDS");
/// ```
pub fn check_id(text: &str, id: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['$', '{']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match placeholder_length(rest) {
            Some(length) => {
                out.push_str(id);
                rest = &rest[length..];
            }
            None => {
                out.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Returns how many bytes a placeholder at the beginning of the text takes.
fn placeholder_length(text: &str) -> Option<usize> {
    let rest = match text.strip_prefix("${") {
        Some(name) => strip_name(name)?.strip_prefix('}')?,
        None => match text.strip_prefix('$') {
            Some(name) => strip_name(name)?,
            None => strip_template(text)?,
        },
    };
    Some(text.len() - rest.len())
}

/// Takes a whole name off the front: a longer one that only begins like it stays.
fn strip_name(text: &str) -> Option<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    NAMES.iter().find_map(|name| text.strip_prefix(name)).filter(|rest| !rest.starts_with(is_part))
}

fn strip_template(text: &str) -> Option<&str> {
    /// Blanks on one side; more is no template, and a search for the name stays short.
    const BLANKS_MAX: usize = 8;
    let skip_blanks = |text| {
        let rest = str::trim_start_matches(text, [' ', '\t']);
        (str::len(text) - rest.len() <= BLANKS_MAX).then_some(rest)
    };
    let rest = skip_blanks(text.strip_prefix("{{")?)?.strip_prefix(TEMPLATE)?;
    skip_blanks(rest)?.strip_prefix("}}")
}
