//! Plants faults into the rules of convergence, and requires that a public property fails for each.
//!
//! A copy of the core has all faults, each behind a number, so that it is compiled once.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A fault: what it breaks, the file, the expression, and the faulty one.
struct Fault(&'static str, &'static str, &'static str, &'static str);

const RULES: &str = "core/src/convergence/mod.rs";
const MEASURES: &str = "core/src/convergence/measures.rs";

const FAULTS: [Fault; 10] = [
    Fault(
        "nothing new is counted one too far",
        RULES,
        "self.not_new >= threshold",
        "self.not_new > threshold",
    ),
    Fault(
        "nothing better has twice the patience",
        RULES,
        "threshold.saturating_mul(BETTER)",
        "threshold.saturating_mul(6)",
    ),
    Fault(
        "only the set right before is known",
        RULES,
        "self.shown.get(&key).copied()",
        "self.shown.get(&key).copied().filter(|age| *age == self.age)",
    ),
    Fault("an improvement keeps the stage", RULES, "= (0, 0, 1, 1, 0)", "= (self.raised, 0, 1, 1, 0)"),
    Fault("a raised stage counts on", RULES, "self.restart()", "()"),
    Fault("a cycle has no period", RULES, "self.period.max(self.age - age)", "self.period"),
    Fault("as few failures are fewer", MEASURES, "now < *best", "now <= *best"),
    Fault("fewer failures do not count", MEASURES, "measured.early <= self.early", "false"),
    Fault("a later place does not count", MEASURES, "now < remaining && line > before", "false"),
    Fault("a number improves without end", MEASURES, "now < best && self.gains < GAINS_MAX", "now < best"),
];

/// Copies the core with all faults, and its properties of convergence. What it is compiled with stays there.
fn plant(into: &Path) {
    let _nothing_before = fs::remove_dir_all(into.join("core"));
    fs::create_dir_all(into).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let copied = Command::new("cp").arg("-r").arg(root.join("core")).arg(into).status().unwrap();
    assert!(copied.success());
    for file in ["Cargo.toml", "Cargo.lock"] {
        fs::copy(root.join(file), into.join(file)).unwrap();
    }
    let edit = |file: &str, change: &dyn Fn(String) -> String| {
        let file = into.join(file);
        fs::write(&file, change(fs::read_to_string(&file).unwrap())).unwrap();
    };
    edit("Cargo.toml", &|text| {
        let kept = text.lines().filter(|line| !line.starts_with("default-members"));
        let only_core = |line| if str::starts_with(line, "members") { "members = [\"core\"]" } else { line };
        kept.map(only_core).collect::<Vec<_>>().join("\n")
    });
    edit("core/tests/it.rs", &|_| "mod convergence;".to_owned());
    edit("core/src/lib.rs", &|text| {
        let switch = "std::env::var(\"FAULT\").is_ok_and(|fault| fault == number.to_string())";
        format!("{text}\npub(crate) fn fault(number: usize) -> bool {{ {switch} }}\n")
    });
    for (number, Fault(what, file, from, to)) in FAULTS.iter().enumerate() {
        edit(file, &|text| {
            assert!(text.contains(from), "{what}: {file} does not contain {from}");
            let (before, from_value) = split(from);
            let (_, to_value) = split(to);
            let both = format!("{before}if crate::fault({number}) {{ {to_value} }} else {{ {from_value} }}");
            let both = if before.is_empty() { format!("({both})") } else { both };
            text.replacen(from, &both, 1)
        });
    }
}

/// Splits `= b` into what is not part of the expression and the expression.
fn split(code: &str) -> (&str, &str) {
    code.split_at(if code.starts_with("= ") { 2 } else { 0 })
}

fn properties(folder: &Path, fault: Option<usize>) -> Output {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "-q", "--offline", "-p", "unstuck-core", "--features", "proptest", "--test", "it"]);
    cargo.args(["--", "convergence"]).current_dir(folder).env("CARGO_TARGET_DIR", folder.join("target"));
    cargo
        .env("PROPTEST_RNG_SEED", "1")
        .env("FAULT", fault.map_or_else(String::new, |fault| fault.to_string()));
    cargo.output().unwrap()
}

#[test]
fn each_fault_in_the_rules_breaks_a_public_property() {
    let folder = &Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutants");
    plant(folder);
    let sound = properties(folder, None);
    assert!(sound.status.success(), "{}", String::from_utf8_lossy(&sound.stderr));
    let is_noticed = |fault: usize| {
        let output = properties(folder, Some(fault));
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(told.contains("test result: "), "the properties were not run: {output:?}");
        told.contains("test result: FAILED")
    };
    let unnoticed = (0..FAULTS.len()).filter(|fault| !is_noticed(*fault));
    let unnoticed: Vec<&str> = unnoticed.map(|fault| FAULTS[fault].0).collect();
    assert!(unnoticed.is_empty(), "no property fails: {unnoticed:?}");
}
