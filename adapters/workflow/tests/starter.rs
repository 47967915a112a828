//! What `init` writes is taken as it is, whatever the project.

use std::fs;
use std::path::Path;

use unstuck_workflow::registry::starter;
use unstuck_workflow::workflow_file::{self, LoadOptions, Loaded};

#[test]
fn the_files_of_a_starter_set_are_a_workflow_without_a_complaint() {
    for (kind, files, found) in [
        (
            "cargo",
            vec![("Cargo.toml", "[package]")],
            vec!["format-check", "lint-check", "type-check", "tests-pass"],
        ),
        ("go", vec![("go.mod", "module a")], vec!["format-check", "type-check", "tests-pass"]),
        (
            "npm",
            vec![("package.json", r#"{"scripts": {"test": "t", "lint": "l"}}"#)],
            vec!["lint-check", "tests-pass"],
        ),
        (
            "pnpm",
            vec![("package.json", r#"{"scripts": {"test": "t"}}"#), ("pnpm-lock.yaml", "")],
            vec!["tests-pass"],
        ),
        ("deno", vec![("deno.json", "{}")], vec!["format-check", "lint-check", "type-check", "tests-pass"]),
        (
            "python",
            vec![("pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n")],
            vec!["format-check", "lint-check", "type-check", "tests-pass"],
        ),
        ("make", vec![("Makefile", "test:\n\ttrue\n")], vec!["tests-pass"]),
        ("nothing", vec![], vec![]),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path();
        fs::create_dir(root.join(".git")).expect("ours");
        for (name, text) in files {
            fs::write(root.join(name), text).expect("ours");
        }
        for (worker, is_client) in [("gemini", true), ("claude", true), ("sh ./agent.sh", false)] {
            let (written, _) = starter(root, worker, is_client, "Mend it.");
            let loaded = loaded(root, &written);
            assert!(loaded.workflow.steps[0].require_change, "{worker}");
        }
        let (written, validators) = starter(root, "claude --print", false, "Mend: \"it\"\nand more");
        let names: Vec<&str> = validators.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [&["git-clean"], &found[..]].concat(), "{kind}");
        let loaded = loaded(root, &written);
        let completion = loaded.workflow.steps[0].completion.as_ref().expect("it asks for something");
        let asked: Vec<&str> =
            completion.conditions.iter().map(|condition| condition.validator.name.as_str()).collect();
        assert_eq!(asked, names, "{kind}");
    }
}

/// Writes the files of a starter set, and reads the workflow among them.
#[track_caller]
fn loaded(root: &Path, written: &[(String, String)]) -> Loaded {
    for (name, text) in written {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("ours");
        fs::write(path, text).expect("ours");
    }
    let options = LoadOptions { workspace: root.to_owned(), strict: true, ..LoadOptions::default() };
    let loaded = workflow_file::load(&root.join("unstuck.yaml"), &options);
    loaded.unwrap_or_else(|rejected| panic!("{}", rejected.render(110)))
}
