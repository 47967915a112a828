//! Rules for the repository itself: arrows between crates, versions, module docs, links, hygiene.
//!
//! A rule is a function from the files to findings; a finding says where and why. To allow an
//! exception, add it to the table of its rule, with the reason.

#[path = "tidy/manifests.rs"]
mod cargo;
#[path = "tidy/links.rs"]
mod pointers;
#[path = "tidy/prose.rs"]
mod prose;
#[path = "tidy/structure.rs"]
mod structure;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// A file of the repository.
struct File {
    /// From the root of the repository, with `/`.
    name: String,
    text: String,
}

/// Something that breaks a rule.
struct Finding {
    name: String,
    line: usize,
    what: String,
}

type Rule = fn(&[File]) -> Vec<Finding>;

/// Every rule with its reason.
const RULES: &[(&str, Rule)] = &[
    ("a crate uses only the crates below it, so that what decides cannot touch the world", arrows),
    ("versions are set once, at the root", versions_at_the_root),
    ("what stored bytes depend on is pinned", pins),
    ("core bans what would make a decision depend on time and place", bans_of_core),
    ("a module says first what it is for", module_docs),
    ("a link leads somewhere", links),
    ("a page that is named can be opened", pages),
    ("lines end without blanks and files with a line feed; Rust is indented with blanks", whitespace),
    ("a test that is not run proves nothing, and what is left to do is an issue", leftovers),
    ("the project knows no machine", machine_paths),
    ("the order of stored variants is the format", pinned_variants),
    ("a run is named by its id, and only a store knows its folder", folders_of_runs),
    ("whatever reads what others wrote is fuzzed, and its seeds are tests", fuzz_targets),
    ("git starts in one closed environment: use adapters/workspace/src/git.rs", starts_of_git),
    ("a failed read is no absence: use unstuck_files::Read, or say in a comment why it is none", lost_errors),
    ("a file of the state folder is opened in one way: use unstuck_files::safe_open", opened_state_files),
    ("a file for a person is written in one way, which follows no links", written_files),
    ("a crate stays as small as it is: lower the bound when it shrinks", sizes),
    ("files of a crate use each other in one direction", circles),
    ("plain words: sh tests/prose.sh FOLDER lists the sentences", wording),
    ("a name says what the thing is", names),
    ("one name, one type", names_of_types),
];

