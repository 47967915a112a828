//! Artifacts go where they belong, whole, and nowhere else.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use unstuck_core::workflow::{ArtifactExport, Input, Output};
use unstuck_files::private_dir::PrivateDir;
use unstuck_workspace::artifacts::{ArtifactError, Overlap, collect_outputs, copy_exports, copy_inputs};

struct Bench {
    folder: TempDir,
}

impl Bench {
    /// Creates a workspace with a context folder, next to a folder that must stay untouched.
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bench = Self { folder };
        fs::create_dir_all(bench.path("w/context")).unwrap();
        fs::create_dir(bench.path("outside")).unwrap();
        fs::write(bench.path("outside/secret"), "secret").unwrap();
        bench.sh(script);
        bench
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn sh(&self, script: &str) {
        let status =
            Command::new("bash").args(["-e", "-c", script]).current_dir(self.path("w")).status().unwrap();
        assert!(status.success(), "{script}");
    }

    fn context(&self) -> PrivateDir {
        PrivateDir::in_workspace(&self.path("w"), &self.path("w/context"))
    }

    fn collect(&self, path: &str) -> Result<Vec<String>, String> {
        let output = Output { name: "art".to_owned(), path: path.to_owned(), r#type: None };
        told(
            collect_outputs(&self.path("w"), &self.context(), &"s".into(), &[output], &|| false),
            &self.path(""),
        )
    }

    fn input(&self) -> Result<Vec<String>, String> {
        let input = Input { from: "s".into(), artifact: "art".to_owned(), r#as: "in".to_owned() };
        told(copy_inputs(&self.path("w"), &self.context(), &[input], &|| false), &self.path(""))
    }

    fn export(&self, overlap: Overlap) -> Result<Vec<String>, String> {
        let child = PrivateDir::at(&self.path("child"));
        let export = ArtifactExport { from: "c".into(), artifact: "art".to_owned(), r#as: "out".to_owned() };
        told(
            copy_exports(&child, &self.context(), &"s".into(), &[export], overlap, &|| false),
            &self.path(""),
        )
    }

    /// Returns what is in a folder: `path=content`, `path/`, `path->target`, `path*` for what can be run.
    fn tree(&self, path: &str) -> String {
        let mut found = BTreeMap::new();
        tree(&self.path(path), "", &mut found);
        found.into_iter().map(|(path, what)| format!("{path}{what}")).collect::<Vec<_>>().join(" ")
    }
}

fn tree(folder: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let entry = entry.unwrap();
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let metadata = fs::symlink_metadata(entry.path()).unwrap();
        if metadata.is_symlink() {
            found.insert(path, format!("->{}", fs::read_link(entry.path()).unwrap().display()));
        } else if metadata.is_dir() {
            tree(&entry.path(), &format!("{path}/"), found);
            found.insert(path, "/".to_owned());
        } else {
            let mark = if metadata.permissions().mode() & 0o111 == 0 { "" } else { "*" };
            found.insert(path, format!("{mark}={}", fs::read_to_string(entry.path()).unwrap()));
        }
    }
}

/// Makes paths in messages the same everywhere.
fn told(result: Result<Vec<String>, ArtifactError>, root: &Path) -> Result<Vec<String>, String> {
    let real = root.canonicalize().unwrap();
    let short = |text: String| {
        text.replace(&format!("{}/", real.display()), "").replace(&root.display().to_string(), "")
    };
    result.map(|warnings| warnings.into_iter().map(short).collect()).map_err(|error| short(error.to_string()))
}

#[test]
fn outputs_are_collected() {
    for (name, script, path, expected) in [
        ("a file", "echo -n x >f", "f", "f=x"),
        ("a file in a folder keeps its name only", "mkdir -p a/b; echo -n x >a/b/f", "./a/b/f", "f=x"),
        ("of a folder the content", "mkdir -p d/e; echo -n x >d/f; echo -n y >d/e/g", "d", "e/ e/g=y f=x"),
        ("an empty folder", "mkdir d", "d/", ""),
        ("what can be run", "mkdir d; echo -n x >d/f; chmod +x d/f", "d", "f*=x"),
        (
            "links stay links",
            "mkdir d; ln -s ../../outside d/o; ln -s f d/l; ln -s /nothing d/n",
            "d",
            "l->f n->/nothing o->../../outside",
        ),
        (
            "a path through a link that stays inside",
            "mkdir -p d/1; echo -n x >d/1/f; ln -s 1 d/latest",
            "d/latest",
            "f=x",
        ),
        ("a link to a file that stays inside", "echo -n x >f; ln -s f l", "l", "l=x"),
        ("the whole workspace but the context folder", "echo -n x >f; mkdir -p context/other", ".", "f=x"),
        ("a name with two dots", "echo -n x >a..b", "a..b", "a..b=x"),
        (
            "a folder that may not be written to",
            "mkdir -p d/e; echo -n x >d/e/f; chmod 500 d/e",
            "d",
            "e/ e/f=x",
        ),
        ("no text", r"mkdir d; echo -n x >$'d/\xc3\xa4'", "d", "ä=x"),
    ] {
        let bench = Bench::new(script);
        for round in 1..=2 {
            assert_eq!(bench.collect(path), Ok(Vec::new()), "{name}, round {round}");
            assert_eq!(bench.tree("w/context/s/art"), expected, "{name}, round {round}");
            assert_eq!(
                fs::read_dir(bench.path("w/context/s")).unwrap().count(),
                1,
                "{name}: nothing unfinished is left"
            );
        }
    }
}

#[test]
fn an_output_replaces_its_earlier_copy() {
    for (name, before, after) in [
        (
            "fewer files",
            "mkdir -p d/sub; touch d/gone d/sub/gone; echo -n old >d/f",
            "rm -r d/gone d/sub; echo -n new >d/f",
        ),
        ("a file instead of a folder", "mkdir -p d/f; touch d/f/gone", "rm -r d/f; echo -n new >d/f"),
        ("a link instead of a folder", "mkdir -p d/f; touch d/f/gone", "rm -r d/f; echo -n new >d/f"),
    ] {
        let bench = Bench::new(before);
        bench.collect("d").unwrap();
        bench.sh(after);
        bench.collect("d").unwrap();
        assert_eq!(bench.tree("w/context/s/art"), "f=new", "{name}");
    }
}

#[test]
fn missing_output_is_a_warning_and_keeps_the_earlier_copy() {
    let bench = Bench::new("ln -s nothing dangling; echo -n x >f");
    assert_eq!(bench.collect("f"), Ok(Vec::new()));
    for path in ["gone", "gone/deeper", "dangling"] {
        assert_eq!(bench.collect(path), Ok(vec![format!("output \"art\" is missing: there is no {path}")]));
    }
    assert_eq!(bench.tree("w/context/s/art"), "f=x");
    let bench = Bench::new(":");
    assert_eq!(
        bench.input(),
        Ok(vec!["input \"art\" of step \"s\" is missing: the step has not produced it".to_owned()])
    );
    assert_eq!(
        bench.export(Overlap::Merge),
        Ok(vec!["export \"art\" of step \"c\" is missing: the child run has not produced it".to_owned()])
    );
}

#[test]
fn pipes_are_left_out_with_a_warning() {
    let bench = Bench::new("mkdir d; mkfifo d/p; echo -n x >d/f");
    assert_eq!(
        bench.collect("d"),
        Ok(vec!["output \"art\" is incomplete: w/d/p is a pipe, socket or device".to_owned()])
    );
    assert_eq!(bench.tree("w/context/s/art"), "f=x");
}

#[test]
fn holes_stay_holes_and_more_than_an_artifact_may_hold_is_left_out() {
    use std::os::unix::fs::MetadataExt as _;
    let bench = Bench::new(
        "mkdir d; truncate -s 40G d/big; printf x | dd of=d/big bs=1 seek=9999999999 conv=notrunc status=none",
    );
    assert_eq!(bench.collect("d"), Ok(Vec::new()));
    let copy = fs::metadata(bench.path("w/context/s/art/big")).unwrap();
    assert_eq!(copy.len(), 40 << 30);
    assert!(copy.blocks() < 1 << 14, "{} blocks", copy.blocks());
    let mut deep = String::from("echo old >f; mkdir d; cd d");
    (0..110).for_each(|_| deep.push_str("; mkdir d; cd d"));
    let bench = Bench::new(&deep);
    assert_eq!(bench.collect("f"), Ok(Vec::new()));
    let told = "output \"art\" is not kept as a whole: it holds more than 100 folders in each other";
    assert_eq!(bench.collect("d"), Ok(vec![told.to_owned()]));
    assert_eq!(
        bench.tree("w/context/s"),
        "art/ art/f=old\n",
        "an earlier copy stays, and nothing unfinished"
    );
}

#[test]
fn a_copy_that_is_to_stop_stops_and_leaves_nothing_unfinished() {
    let bench = Bench::new("mkdir d; for n in $(seq 9); do echo x >d/$n; done");
    let asked = std::cell::Cell::new(0);
    let stops_soon = || asked.replace(asked.get() + 1) > 5;
    let output = Output { name: "art".to_owned(), path: "d".to_owned(), r#type: None };
    let copied = collect_outputs(&bench.path("w"), &bench.context(), &"s".into(), &[output], &stops_soon);
    assert!(matches!(copied, Err(ArtifactError::Stopped { .. })), "{copied:?}");
    assert_eq!(bench.tree("w/context/s"), "");
}

#[test]
fn outputs_that_cannot_be_copied_say_where_and_why() {
    for (script, path, expected) in [
        (
            ":",
            "../outside/secret",
            "cannot copy output \"art\": ../outside/secret: leads out of the workspace",
        ),
        (":", "/etc/passwd", "cannot copy output \"art\": /etc/passwd: leads out of the workspace"),
        (
            "ln -s ../outside l",
            "l",
            "cannot copy output \"art\": l: leads out of the workspace through a link",
        ),
        (
            "ln -s ../outside l",
            "l/secret",
            "cannot copy output \"art\": l/secret: leads out of the workspace through a link",
        ),
        ("touch f", "f/g", "cannot copy output \"art\": f/g: Not a directory (os error 20)"),
        (
            "touch f context/s",
            "f",
            "cannot copy output \"art\": w/context/s: a file is where a folder must go",
        ),
        (
            "touch f; ln -s ../../outside context/s",
            "f",
            "cannot copy output \"art\": w/context/s: a link is where a folder must go",
        ),
    ] {
        let bench = Bench::new(script);
        assert_eq!(bench.collect(path), Err(expected.to_owned()));
        assert_eq!(bench.tree("outside"), "secret=secret");
    }
}

#[test]
fn inputs_are_copied_over_existing_files() {
    for (name, script, expected) in [
        ("nothing is there", ":", "e/ e/g=new f=new l->f"),
        (
            "other files stay",
            "mkdir -p in/e; echo -n mine >in/mine; echo -n mine >in/e/mine",
            "e/ e/g=new e/mine=mine f=new l->f mine=mine",
        ),
        ("files are replaced", "mkdir -p in; echo -n old >in/f; chmod 400 in/f", "e/ e/g=new f=new l->f"),
        (
            "a link to a file is replaced, not followed",
            "mkdir -p in; ln -s ../../outside/secret in/f",
            "e/ e/g=new f=new l->f",
        ),
    ] {
        let bench = Bench::new(
            "mkdir -p context/s/art/e; cd context/s/art; echo -n new >f; echo -n new >e/g; ln -s f l; chmod 555 e",
        );
        bench.sh(script);
        for round in 1..=2 {
            assert_eq!(bench.input(), Ok(Vec::new()), "{name}, round {round}");
            assert_eq!(bench.tree("w/in"), expected, "{name}, round {round}");
        }
        assert_eq!(bench.tree("outside"), "secret=secret", "{name}");
    }
}

#[test]
fn inputs_that_cannot_be_copied_say_where_and_why() {
    for (script, expected) in [
        ("touch in", "w/in: a file is where a folder must go"),
        ("ln -s ../outside in", "w/in: a link is where a folder must go"),
        ("mkdir -p in/f", "w/in/f: a folder is where a file must go"),
        ("mkdir in; touch in/e", "w/in/e: a file is where a folder must go"),
        ("mkdir in; ln -s ../../outside in/e", "w/in/e: a link is where a folder must go"),
        ("rm -r context/s/art; ln -s ../../../outside context/s/art", "w/context/s/art: is no folder"),
        ("rm -r context/s/art; touch context/s/art", "w/context/s/art: is no folder"),
    ] {
        let bench = Bench::new(
            "mkdir -p context/s/art/e; echo -n new >context/s/art/f; echo -n new >context/s/art/e/g",
        );
        bench.sh(script);
        assert_eq!(
            bench.input(),
            Err(format!("cannot copy input \"art\" of step \"s\": {expected}")),
            "{script}"
        );
        assert_eq!(bench.tree("outside"), "secret=secret", "{script}");
    }
}

#[test]
fn exports_replace_or_join_earlier_ones() {
    for (overlap, expected) in [(Overlap::Replace, "f=new"), (Overlap::Merge, "f=new gone=old")] {
        let bench =
            Bench::new("mkdir -p ../child/c/art; cd ../child/c/art; echo -n old >f; echo -n old >gone");
        assert_eq!(bench.export(overlap), Ok(Vec::new()));
        bench.sh("cd ../child/c/art; rm gone; echo -n new >f");
        assert_eq!(bench.export(overlap), Ok(Vec::new()));
        assert_eq!(bench.tree("w/context/s/out"), expected, "{overlap:?}");
    }
}

#[test]
fn remains_of_a_crash_are_removed() {
    let bench = Bench::new(
        "touch f; mkdir -p context/s/.unstuck-1-2.tmp/x; touch context/s/_meta.json; chmod 500 context/s/.unstuck-1-2.tmp",
    );
    assert_eq!(bench.collect("f"), Ok(Vec::new()));
    assert_eq!(bench.tree("w/context/s"), "_meta.json= art/ art/f=");
}

#[test]
fn steps_side_by_side_do_not_disturb_each_other() {
    let bench = Bench::new(
        "mkdir -p context/s/art; cd context/s/art; for n in $(seq 50); do mkdir d$n; echo $n >d$n/f; done",
    );
    std::thread::scope(|scope| {
        let copies: Vec<_> = (0..8).map(|_| scope.spawn(|| bench.input())).collect();
        for copy in copies {
            assert_eq!(copy.join().unwrap(), Ok(Vec::new()));
        }
    });
    assert_eq!(bench.tree("w/in"), bench.tree("w/context/s/art"));
}
