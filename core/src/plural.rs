//! Numbers of things, as people read them.

/// Returns `1 iteration`, `2 iterations`, `2 processes`: of several words the last is put in the plural.
pub fn count(n: impl TryInto<u64>, one: &str) -> String {
    match n.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {one}"),
        n => format!("{n} {}", plural(one)),
    }
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