#[test]
fn the_repository_is_tidy() {
    let files = files();
    let mut report = String::new();
    for (reason, rule) in RULES {
        for Finding { name, line, what } in rule(&files) {
            let _infallible = writeln!(report, "{name}:{line}: {what} ({reason})");
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn one_name_of_two_types_is_found() {
    let file = |name: &str| File { name: name.to_owned(), text: "pub struct Sample;\n".to_owned() };
    let found = names_of_types(&[file("core/src/a.rs"), file("store/src/b.rs")]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].what, "Sample is also in core/src/a.rs");
}

#[test]
fn each_rule_notices_what_it_is_about() {
    let todo = ["to", "do!()"].concat();
    let home = ["see /ho", "me/me"].concat();
    let cases: &[(Rule, &str, &str, &str)] = &[
        (sizes, "new/Cargo.toml", "[package]\n", "has no bound"),
        (wording, "docs/new.md", "Nobody mends it.\n", "mends"),
        (names, "core/src/new.rs", &["fn o", "f(x: u8) {}\n"].concat(), "fn o"),
        (names, "core/src/new.rs", &["let a = b.map(|(_, i", "t)| 1);\n"].concat(), "it"),
        (
            arrows,
            "core/Cargo.toml",
            "[package]\nname = \"unstuck-core\"\n[dependencies]\nunstuck-store.workspace = true\n",
            "unstuck-core uses unstuck-store",
        ),
        (
            arrows,
            "replay/Cargo.toml",
            "[package]\nname = \"unstuck-replay\"\n[dev-dependencies]\nunstuck-workflow = {}\n",
            "unstuck-replay uses unstuck-workflow",
        ),
        (arrows, "new/Cargo.toml", "[package]\nname = \"unstuck-new\"\n", "unstuck-new is not in the list"),
        (
            versions_at_the_root,
            "core/Cargo.toml",
            "[dependencies]\nserde = \"1\"\n",
            "serde has a version of its own",
        ),
        (
            versions_at_the_root,
            "core/Cargo.toml",
            "[dependencies.serde] # workspace = true\nversion = \"1\"\n",
            "serde has a version of its own",
        ),
        (
            pins,
            "Cargo.toml",
            "[workspace.dependencies]\nsled = { version = \"0.34.7\" }\nbincode = \"=1.3.3\"\n",
            "sled is not pinned to =0.34.7",
        ),
        (pins, "README.md", "", "Cargo.toml is not there"),
        (
            written_files,
            "cli/src/commands/new.rs",
            "fn f() {\n    fs::write(path, text)\n}\n",
            "use unstuck_files::output_file",
        ),
        (bans_of_core, "README.md", "", "core/clippy.toml is not there"),
        (fuzz_targets, "README.md", "", "fuzz/Cargo.toml is not there"),
        (bans_of_core, "core/clippy.toml", "", "does not ban std::time::SystemTime::now"),
        (
            bans_of_core,
            "core/clippy.toml",
            "disallowed-methods = [\n# { path = \"std::fs::read\", reason = \"x\" },\n{ path = \"std::fs::write\" }]\n",
            "does not ban std::fs::read",
        ),
        (
            bans_of_core,
            "core/clippy.toml",
            "disallowed-methods = [{ path = \"std::fs::write\" }]\n",
            "does not ban std::fs::write",
        ),
        (
            bans_of_core,
            "core/clippy.toml",
            "disallowed-macros = [{ path = \"std::print\", reason = \"x\" }]\n",
            "bans std::print, which is not in the list",
        ),
        (links, "docs/x.md", "## Here\n[that](#there)\n", "docs/x.md has no heading #there"),
        (
            links,
            "docs/x.md",
            "[that](../README.md#no-such-heading)\n",
            "README.md has no heading #no-such-heading",
        ),
        (module_docs, "core/src/x.rs", "use std::fmt;\n", "no module doc"),
        (links, "docs/x.md", "see [that](no/such/file.md)\n", "no/such/file.md is not there"),
        (pages, "core/src/x.rs", "//! See docs/no-such.md.\n", "docs/no-such.md is not there"),
        (whitespace, "core/src/x.rs", "//! x\nlet a; \n", "blanks at the end"),
        (whitespace, "core/src/x.rs", "//! x\n\tlet a;\n", "a tab"),
        (whitespace, "README.md", "x", "no line feed at the end"),
        (leftovers, "core/src/x.rs", &todo, "to be done"),
        (machine_paths, "docs/x.md", &home, "path of a machine"),
        (pinned_variants, "store/src/wire/v9.rs", "pub enum Next {\n", "the variants of Next are not in"),
        (starts_of_git, "cli/src/new.rs", "let git = Command::new(\"git\");\n", "git is started here"),
        (
            lost_errors,
            "adapters/workspace/src/snapshot/new.rs",
            "let text = fs::read(path).ok();\n",
            ".ok() without a reason",
        ),
        (
            folders_of_runs,
            "cli/src/new.rs",
            "use unstuck_store::RunDir;\n",
            "the folder of a run is named here",
        ),
        (opened_state_files, "store/src/new.rs", "let text = fs::read(path)?;\n", "fs::read( opens a file"),
    ];
    for table in [
        "[dependencies.unstuck-store]\nworkspace = true\n",
        "[dependencies]\nfoo = { package = \"unstuck-store\", path = \"../store\" }\n",
        "[dependencies.foo]\npath = \"../store\"\npackage = 'unstuck-store'\n",
        "[dependencies]\n\"unstuck-store\" = { workspace = true }\n",
        "[build-dependencies]\nunstuck-store.workspace = true\n",
        "[dev_dependencies]\nunstuck-store = { path = \"../store\" }\n",
        "[target.'cfg(unix)'.dependencies]\nunstuck-store.workspace = true\n",
        "[target.x86_64-unknown-linux-gnu.dev-dependencies.foo]\npackage = \"unstuck-store\"\n",
        "dependencies = { unstuck-store = { workspace = true } }\n",
    ] {
        let (top, below) = if table.starts_with('[') { ("", table) } else { (table, "") };
        let text = format!("{top}[package]\nname = \"unstuck-core\"\n{below}");
        let found = arrows(&[File { name: "core/Cargo.toml".to_owned(), text }]);
        assert!(found.iter().any(|finding| finding.what == "unstuck-core uses unstuck-store"), "{table}");
    }
    for (rule, name, text, expected) in cases {
        let found = rule(&[File { name: (*name).to_owned(), text: (*text).to_owned() }]);
        assert!(found.iter().any(|finding| finding.what.contains(expected)), "{name}: {expected}");
    }
}

// ---- rules ----

/// All of our libraries, for the crates at the top.
const ALL: &[&str] = &[
    "unstuck-core",
    "unstuck-files",
    "unstuck-store",
    "unstuck-store-sled",
    "unstuck-failures",
    "unstuck-document",
    "unstuck-workers",
    "unstuck-process",
    "unstuck-workspace",
    "unstuck-evidence",
    "unstuck-workflow",
    "unstuck-runner",
    "unstuck-replay",
    "unstuck-app",
];

/// Which of our crates each crate may use.
const ARROWS: &[(&str, &[&str])] = &[
    ("unstuck-core", &[]),
    ("unstuck-files", &[]),
    ("unstuck-store", &["unstuck-core", "unstuck-files"]),
    ("unstuck-store-sled", &["unstuck-core", "unstuck-files", "unstuck-store"]),
    ("unstuck-failures", &["unstuck-core"]),
    ("unstuck-document", &[]),
    ("unstuck-workers", &["unstuck-core", "unstuck-document"]),
    ("unstuck-process", &["unstuck-core", "unstuck-files", "unstuck-store"]),
    ("unstuck-workspace", &["unstuck-core", "unstuck-files"]),
    (
        "unstuck-evidence",
        &[
            "unstuck-core",
            "unstuck-failures",
            "unstuck-files",
            "unstuck-process",
            "unstuck-store",
            "unstuck-workspace",
        ],
    ),
    ("unstuck-workflow", &["unstuck-core", "unstuck-document", "unstuck-workers"]),
    (
        "unstuck-runner",
        &[
            "unstuck-core",
            "unstuck-failures",
            "unstuck-files",
            "unstuck-store",
            "unstuck-workers",
            "unstuck-process",
            "unstuck-workspace",
            "unstuck-evidence",
            "unstuck-workflow",
        ],
    ),
    ("unstuck-replay", &["unstuck-core", "unstuck-failures"]),
    ("unstuck-app", ALL),
    ("unstuck", &["unstuck-app", "unstuck-core", "unstuck-files", "unstuck-replay"]),
    ("unstuck-tests", ALL),
    ("redb-store", &["unstuck", "unstuck-core", "unstuck-files", "unstuck-store"]),
];

fn arrows(files: &[File]) -> Vec<Finding> {
    let (mut found, names) = (Vec::new(), renamed(files));
    for file in manifests(files) {
        let package = cargo::package(file).unwrap_or_default();
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == package) else {
            found.push(finding(file, 1, format!("{package} is not in the list")));
            continue;
        };
        // A crate that names itself asks for its own features in tests. The tests of the program look into stores.
        let may_use = |dependency: &cargo::Dependency| {
            let name = dependency.package.as_str();
            let is_open = package == "unstuck" && dependency.for_tests;
            !name.starts_with("unstuck") || name == package || allowed.contains(&name) || is_open
        };
        let used = cargo::dependencies(file, &names).into_iter().filter(|dependency| !may_use(dependency));
        found.extend(used.map(|dependency| {
            finding(file, dependency.line, format!("{package} uses {}", dependency.package))
        }));
    }
    found
}

fn versions_at_the_root(files: &[File]) -> Vec<Finding> {
    let names = renamed(files);
    let own = manifests(files).flat_map(|file| {
        let own = cargo::dependencies(file, &names).into_iter().filter(|dependency| !dependency.inherits);
        own.map(move |dependency| {
            finding(file, dependency.line, format!("{} has a version of its own", dependency.package))
        })
    });
    own.collect()
}

fn pins(files: &[File]) -> Vec<Finding> {
    const PINS: &[(&str, &str)] = &[("sled", "=0.34.7"), ("bincode", "=1.3.3")];
    let root = match named(files, "Cargo.toml") {
        Ok(root) => root,
        Err(missing) => return vec![missing],
    };
    let all = cargo::of_workspace(root);
    let is_pinned = |(name, version): &&(&str, &str)| {
        all.iter()
            .any(|dependency| dependency.package == *name && dependency.version.as_deref() == Some(*version))
    };
    let unpinned = PINS.iter().filter(|pin| !is_pinned(pin));
    unpinned.map(|(name, version)| finding(root, 1, format!("{name} is not pinned to {version}"))).collect()
}

/// All that the core may not use.
const BANS: &[&str] = &[
    "std::time::SystemTime::now",
    "std::time::Instant::now",
    "std::time::SystemTime::elapsed",
    "std::time::Instant::elapsed",
    "std::env::var",
    "std::env::var_os",
    "std::env::vars",
    "std::env::vars_os",
    "std::env::args",
    "std::env::args_os",
    "std::env::current_dir",
    "std::env::current_exe",
    "std::env::temp_dir",
    "std::env::home_dir",
    "std::env::set_var",
    "std::env::remove_var",
    "std::env::set_current_dir",
    "std::fs::read",
    "std::fs::read_to_string",
    "std::fs::read_dir",
    "std::fs::read_link",
    "std::fs::metadata",
    "std::fs::symlink_metadata",
    "std::fs::exists",
    "std::fs::canonicalize",
    "std::fs::File::open",
    "std::fs::File::options",
    "std::fs::OpenOptions::new",
    "std::fs::write",
    "std::fs::copy",
    "std::fs::rename",
    "std::fs::hard_link",
    "std::fs::create_dir",
    "std::fs::create_dir_all",
    "std::fs::remove_file",
    "std::fs::remove_dir",
    "std::fs::remove_dir_all",
    "std::fs::set_permissions",
    "std::fs::DirBuilder::new",
    "std::fs::File::create",
    "std::fs::File::create_new",
    "std::path::Path::exists",
    "std::path::Path::try_exists",
    "std::path::Path::is_file",
    "std::path::Path::is_dir",
    "std::path::Path::is_symlink",
    "std::path::Path::metadata",
    "std::path::Path::symlink_metadata",
    "std::path::Path::canonicalize",
    "std::path::Path::read_dir",
    "std::path::Path::read_link",
    "std::net::TcpStream::connect",
    "std::net::TcpStream::connect_timeout",
    "std::net::TcpListener::bind",
    "std::net::UdpSocket::bind",
    "std::net::ToSocketAddrs::to_socket_addrs",
    "std::io::stdin",
    "std::process::Command::new",
    "std::process::exit",
    "std::process::abort",
    "std::thread::spawn",
    "std::thread::scope",
    "std::thread::Builder::new",
    "std::thread::sleep",
    "std::thread::park",
    "std::thread::available_parallelism",
    "std::process::id",
    "std::hash::RandomState::new",
    "uuid::Uuid::new_v4",
    "uuid::Uuid::now_v7",
    "std::collections::HashMap",
    "std::collections::HashSet",
    "std::hash::RandomState",
    "std::hash::DefaultHasher",
    "std::time::SystemTime",
    "std::time::Instant",
    "std::fs::File",
    "std::fs::OpenOptions",
    "std::net::TcpStream",
    "std::net::TcpListener",
    "std::net::UdpSocket",
];

fn bans_of_core(files: &[File]) -> Vec<Finding> {
    let file = match named(files, "core/clippy.toml") {
        Ok(file) => file,
        Err(missing) => return vec![missing],
    };
    let bans = cargo::bans(file);
    let missing = BANS.iter().filter(|path| !bans.iter().any(|ban| ban == *path));
    let missing = missing.map(|path| format!("does not ban {path}"));
    let unlisted = bans.iter().filter(|path| !BANS.contains(&path.as_str()));
    let unlisted = unlisted.map(|path| format!("bans {path}, which is not in the list"));
    missing.chain(unlisted).map(|what| finding(file, 1, what)).collect()
}

/// Files that write other files than those for a person, each with what it writes.
const WRITERS: &[(&str, &str)] = &[
    (
        "adapters/evidence/src/decision_file.rs",
        "a verdict that a worker gives by a command, into its decision file",
    ),
    ("adapters/workspace/src/snapshot/", "the store of snapshots"),
    ("adapters/evidence/src/validators/", "what git reads for a validator, into a folder of ours"),
    ("cli/src/commands/detach.rs", "output of a run in the background, into the state folder"),
];

fn written_files(files: &[File]) -> Vec<Finding> {
    let ways = ["fs::write(", "File::create(", "File::create_new("];
    let is_meant = |file: &&File| {
        ["cli/src/", "adapters/"].iter().any(|folder| file.name.starts_with(folder))
            && file.name.contains("/src/")
            && !file.name.ends_with("/tests.rs")
            && !WRITERS.iter().any(|(name, _)| file.name.starts_with(name))
    };
    let mut found = Vec::new();
    for file in rust(files).filter(is_meant) {
        // Tests come last in a file.
        let code = file.text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let code = code.split("#[cfg(all(test").next().unwrap_or_default();
        let lines = numbered(code)
            .filter(|(_, line)| ways.iter().any(|way| line.replace("OutputFile::", "").contains(way)));
        found.extend(lines.map(|(line, _)| {
            finding(file, line, "writes a file; use unstuck_files::output_file".to_owned())
        }));
    }
    found
}

fn module_docs(files: &[File]) -> Vec<Finding> {
    let bare = rust(files).filter(|file| !file.text.starts_with("//! "));
    bare.map(|file| finding(file, 1, "no module doc at the top".to_owned())).collect()
}

fn links(files: &[File]) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.name.ends_with(".md")) {
        for (line, target) in pointers::relative(&file.text) {
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let folder = Path::new(&file.name).parent().unwrap_or(Path::new(""));
            let page = root().join(folder).join(path);
            if !path.is_empty() && !page.exists() {
                found.push(finding(file, line, format!("{path} is not there")));
            } else if !anchor.is_empty() && (path.is_empty() || path.ends_with(".md")) {
                let text = if path.is_empty() { Ok(file.text.clone()) } else { fs::read_to_string(page) };
                let name = if path.is_empty() { &file.name } else { path };
                if !pointers::anchors(&text.unwrap_or_default()).iter().any(|name| name == anchor) {
                    found.push(finding(file, line, format!("{name} has no heading #{anchor}")));
                }
            }
        }
    }
    found
}

