//! The page about prompts says what the core does.

use std::fs;
use std::path::Path;

use unstuck_core::prompt_layout::{DEFAULT, PLACEHOLDERS, VERSION};

#[test]
fn the_page_shows_the_template_and_each_of_its_placeholders() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/prompts.md");
    let page = fs::read_to_string(page).expect("it is there");
    assert!(page.contains(&format!("this is version {VERSION} of it:\n\n```text\n{DEFAULT}\n```")), "{page}");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let expected = PLACEHOLDERS.map(|(name, holds)| format!("| `{name}` | {holds} |"));
    assert_eq!(rows, expected);
}
