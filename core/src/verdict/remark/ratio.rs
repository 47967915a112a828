//! Finds figures that say that not all of something is done: `3/10`, `two of five`, `40%`.

/// Finds `3/10`, `3 of 10`, `40%` and the like: less than the whole.
pub(in crate::verdict) fn has_unmet_ratio(text: &str) -> bool {
    let lower = text.to_lowercase();
    let parts = number_parts(&lower);
    let is_unmet = |n: f64, m: f64| n < m;
    parts.windows(3).any(|three| match three {
        [Part::Number(n), Part::Joint, Part::Number(m)] => is_unmet(*n, *m),
        _ => false,
    }) || parts.windows(2).any(|two| match two {
        [Part::Number(n), Part::Percent] => *n < 100.0,
        _ => false,
    })
}

/// Finds `10/10`, `10 of 10`, `100%`: the whole.
pub(in crate::verdict) fn has_met_ratio(text: &str) -> bool {
    let lower = text.to_lowercase();
    let parts = number_parts(&lower);
    let is_whole = |n: f64, m: f64| n > 0.0 && n >= m && m >= n;
    parts.windows(3).any(|three| match three {
        [Part::Number(n), Part::Joint, Part::Number(m)] => is_whole(*n, *m),
        _ => false,
    }) || parts.windows(2).any(|two| matches!(two, [Part::Number(n), Part::Percent] if is_whole(*n, 100.0)))
}

/// What matters for ratios.
enum Part {
    Number(f64),
    Joint,
    Percent,
    Other,
}

fn number_parts(lower: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = lower;
    while let Some(c) = rest.chars().next() {
        let is_same: fn(char) -> bool = if c.is_ascii_digit() {
            |c| c.is_ascii_digit() || c == '.'
        } else if c.is_alphabetic() {
            |c| c.is_alphabetic() || c == '-'
        } else {
            rest = &rest[c.len_utf8()..];
            match c {
                '/' | '／' => parts.push(Part::Joint),
                '%' | '％' => parts.push(Part::Percent),
                _ if c.is_whitespace() => {}
                _ => parts.push(Part::Other),
            }
            continue;
        };
        let end = rest.find(|c| !is_same(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        rest = &rest[end..];
        parts.push(match word {
            "of" | "out" => Part::Joint,
            "percent" | "pct" => Part::Percent,
            "the" | "all" => continue,
            _ if c.is_ascii_digit() => match word.trim_end_matches('.').parse() {
                Ok(number) => Part::Number(number),
                Err(_) => Part::Other,
            },
            _ => number_word(word).map_or(Part::Other, Part::Number),
        });
    }
    // "3 out of 10" has two joints.
    let mut previous_joint = false;
    parts.retain(|part| {
        let joint = matches!(part, Part::Joint);
        let keep = !(joint && previous_joint);
        previous_joint = joint;
        keep
    });
    parts
}

/// Reads `seven`, `ninety` and `forty-two`.
fn number_word(word: &str) -> Option<f64> {
    const NUMBERS: &[&str] = &[
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    const TENS: &[&str] =
        &["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred"];
    if let Some((tens, units)) = word.split_once('-') {
        return Some(number_word(tens)? + number_word(units.split('-').next()?)?);
    }
    let small = NUMBERS.iter().position(|name| *name == word);
    small.or_else(|| TENS.iter().position(|name| *name == word).map(|n| (n + 2) * 10)).map(|n| n as f64)
}