fn pages(files: &[File]) -> Vec<Finding> {
    const BEFORE: [&str; 4] = ["(docs/", "see docs/", "See docs/", "in docs/"];
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !is_sample(&file.name) && !file.name.ends_with("tidy.rs")) {
        for (line, text) in numbered(&file.text) {
            for rest in BEFORE.iter().flat_map(|before| text.split(before).skip(1)) {
                let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
                let page = name.trim_end_matches('.');
                if !page.is_empty() && !root().join("docs").join(page).exists() {
                    found.push(finding(file, line, format!("docs/{page} is not there")));
                }
            }
        }
    }
    found
}

fn whitespace(files: &[File]) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !is_sample(&file.name)) {
        for (line, text) in numbered(&file.text) {
            if text.ends_with([' ', '\t', '\r']) {
                found.push(finding(file, line, "blanks at the end of the line".to_owned()));
            }
            if file.name.ends_with(".rs") && text.contains('\t') {
                found.push(finding(file, line, "a tab".to_owned()));
            }
        }
        if !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
            let last = file.text.lines().count();
            found.push(finding(file, last, "no line feed at the end, or more than one".to_owned()));
        }
    }
    found
}

fn leftovers(files: &[File]) -> Vec<Finding> {
    // Taken apart, so that this file does not find itself.
    let words = [
        (["#[ign", "ore"].concat(), "a test that is not run"),
        (["to", "do!("].concat(), "something to be done"),
        (["unimpl", "emented!("].concat(), "something to be done"),
        (["db", "g!("].concat(), "a trace of debugging"),
    ];
    // A helper that another test starts as a process is run after all.
    let is_helper = |text: &str| text.contains("\"run by another test\"");
    let mut found = Vec::new();
    for file in rust(files) {
        for (line, text) in numbered(&file.text).filter(|(_, text)| !is_helper(text)) {
            for (_, what) in words.iter().filter(|(word, _)| text.contains(word.as_str())) {
                found.push(finding(file, line, (*what).to_owned()));
            }
        }
    }
    found
}

