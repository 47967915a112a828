//! Facts about the branch, and the rules about it.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use unstuck_workspace::branch::{
    BaseSource, DEFAULT_PROTECTED, GitFacts, ProtectedBranches, check_expected, commit_of, facts,
    protected_match, resolve_base,
};
use unstuck_workspace::worktree::{self, CheckoutPart};

#[test]
fn protected_branches_match_the_original() {
    let table: Value = serde_json::from_str(include_str!("fixtures/protected-branch.json")).unwrap();
    let cases = table["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 8);
    for case in cases {
        let patterns: Vec<&str> =
            case["patterns"].as_array().unwrap().iter().map(|pattern| pattern.as_str().unwrap()).collect();
        let found = protected_match(case["branch"].as_str().unwrap(), &patterns).is_some();
        assert_eq!(found, case["peer"].as_bool().unwrap(), "{case}");
    }
}

#[test]
fn only_the_star_is_special() {
    for (branch, pattern, expected) in [
        ("main", "main", true),
        ("main2", "main", false),
        ("release/1/x", "release/*", true),
        ("release/", "release/*", true),
        ("release", "release/*", false),
        ("a-b-c", "a*b*c", true),
        ("a-c-b", "a*b*c", false),
        ("aba", "ab*ba", false),
        ("abba", "ab*ba", true),
        ("anything", "*", true),
        ("anything", "**", true),
        ("x-fix-y", "*fix*", true),
        ("[a]", "[a]", true),
        ("a", "[a]", false),
        ("ä/ö", "ä*ö", true),
        ("x", "", false),
    ] {
        assert_eq!(protected_match(branch, &[pattern]).is_some(), expected, "{branch} {pattern}");
    }
    assert_eq!(protected_match("release/2", &DEFAULT_PROTECTED), Some("release/*"));
    assert_eq!(protected_match("work", &DEFAULT_PROTECTED), None);
}

#[test]
fn the_command_line_goes_before_the_environment_and_that_before_the_usual() {
    for (cli, env, patterns, source) in [
        (None, None, DEFAULT_PROTECTED.as_slice(), "default"),
        (None, Some(" , "), DEFAULT_PROTECTED.as_slice(), "default"),
        (None, Some("trunk, rel/*"), &["trunk", "rel/*"], "env"),
        (Some(["live"]), Some("trunk"), &["live"], "cli"),
        (Some([" rel/* "]), None, &["rel/*"], "cli"),
        (Some([""]), Some("trunk"), &[""], "cli"),
    ] {
        let cli = cli.map(|names| names.map(str::to_owned));
        let found = ProtectedBranches::resolve(cli.as_ref().map(<[String; 1]>::as_slice), env);
        assert_eq!(
            (found.patterns.iter().map(String::as_str).collect::<Vec<_>>(), found.source),
            (patterns.to_vec(), source)
        );
    }
}

#[test]
fn the_base_is_the_first_that_is_given() {
    let on = |branch: Option<&str>| GitFacts {
        toplevel: "/w".into(),
        branch: branch.map(str::to_owned),
        head_sha: None,
    };
    for (cli, env, current, expected) in [
        (Some("a"), Some("b"), Some("c"), Ok(("a", BaseSource::Cli))),
        (None, Some("b"), Some("c"), Ok(("b", BaseSource::Env))),
        (Some(" "), Some(""), Some("c"), Ok(("c", BaseSource::Current))),
        (None, Some("b"), None, Ok(("b", BaseSource::Env))),
        (None, None, None, Err("HEAD is detached")),
        (Some("--upload-pack=x"), None, Some("c"), Err("begins with \"-\"")),
    ] {
        match (resolve_base(cli, env, &on(current)), expected) {
            (Ok(base), Ok(expected)) => assert_eq!((base.name.as_str(), base.source), expected),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
            (found, expected) => panic!("{found:?} {expected:?}"),
        }
    }
}

#[test]
fn another_branch_or_repository_is_not_expected() {
    let at = |toplevel: &str, branch: Option<&str>, sha: &str| GitFacts {
        toplevel: toplevel.into(),
        branch: branch.map(str::to_owned),
        head_sha: Some(sha.to_owned()),
    };
    let expected = at("/w", Some("work"), "1");
    for (now, message) in [
        (Some(at("/w", Some("work"), "2")), None),
        (
            Some(at("/w", Some("main"), "1")),
            Some("the workspace is on branch \"main\", expected branch \"work\""),
        ),
        (Some(at("/w", None, "1")), Some("the workspace is on a detached HEAD, expected branch \"work\"")),
        (Some(at("/w/sub", Some("work"), "1")), Some("the workspace is in repository /w/sub, not /w")),
        (None, Some("the workspace is no git repository any more; expected /w")),
    ] {
        assert_eq!(check_expected(&expected, now.as_ref()).err().as_deref(), message);
    }
}

fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn facts_follow_the_repository() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("a repository");
    std::fs::create_dir_all(root.join("sub")).unwrap();
    assert_eq!(facts(&root).unwrap(), None);

    git(&root, &["init", "--quiet"]);
    let unborn = facts(&root.join("sub")).unwrap().unwrap();
    assert_eq!(unborn, GitFacts { toplevel: root.clone(), branch: Some("main".to_owned()), head_sha: None });

    git(&root, &["commit", "--quiet", "--allow-empty", "-m", "one"]);
    let born = facts(&root.join("sub")).unwrap().unwrap();
    assert_eq!((born.toplevel.as_path(), born.branch.as_deref()), (root.as_path(), Some("main")));
    let sha = born.head_sha.unwrap();
    assert_eq!(sha.len(), 40);

    git(&root, &["switch", "--quiet", "-c", "fix/parser"]);
    assert_eq!(facts(&root).unwrap().unwrap().branch.as_deref(), Some("fix/parser"));
    git(&root, &["switch", "--quiet", "--detach"]);
    let detached = facts(&root).unwrap().unwrap();
    assert_eq!((detached.branch, detached.head_sha.as_deref()), (None, Some(sha.as_str())));

    assert_eq!(commit_of(&root, "main").unwrap(), Some(sha));
    assert_eq!(commit_of(&root, "nothing").unwrap(), None);
    assert_eq!(commit_of(&root, "--all").unwrap(), None);
}

