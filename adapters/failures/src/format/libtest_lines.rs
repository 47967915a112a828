//! Lines that libtest and the threads of its tests print, wherever they occur.

/// Returns the thread on a line `thread 'NAME' panicked at ...`; the thread of a test has the test's name.
pub(super) fn panicked_thread(line: &str) -> Option<&str> {
    let (name, rest) = line.trim_start().strip_prefix("thread '")?.split_once("' ")?;
    rest.contains("panicked at ").then_some(name)
}

/// Returns the test on a line `thread 'NAME' has overflowed its stack`, which ends its whole binary, with the line.
pub(super) fn overflowed_thread(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.strip_prefix("thread '")?.split_once('\'')?;
    let is_named = !matches!(name, "main" | "<unnamed>" | "<unknown>");
    (is_named && rest.ends_with(" has overflowed its stack")).then_some((name, line))
}

/// Checks whether a line belongs to libtest's list.
pub(super) fn is_of_list(line: &str) -> bool {
    let listed = line.starts_with("    ") || line.is_empty();
    listed
        || line == "failures:"
        || line.starts_with("test result: ")
        || line.starts_with("running ")
        || line.starts_with("test ") && line.ends_with(" ... FAILED")
}