fn machine_paths(files: &[File]) -> Vec<Finding> {
    let [work, root, home] = [["/wo", "rk/"].concat(), ["/ro", "ot/"].concat(), ["/ho", "me/"].concat()];
    let mut found = Vec::new();
    // A transcript or a log that was recorded elsewhere is evidence as it is.
    for file in files.iter().filter(|file| !is_sample(&file.name)) {
        let is_rust = file.name.ends_with(".rs");
        let mut in_tests = is_rust && ["tests/", "/testing/"].iter().any(|part| file.name.contains(part));
        for (line, text) in numbered(&file.text) {
            in_tests |= is_rust && text.trim() == "#[cfg(test)]";
            // A test may name a home that does not exist.
            let places = [(&work, true), (&root, true), (&home, !in_tests)];
            if let Some((place, _)) = places.iter().find(|(place, applies)| *applies && has_path(text, place))
            {
                found.push(finding(file, line, format!("path of a machine: {place}")));
            }
        }
    }
    found
}

/// Checks whether `text` contains a path that begins with `home`; `src/work/mod.rs` does not.
fn has_path(text: &str, home: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}' | '*');
    text.match_indices(home).any(|(at, _)| !text[..at].ends_with(is_inner))
}

fn pinned_variants(files: &[File]) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in files {
        let version = file.name.strip_prefix("store/src/wire/v").and_then(|rest| rest.strip_suffix(".rs"));
        let Some(version) = version else { continue };
        let snapshot = format!("store/tests/golden/v{version}/order.txt");
        let pinned = files.iter().find(|file| file.name == snapshot).map_or("", |file| file.text.as_str());
        for (line, text) in numbered(&file.text) {
            let name = text.strip_prefix("pub enum ").and_then(|rest| rest.split([' ', '<']).next());
            if let Some(name) = name.filter(|name| !has_word(pinned, name)) {
                found.push(finding(file, line, format!("the variants of {name} are not in {snapshot}")));
            }
        }
    }
    found
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