#[test]
fn no_filter_runs_when_the_rest_of_a_checkout_is_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let sh = |script: &str| {
        let ran = Command::new("bash").args(["-ec", script]).current_dir(root).output().unwrap();
        assert!(ran.status.success(), "{script}: {}", String::from_utf8_lossy(&ran.stderr));
    };
    sh("git init -q; mkdir sub; echo one >one; echo s >sub/s; git add -A
        git -c user.name=t -c user.email=t@example.invalid commit -qm x");
    for name in ["x", "a=b"] {
        sh(&format!(
            "printf 'one filter={name}\\n' >.gitattributes
            git config 'filter.{name}.clean' 'touch ran; cat'; git config 'filter.{name}.required' true
            sleep 0.01; touch one"
        ));
        let found = worktree::status(&root.join("sub"), CheckoutPart::Outside).unwrap();
        assert!(!root.join("ran").exists() && !root.join("sub/ran").exists(), "{name}");
        assert_eq!(found.keys().collect::<Vec<_>>(), [".gitattributes"], "{name}");
    }
}

#[test]
fn second_checkout_lacks_linked_and_nested_repositories() {
    let folder = tempfile::tempdir().unwrap();
    let sh = |script: &str| {
        let ran = Command::new("bash").args(["-ec", script]).current_dir(folder.path()).output().unwrap();
        assert!(ran.status.success(), "{script}: {}", String::from_utf8_lossy(&ran.stderr));
    };
    sh("git config --file config user.name t; git config --file config user.email t@example.invalid
        export GIT_CONFIG_GLOBAL=$PWD/config
        repository() { git init -q \"$1\"; touch \"$1/file\"; git -C \"$1\" add -A; git -C \"$1\" commit -qm x; }
        repository one; cd one; mkdir sub target node_modules deps
        for it in sub/module ' spaced' tool deps/git empty; do repository \"$it\"; done; rm empty/file
        printf '/target\\n/node_modules\\n/tool\\n/deps\\n' >.gitignore; touch target/x node_modules/y deps/plain
        mkdir ../elsewhere; touch ../elsewhere/file
        ln -s ../elsewhere to-folder; ln -s ../elsewhere/file to-file; ln -s nowhere to-nothing; ln -s sub within
        git add -A; git commit -qm y");
    let [one, two] = ["one", "far/two"].map(|name| folder.path().join(name));
    worktree::borrow(&one, &two).unwrap();
    let lacks = |workspace: &Path| {
        let mut lacks = worktree::unfilled(workspace, &two).unwrap();
        lacks.sort();
        lacks
    };
    let all = [" spaced", "deps/git", "sub/module", "to-folder", "tool"];
    assert_eq!(lacks(&one), all);
    assert_eq!(lacks(&one.join("target")), all);
    sh("touch far/two/sub/module/file; rm -r one/tool");
    assert_eq!(lacks(&one), [" spaced", "deps/git", "to-folder"]);
}
