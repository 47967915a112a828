//! The table of claims and evidence in the next prompt, for an answer that the evidence contradicts.

use serde_json::Value;
use unstuck_core::judge::declared_status::{DeclaredStatus, short};

/// The flags of `validation`, the validators of the same subject, and how the names of its evidence begin.
const SUBJECTS: &[(&str, &str, &str)] = &[
    ("git_clean", "git-clean", "git"),
    ("type_check_passed", "type-check", "type"),
    ("tests_passed", "tests-pass", "test"),
    ("lint_passed", "lint-check", "lint"),
    ("format_check_passed", "format-check", "format"),
];

/// The result of a validator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidatorFinding<'a> {
    /// The name of the validator.
    pub validator: &'a str,
    /// It passed.
    pub passed: bool,
    /// The result in one sentence: "3 tests failed".
    pub summary: &'a str,
}

/// The claim of an answer about one validator.
struct ValidatorClaim {
    /// The validator of the same subject.
    validator: &'static str,
    /// The flag of `validation`.
    passed: Option<bool>,
    /// The text of `evidence`.
    evidence: Option<String>,
}

/// Reads the flags of `validation` and the texts of `evidence`.
fn claims(answer: &Value) -> Vec<ValidatorClaim> {
    let flag = |name| answer.get("validation")?.get(name)?.as_bool();
    let evidence = |beginning: &str| {
        let fields = answer.get("evidence")?.as_object()?;
        let (_, value) = fields.iter().find(|(name, _)| name.to_lowercase().starts_with(beginning))?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let claims = SUBJECTS.iter().map(|(name, validator, beginning)| ValidatorClaim {
        validator,
        passed: flag(name),
        evidence: evidence(beginning),
    });
    claims.filter(|claim| claim.passed.is_some() || claim.evidence.is_some()).collect()
}

/// Returns the table of claims and results; `None` if they agree.
///
/// They disagree if completion was declared and a validator failed, or if a flag of `validation` says that a failed
/// validator passed.
pub fn contradiction(answer: &Value, findings: &[ValidatorFinding<'_>]) -> Option<String> {
    let declared = DeclaredStatus::from_answer(answer) == DeclaredStatus::Complete;
    let claims = claims(answer);
    let claim = |validator: &str| claims.iter().find(|claim| claim.validator == validator);
    let claimed = |validator: &str| claim(validator).is_some_and(|claim| claim.passed == Some(true));
    let against =
        findings.iter().filter(|finding| !finding.passed && (declared || claimed(finding.validator)));
    let against: Vec<(&ValidatorFinding<'_>, Option<&ValidatorClaim>)> =
        against.map(|finding| (finding, claim(finding.validator))).collect();
    if against.is_empty() {
        return None;
    }
    Some(table(against.iter().map(|(finding, claim)| row(declared, finding, *claim))))
}

/// Returns the table of a declared completion and the open items of a closer; `None` without such a declaration.
pub fn open_items_table(answer: &Value, open: &[String]) -> Option<String> {
    let is_contrary = DeclaredStatus::from_answer(answer) == DeclaredStatus::Complete && !open.is_empty();
    let row = |item: &String| ["complete".to_owned(), format!("the closer: {item}")];
    is_contrary.then(|| table(open.iter().map(row)))
}

fn table(rows: impl Iterator<Item = [String; 2]>) -> String {
    let cell = |text: &str| text.replace(['\n', '\r'], " ").replace('|', "\\|");
    let rows: String =
        rows.map(|[claims, result]| format!("\n| {} | {} |", cell(&claims), cell(&result))).collect();
    format!("| declared | found |\n|---|---|{rows}")
}

/// Returns what was declared and what was found.
fn row(declared: bool, finding: &ValidatorFinding<'_>, claim: Option<&ValidatorClaim>) -> [String; 2] {
    let mut claims = Vec::new();
    if declared {
        claims.push("complete".to_owned());
    }
    if let Some(passed) = claim.and_then(|claim| claim.passed) {
        claims.push(format!("{}: {}", finding.validator, if passed { "passed" } else { "not passed" }));
    }
    if let Some(evidence) = claim.and_then(|claim| claim.evidence.as_deref()) {
        claims.push(format!("\"{}\"", short(evidence)));
    }
    let result = match finding.summary {
        "" | "failed" => format!("{} failed", finding.validator),
        summary => format!("{} failed: {summary}", finding.validator),
    };
    [claims.join(", "), result]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn open_items_of_a_closer_contradict_a_declared_completion() {
        let open = ["item \"docs\" | README is not done".to_owned()];
        let table = "| declared | found |\n|---|---|\n| complete | the closer: item \"docs\" \\| README is not done |";
        for (status, open, expected) in [
            ("completed", &open[..], Some(table)),
            ("completed", &[], None),
            ("in_progress", &open[..], None),
        ] {
            assert_eq!(open_items_table(&json!({"status": status}), open).as_deref(), expected, "{status}");
        }
    }

    #[test]
    fn claims_and_results_are_a_table() {
        let answer = json!({
            "status": "completed",
            "validation": {"tests_passed": true, "git_clean": false},
            "evidence": {"test_results": "all | green", "git_status": ""},
        });
        let findings = [
            ValidatorFinding { validator: "git-clean", passed: true, summary: "" },
            ValidatorFinding { validator: "tests-pass", passed: false, summary: "3 tests failed" },
            ValidatorFinding { validator: "note", passed: false, summary: "" },
        ];

        assert_eq!(
            contradiction(&answer, &findings).expect("they disagree"),
            "| declared | found |\n|---|---|\n\
             | complete, tests-pass: passed, \"all \\| green\" | tests-pass failed: 3 tests failed |\n\
             | complete | note failed |"
        );
    }

    #[test]
    fn an_answer_without_claims_is_not_contradicted() {
        let failed = [ValidatorFinding { validator: "tests-pass", passed: false, summary: "" }];
        assert_eq!(contradiction(&json!({"status": "in_progress"}), &failed), None);
        assert_eq!(contradiction(&json!({"status": "completed"}), &[]), None);
        assert!(
            contradiction(&json!({"validation": {"tests_passed": true}}), &failed).is_some(),
            "a flag is a claim"
        );
    }
}