fn fuzz_targets(files: &[File]) -> Vec<Finding> {
    let manifest = match named(files, "fuzz/Cargo.toml") {
        Ok(manifest) => manifest,
        Err(missing) => return vec![missing],
    };
    let mut found = Vec::new();
    for (name, _) in unstuck_tests::fuzz_targets::TARGETS {
        let body = format!("fuzz/fuzz_targets/{name}.rs");
        if !files.iter().any(|file| file.name == body)
            || !manifest.text.contains(&format!("name = \"{name}\""))
        {
            found.push(finding(manifest, 1, format!("target {name} is missing")));
        }
    }
    found
}

/// Finds where the folder of a run is named outside of the stores.
fn folders_of_runs(files: &[File]) -> Vec<Finding> {
    let is_meant =
        |name: &str| name.contains("/src/") && !name.starts_with("store/") && !name.starts_with("examples/");
    lines_with(files, is_meant, &["RunDir"], |_| "the folder of a run is named here".to_owned())
}

/// Finds where the store opens a file that may be a link, a pipe or a device.
fn opened_state_files(files: &[File]) -> Vec<Finding> {
    const WAYS: [&str; 5] =
        ["File::open(", "File::create(", "fs::read(", "fs::read_to_string(", "fs::write("];
    let is_product = |name: &str| name.starts_with("store/src/") || name.starts_with("store/sled/src/");
    let is_meant = |name: &str| is_product(name) && !name.contains("/testing/");
    lines_with(files, is_meant, &WAYS, |way| format!("{way} opens a file"))
}

