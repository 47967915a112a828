//! Regular expressions that are constants of the program.

use regex::Regex;

/// Compiles a pattern.
///
/// # Panics
///
/// If the pattern is invalid. Every caller passes a constant that a test uses.
pub fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant and tested")
}
