//! Counts and shortened lists for display.

/// Returns `1 iteration`, `2 iterations`, `2 processes`: in a phrase of several words the last one is in the plural.
pub fn count(n: impl TryInto<u64>, one: &str) -> String {
    match n.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {one}"),
        n => format!("{n} {}", plural(one)),
    }
}

/// Returns `a, b, and 3 more`: the first `max` names, and the number of others; `left_out` more of them have no name.
pub fn first(names: impl IntoIterator<Item = impl AsRef<str>>, max: usize, left_out: u64) -> String {
    let mut names = names.into_iter();
    let first: Vec<_> = names.by_ref().take(max).collect();
    let more = u64::try_from(names.count()).unwrap_or(u64::MAX).saturating_add(left_out);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let mut text = String::new();
    for (at, name) in first.iter().enumerate() {
        text += if at > 0 { ", " } else { "" };
        text += name.as_ref();
    }
    text + &more
}

fn plural(one: &str) -> String {
    let hisses = ["s", "x", "ch", "sh"].iter().any(|end| one.ends_with(end));
    match one.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u'])) {
        Some(stem) => format!("{stem}ies"),
        None if hisses => format!("{one}es"),
        None => format!("{one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_list_shows_first_names_and_number_of_others() {
        for (names, left_out, expected) in [
            (&[][..], 0, ""),
            (&["a"], 0, "a"),
            (&["a", "b"], 0, "a, b"),
            (&["a", "b", "c", "d"], 0, "a, b, and 2 more"),
            (&["a"], 3, "a, and 3 more"),
        ] {
            assert_eq!(first(names, 2, left_out), expected);
        }
    }

    #[test]
    fn one_thing_is_not_said_to_be_several() {
        for (n, one, expected) in [
            (0, "iteration", "0 iterations"),
            (1, "iteration", "1 iteration"),
            (2, "iteration", "2 iterations"),
            (1, "process", "1 process"),
            (2, "leftover process", "2 leftover processes"),
            (2, "box", "2 boxes"),
            (2, "check", "2 checks"),
            (2, "patch", "2 patches"),
            (2, "story", "2 stories"),
            (2, "key", "2 keys"),
        ] {
            assert_eq!(count(n, one), expected);
        }
    }
}