/// Finds lines of the product, in the files that are meant, that have one of some texts.
fn lines_with(
    files: &[File],
    is_meant: impl Fn(&str) -> bool,
    texts: &[&str],
    say: impl Fn(&str) -> String,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in rust(files).filter(|file| is_meant(&file.name)) {
        for (number, line) in numbered(product_of(file)) {
            let text = texts.iter().find(|text| line.contains(**text));
            found.extend(text.map(|text| finding(file, number, say(text))));
        }
    }
    found
}

/// Finds where the product starts git by another way than the one function.
fn starts_of_git(files: &[File]) -> Vec<Finding> {
    let program = ["Command::new(\"", "git\")"].concat();
    let is_product = |name: &str| name.contains("/src/") && name != "adapters/workspace/src/git.rs";
    lines_with(files, is_product, &[&program], |_| "git is started here".to_owned())
}

/// Finds what turns a failed read into nothing, where snapshots of the workspace are taken, compared and restored.
fn lost_errors(files: &[File]) -> Vec<Finding> {
    const CALLS: [&str; 4] = [".ok()", ".flatten()", ".unwrap_or_default()", ".exists()"];
    let of_snapshots = rust(files).filter(|file| file.name.starts_with("adapters/workspace/src/snapshot/"));
    let lost = of_snapshots.flat_map(|file| {
        let lines: Vec<&str> = product_of(file).lines().collect();
        // The formatter moves a comment behind an opening brace to the next line.
        let has_reason = |at: usize| lines[at..].iter().take(2).any(|line| line.contains("// "));
        let calls = lines.iter().enumerate().filter_map(|(at, line)| {
            let call = CALLS.into_iter().find(|call| line.contains(call))?;
            (!has_reason(at)).then(|| finding(file, at + 1, format!("{call} without a reason")))
        });
        calls.collect::<Vec<_>>()
    });
    lost.collect()
}

