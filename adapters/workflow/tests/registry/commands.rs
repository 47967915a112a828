//! Failure patterns, the params of commands, and commands of built-in validators.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use unstuck_core::completion::ValidatorKind;
use unstuck_workflow::registry::builtin;
use unstuck_workflow::registry::params::{self, ParamError};
use unstuck_workflow::registry::pattern::{self, PatternTerm};

#[test]
fn a_failure_without_a_pattern_gets_the_one_with_most_hits() {
    let words = |list: &Value| -> Vec<PatternTerm> {
        let texts = list.as_array().into_iter().flatten().map(|word| word.as_str().unwrap());
        texts.map(|word| PatternTerm::parse(word).unwrap()).collect()
    };
    for row in super::rows(include_str!("../fixtures/registry/failure_pattern.jsonl")) {
        let got: Value = match row["fn"].as_str().unwrap() {
            "scoreKeywords" => {
                let corpus = row["input"]["corpus"].as_str().unwrap();
                pattern::score(&words(&row["input"]["keywords"]), corpus).into()
            }
            "buildMatchCorpus" => {
                let corpus = pattern::corpus(row["input"]["error"].as_str().unwrap_or_default(), []);
                corpus.map_or(json!({ "undefined": true }), Value::from)
            }
            _ => {
                // JSON objects are sorted by name here; the loader keeps the order of the registry.
                let names: Vec<&String> = row["input"]["registry"].as_object().unwrap().keys().collect();
                let all: Vec<Vec<PatternTerm>> = names
                    .iter()
                    .map(|name| words(&row["input"]["registry"][*name]["semanticMatch"]))
                    .collect();
                let corpus = pattern::corpus(row["input"]["result"]["error"].as_str().unwrap(), []).unwrap();
                pattern::best(all.iter().map(Vec::as_slice), &corpus)
                    .map_or(Value::Null, |at| names[at].as_str().into())
            }
        };
        assert_eq!(got, row["expected"], "{}", row["id"]);
    }
    assert_eq!(
        pattern::best([words(&json!(["b"])), words(&json!(["a"]))].iter().map(Vec::as_slice), "a b"),
        Some(0)
    );
    assert_eq!(pattern::best([words(&json!([" ", "x"]))].iter().map(Vec::as_slice), "a b"), None);
    assert!(PatternTerm::parse("/[/").is_err());
}

#[test]
fn params_that_a_shell_would_not_give_are_errors() {
    let check = |command: &str, name: &str| params::check(command, [name], |name| name == "PATH");
    assert_eq!(check(r#"test "${a}" = x"#, "a"), Ok(()));
    assert_eq!(check(r#"echo "it's ${a}" 'x'"#, "a"), Ok(()));
    assert_eq!(check("echo x # it's ${a}\necho '", "a"), Ok(()));
    assert_eq!(check(r"echo \'${a}\'", "a"), Ok(()));
    assert_eq!(check("echo '${b}'", "a"), Ok(()));
    let quoted = Err(ParamError::InSingleQuotes { name: "a".to_owned() });
    assert_eq!(check("grep '${a}' x", "a"), quoted);
    assert_eq!(check(r#"echo "$(grep '${a}' x)""#, "a"), quoted);
    assert_eq!(check(r#"echo "${b}" '(${a})'"#, "a"), quoted);
    assert_eq!(check("x", "PATH"), Err(ParamError::AlreadySet { name: "PATH".to_owned() }));
    for name in ["1a", "a-b", "", "a.b", "ä"] {
        assert_eq!(check("x", name), Err(ParamError::NoIdentifier { name: name.to_owned() }));
    }
}

#[test]
fn names_that_the_environment_has_are_no_params() {
    assert_eq!(params::check_command("echo \"${issue}\"", ["issue"]), Ok(()));
    for name in ["PATH", "UNSTUCK_RUN_ID", "GIT_DIR"] {
        assert_eq!(params::check_command("x", [name]), Err(ParamError::AlreadySet { name: name.to_owned() }));
    }
}

#[test]
fn unreadable_go_file_fails_like_an_unformatted_one() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("go.mod"), "module a").unwrap();
    let validator = builtin::validator("format-check", folder.path()).unwrap();
    let ValidatorKind::Command(command) = validator.run else { panic!("{validator:?}") };
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    for (gofmt, expected) in [
        ("true", 0),
        ("echo a.go", 1),
        ("echo 'a.go:3:1: expected declaration' >&2; exit 2", 2),
        ("exit 127", 127),
    ] {
        fs::write(bin.join("gofmt"), format!("#!/bin/sh\n{gofmt}\n")).unwrap();
        Command::new("chmod").arg("+x").arg(bin.join("gofmt")).status().unwrap();
        let path = format!("{}:/usr/bin:/bin", bin.display());
        let status = Command::new("sh").args(["-c", &command]).env("PATH", path).status().unwrap();
        assert_eq!(status.code(), Some(expected), "{gofmt}");
    }
}
