//! How much is tried: all cases, or some of them, drawn from a seed.

use std::time::{SystemTime, UNIX_EPOCH};

/// Set to `full`, everything is tried.
const HOW_MUCH: &str = "UNSTUCK_TORTURE";
/// Repeats what an earlier seed drew.
const SEED: &str = "UNSTUCK_TORTURE_SEED";

/// Says whether everything is to be tried.
pub fn is_full() -> bool {
    std::env::var(HOW_MUCH).is_ok_and(|value| value == "full")
}

/// Returns which of the cases 1 to `count` are tried: all, or `samples` of them, one from each stretch.
pub fn cases(row: &str, count: usize, samples: usize) -> Vec<usize> {
    if is_full() || count <= samples {
        return (1..=count).collect();
    }
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs());
    let seed = std::env::var(SEED).ok().and_then(|text| text.parse().ok()).unwrap_or(clock);
    println!("{row}: {samples} of {count} cases, {SEED}={seed}; all of them with {HOW_MUCH}=full");
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let edges = |nth: usize| nth * count / samples;
    (0..samples)
        .map(|nth| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let stretch = edges(nth + 1) - edges(nth);
            edges(nth) + 1 + usize::try_from(random % stretch as u64).expect("less than a stretch")
        })
        .collect()
}