/// Maximum lines of a crate without tests, and of its longest file. A value may only fall, except for code that moves here
/// from another crate and for longer names.
const BOUNDS: &[(&str, usize, usize)] = &[
    ("core", 14_910, 500),
    ("store", 7_940, 840),
    ("store/sled", 2_450, 560),
    ("store/files", 2_360, 520),
    ("adapters/failures", 17_910, 610),
    ("adapters/document", 2_200, 490),
    ("adapters/workers", 3_990, 710),
    ("adapters/workflow", 13_690, 700),
    ("adapters/process", 4_310, 530),
    ("adapters/workspace", 11_290, 540),
    ("adapters/evidence", 3_190, 510),
    ("runner", 7_130, 820),
    ("replay", 4_590, 430),
    ("cli", 8_510, 490),
    ("cli/app", 10_680, 660),
    ("examples/redb-store", 130, 110),
];

/// Checks whether a file is prose for people: a page, or Rust with its comments.
fn is_prose(file: &File) -> bool {
    let is_fixture = ["/fixtures/", "/golden/", "fuzz/seeds/"].iter().any(|part| file.name.contains(part));
    (file.name.ends_with(".md") || file.name.ends_with(".rs")) && !is_fixture
}

fn wording(files: &[File]) -> Vec<Finding> {
    let in_file = |file| prose::hits(file).into_iter().map(move |hit| finding(file, hit.line, hit.why));
    files.iter().filter(|file| is_prose(file)).flat_map(in_file).collect()
}

/// Finds names that say nothing: a function `of`, and an argument `it` of a closure.
fn names(files: &[File]) -> Vec<Finding> {
    static SAYS_NOTHING: LazyLock<Regex> = LazyLock::new(|| {
        let argument = r"\|\(?(?:(?:&|mut )*\w+, *)*(?:&|mut )*it(?:[:,)][^|]*)?\|";
        Regex::new(&format!(r"\bfn of\(|{argument}")).expect("a pattern")
    });
    let mut found = Vec::new();
    for file in rust(files) {
        for (number, line) in numbered(&file.text) {
            let name = SAYS_NOTHING.find(line);
            found.extend(name.map(|name| finding(file, number, format!("{:?}", name.as_str()))));
        }
    }
    found
}

/// Finds public types of one name in two files. The stored types of a version, the arguments of commands, and the same type
/// for another system are meant to have one name.
fn names_of_types(files: &[File]) -> Vec<Finding> {
    static TYPE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)^ *pub(?:\([a-z]+\))? (?:struct|enum|trait|type) (\w+)").expect("a pattern")
    });
    const SHARED: [&str; 3] = ["Args", "Command", "Result"];
    let is_meant = |name: &str| {
        name.contains("/src/")
            && !["tests/", "store/src/wire/"].iter().any(|start| name.starts_with(start))
            && !name.ends_with("/windows.rs")
    };
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for file in rust(files).filter(|file| is_meant(&file.name)) {
        for (number, line) in numbered(product_of(file)) {
            let Some(name) = TYPE.captures(line).and_then(|found| found.get(1)) else { continue };
            if SHARED.contains(&name.as_str()) {
                continue;
            }
            let known = first.entry(name.as_str()).or_insert(&file.name);
            if *known != file.name {
                found.push(finding(file, number, format!("{} is also in {known}", name.as_str())));
            }
        }
    }
    found
}

#[test]
fn lines_to_rewrite_can_be_printed() {
    let folder = std::env::var("FOLDER").unwrap_or_default();
    let is_meant = |file: &File| file.name.starts_with(&folder) && is_prose(file);
    let files: Vec<File> = files().into_iter().filter(is_meant).collect();
    assert!(
        !files.is_empty(),
        "there is no prose in {folder}: name a folder from the root of the repository"
    );
    for file in &files {
        for prose::Hit { line, why, text } in prose::hits(file) {
            println!("{}:{line}: {why}: {}", file.name, text.trim());
        }
    }
}

/// Lines that a bound may be above what there is.
const SLACK: usize = 60;

fn sizes(files: &[File]) -> Vec<Finding> {
    let mut found = Vec::new();
    for shape in structure::shapes(files) {
        let Some((_, lines, longest)) = BOUNDS.iter().find(|(name, ..)| *name == shape.folder) else {
            found.extend(
                named(files, &format!("{}/Cargo.toml", shape.folder))
                    .map(|file| finding(file, 1, "has no bound".to_owned())),
            );
            continue;
        };
        let name = format!("{}/Cargo.toml", shape.folder);
        for (what, is, bound) in
            [("lines", shape.lines, *lines), ("lines in one file", shape.longest.0, *longest)]
        {
            if is > bound || is + SLACK < bound {
                found.push(Finding {
                    name: name.clone(),
                    line: 1,
                    what: format!("{is} {what}, the bound is {bound}"),
                });
            }
        }
    }
    found
}

fn circles(files: &[File]) -> Vec<Finding> {
    let shapes = structure::shapes(files);
    let circles = shapes.iter().flat_map(|shape| &shape.circles);
    circles
        .map(|circle| Finding { name: circle[0].clone(), line: 1, what: format!("a circle: {circle:?}") })
        .collect()
}

/// Run by `tests/structure.sh`, which shows what it prints.
#[test]
fn the_structure_of_the_code_can_be_printed() {
    println!("{}", structure::table(&structure::shapes(&files())));
}

/// Returns the text of a file before its tests.
fn product_of(file: &File) -> &str {
    let end = ["#[cfg(test)]", "#[cfg(all(test"].iter().filter_map(|mark| file.text.find(mark)).min();
    &file.text[..end.unwrap_or(file.text.len())]
}

// ---- reading ----

/// Folders that hold no source of ours.
const SKIPPED: &[&str] = &[".git", "target", "corpus", "artifacts", "node_modules"];

/// Files that are samples of what others write, kept byte for byte.
fn is_sample(name: &str) -> bool {
    let folders = ["/fixtures/", "/golden/", "fuzz/seeds/", "/corpus/"];
    folders.iter().any(|folder| name.contains(folder))
        || name.ends_with(".proptest-regressions")
        || matches!(name, "LICENSE-APACHE" | "Cargo.lock" | "fuzz/Cargo.lock")
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate has a folder");
    root.components().filter(|part| *part != Component::CurDir).collect()
}

/// Returns all text files of the repository.
fn files() -> Vec<File> {
    let mut files = Vec::new();
    read_folder(&root(), "", &mut files);
    assert!(files.len() > 50, "the repository was not found");
    files
}

fn read_folder(folder: &Path, prefix: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let entry = entry.expect("the folder can be read");
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().expect("the entry is there");
        if kind.is_dir() && !SKIPPED.contains(&&*entry.file_name().to_string_lossy()) {
            read_folder(&entry.path(), &format!("{name}/"), files);
        } else if kind.is_file()
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            files.push(File { name, text });
        }
    }
}

fn rust(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| file.name.ends_with(".rs") && !is_sample(&file.name))
}

/// Returns the manifests of the members; `fuzz/` is a separate workspace.
fn manifests(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| {
        file.name.ends_with("/Cargo.toml") && !file.name.starts_with("fuzz/") && !is_sample(&file.name)
    })
}

/// Returns the file with this name. A missing file is a finding: a rule about it would check nothing.
fn named<'a>(files: &'a [File], name: &str) -> Result<&'a File, Finding> {
    let missing = || Finding { name: name.to_owned(), line: 1, what: format!("{name} is not there") };
    files.iter().find(|file| file.name == name).ok_or_else(missing)
}

/// Returns the names that the root gives to packages that are called otherwise.
fn renamed(files: &[File]) -> BTreeMap<String, String> {
    named(files, "Cargo.toml").map(cargo::renamed).unwrap_or_default()
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.split('\n'))
}

fn finding(file: &File, line: usize, what: String) -> Finding {
    Finding { name: file.name.clone(), line, what }
}
