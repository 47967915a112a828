//! How a project is tested: the command that its files name, or that its kind of project has.
//!
//! Only the root is looked at, and nothing is run. What a project says itself (a script in its
//! manifest) wins over what is usual for its kind; a rule is one line of `RULES`.

use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

/// A command that tests a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCommand {
    /// The command line.
    pub command: String,
    /// The file that says so, from the root of the project.
    pub found: String,
}

impl fmt::Display for TestCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.command, self.found)
    }
}

/// Returns the commands that test the project in a folder, the most specific first.
pub fn detect(root: &Path) -> Vec<TestCommand> {
    let project = ProjectDir { root };
    RULES.iter().filter_map(|rule| rule(&project)).collect()
}

/// Maximum bytes that are read of a manifest.
const BYTES_MAX: u64 = 1024 * 1024;

type DetectionRule = fn(&ProjectDir<'_>) -> Option<TestCommand>;

/// Package managers and compilers come first: a Makefile next to them usually calls one of them, and more.
const RULES: &[DetectionRule] = &[
    |dir| dir.with("Cargo.toml", &format!("cargo test{}", all_members(dir))),
    |dir| dir.with("go.mod", "go test -v ./..."),
    node,
    deno,
    python,
    |dir| dir.with("mix.exs", "mix test"),
    |dir| dir.with("pom.xml", if dir.has("mvnw") { "./mvnw test" } else { "mvn test" }),
    gradle,
    ruby,
    php,
    |dir| dir.with("Package.swift", "swift test"),
    |dir| dir.any(".", &[".sln", ".csproj"]).and_then(|file| dir.with(&file, "dotnet test")),
    dart,
    |dir| dir.with_text(&["build.zig"], "\"test\"", "zig build test"),
    |dir| dir.with("build.sbt", "sbt test"),
    |dir| dir.with("project.clj", "lein test"),
    |dir| dir.with("stack.yaml", "stack test"),
    |dir| dir.any(".", &["cabal.project", ".cabal"]).and_then(|file| dir.with(&file, "cabal test all")),
    |dir| dir.with("dune-project", "dune test"),
    |dir| dir.with("gleam.toml", "gleam test"),
    |dir| dir.any("spec", &["_spec.cr"]).and_then(|_| dir.with("shard.yml", "crystal spec")),
    |dir| dir.with(".busted", "busted"),
    perl,
    |dir| {
        dir.any("build", &["build.ninja"])
            .and_then(|_| dir.with("meson.build", "meson test -C build --print-errorlogs"))
    },
    |dir| {
        let file = ["MODULE.bazel", "WORKSPACE.bazel", "WORKSPACE"].into_iter().find(|file| dir.has(file))?;
        dir.with(file, "bazel test --test_output=errors //...")
    },
    |dir| {
        dir.with(
            "build/CTestTestfile.cmake",
            "cmake --build build && ctest --test-dir build --output-on-failure",
        )
    },
    |dir| ["test", "tests"].iter().find_map(|folder| bats(dir, folder)),
    |dir| dir.with_text(&["tox.ini"], "[testenv", "tox"),
    |dir| dir.with("noxfile.py", "nox"),
    |dir| dir.with("manage.py", "python3 manage.py test"),
    |dir| dir.with_text(&["Taskfile.yml", "Taskfile.yaml"], "\n  test:", "task test"),
    |dir| dir.with_target(JUSTFILES, "just", "test"),
    |dir| dir.with_target(MAKEFILES, "make", "test"),
    // The GNU name of the target.
    |dir| dir.with_target(MAKEFILES, "make", "check"),
];

const JUSTFILES: &[&str] = &["justfile", "Justfile", ".justfile"];
pub(crate) const MAKEFILES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];

/// Returns the cargo option that selects all members of a workspace: with a root package, cargo tests only that one.
fn all_members(project: &ProjectDir<'_>) -> &'static str {
    match project.text("Cargo.toml") {
        Some(text) if text.contains("[workspace") && text.contains("[package]") => " --workspace",
        _ => "",
    }
}

fn node(project: &ProjectDir<'_>) -> Option<TestCommand> {
    let manifest = project.json("package.json")?;
    let script = manifest["scripts"]["test"].as_str()?;
    // `npm init` writes this placeholder if the user enters no command.
    if script.contains("no test specified") {
        return None;
    }
    let manager = package_manager(project);
    project.with(
        "package.json",
        &if manager == "bun" { "bun run test".to_owned() } else { format!("{manager} test") },
    )
}

/// Returns the package manager of a project with a `package.json`, by what that says or by its lock file.
pub(crate) fn package_manager(project: &ProjectDir<'_>) -> &'static str {
    let manifest = project.json("package.json");
    let name = manifest.as_ref().and_then(|manifest| manifest["packageManager"].as_str()?.split('@').next());
    if let Some(known) =
        name.and_then(|name| ["npm", "pnpm", "yarn", "bun"].into_iter().find(|manager| *manager == name))
    {
        return known;
    }
    let locks = [
        ("pnpm-lock.yaml", "pnpm"),
        ("pnpm-workspace.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
    ];
    locks.iter().find(|(lock, _)| project.has(lock)).map_or("npm", |(_, manager)| *manager)
}

fn deno(project: &ProjectDir<'_>) -> Option<TestCommand> {
    let file = ["deno.json", "deno.jsonc"].into_iter().find(|file| project.has(file))?;
    let has_task = project.json(file).is_some_and(|manifest| !manifest["tasks"]["test"].is_null());
    project.with(file, if has_task { "deno task test" } else { "deno test" })
}

/// A Python project is taken for one with tests only where it says so, or has some.
fn python(project: &ProjectDir<'_>) -> Option<TestCommand> {
    let configs = [
        ("pytest.ini", ""),
        ("pyproject.toml", "[tool.pytest"),
        ("setup.cfg", "[tool:pytest]"),
        ("tox.ini", "[pytest]"),
        ("requirements.txt", "pytest"),
        ("requirements-dev.txt", "pytest"),
        // Among the dependencies for development, in a group or not.
        ("pyproject.toml", "\"pytest"),
        ("pyproject.toml", "\npytest ="),
    ];
    let configured = configs
        .into_iter()
        .find(|(file, section)| project.text(file).is_some_and(|text| text.contains(section)));
    let is_package =
        || ["pyproject.toml", "setup.py", "setup.cfg"].into_iter().find(|file| project.has(file));
    let file = match configured {
        Some((file, _)) => file.to_owned(),
        None => {
            let (folder, test) = [".", "tests", "test"].into_iter().find_map(|folder| {
                let names = project.names(folder);
                Some((folder, names.into_iter().find(|name| is_python_test(name))?))
            })?;
            let path = if folder == "." { test } else { format!("{folder}/{test}") };
            let text = project.text(&path).unwrap_or_default();
            let file = is_package().map_or(path, str::to_owned);
            if text.contains("import unittest") && !text.contains("pytest") {
                let command =
                    format!("{}python3 -m unittest discover -v -s {folder}", python_runner(project));
                return project.with(&file, &command);
            }
            file
        }
    };
    project.with(&file, &format!("{}pytest -v", python_runner(project)))
}

/// Returns the prefix of a Python command: a project with a lock file has its packages in a separate environment.
pub(crate) fn python_runner(project: &ProjectDir<'_>) -> &'static str {
    let runners = [("poetry.lock", "poetry run "), ("uv.lock", "uv run ")];
    runners.into_iter().find(|(lock, _)| project.has(lock)).map_or("", |(_, runner)| runner)
}

fn is_python_test(name: &str) -> bool {
    name.strip_suffix(".py").is_some_and(|name| name.starts_with("test_") || name.ends_with("_test"))
}

fn gradle(project: &ProjectDir<'_>) -> Option<TestCommand> {
    let files = ["build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle"];
    let file = files.into_iter().find(|file| project.has(file))?;
    project.with(file, if project.has("gradlew") { "./gradlew test" } else { "gradle test" })
}

fn ruby(project: &ProjectDir<'_>) -> Option<TestCommand> {
    let has_specs = project.has(".rspec") || project.any("spec", &["_spec.rb", "spec_helper.rb"]).is_some();
    if has_specs && project.has("Gemfile") {
        return project.with("Gemfile", "bundle exec rspec");
    }
    let is_rake_task = |text: &str| text.contains("TestTask") || text.contains("task :test");
    project.text("Rakefile").filter(|text| is_rake_task(text))?;
    project.with("Rakefile", "rake test")
}

fn php(project: &ProjectDir<'_>) -> Option<TestCommand> {
    let manifest = project.json("composer.json");
    if manifest.is_some_and(|manifest| !manifest["scripts"]["test"].is_null()) {
        return project.with("composer.json", "composer test");
    }
    let file = ["phpunit.xml", "phpunit.xml.dist"].into_iter().find(|file| project.has(file))?;
    project.with(file, "vendor/bin/phpunit")
}

fn dart(project: &ProjectDir<'_>) -> Option<TestCommand> {
    project.any("test", &["_test.dart"])?;
    let flutter = project.with_text(&["pubspec.yaml"], "sdk: flutter", "flutter test");
    flutter.or_else(|| project.with("pubspec.yaml", "dart test"))
}

fn perl(project: &ProjectDir<'_>) -> Option<TestCommand> {
    project.any("t", &[".t"])?;
    let file =
        ["cpanfile", "Makefile.PL", "Build.PL", "dist.ini"].into_iter().find(|file| project.has(file))?;
    project.with(file, "prove -lr t")
}

fn bats(project: &ProjectDir<'_>, folder: &str) -> Option<TestCommand> {
    let file = project.any(folder, &[".bats"])?;
    Some(TestCommand { command: format!("bats {folder}"), found: format!("{folder}/{file}") })
}

/// The folder that is looked at.
pub(crate) struct ProjectDir<'a> {
    pub root: &'a Path,
}

impl ProjectDir<'_> {
    pub fn has(&self, file: &str) -> bool {
        self.root.join(file).is_file()
    }

    fn with(&self, file: &str, command: &str) -> Option<TestCommand> {
        self.has(file).then(|| TestCommand { command: command.to_owned(), found: file.to_owned() })
    }

    /// Finds a file with these words in it.
    fn with_text(&self, files: &[&str], words: &str, command: &str) -> Option<TestCommand> {
        let file = files.iter().find(|file| self.text(file).is_some_and(|text| text.contains(words)))?;
        self.with(file, command)
    }

    /// Finds a file that has a target or recipe of this name.
    pub fn with_target(&self, files: &[&str], tool: &str, target: &str) -> Option<TestCommand> {
        let has_target = |text: String| {
            text.lines().any(|line| {
                let rest = line.trim_start_matches('@').strip_prefix(target);
                rest.is_some_and(|rest| {
                    let (names, after) = rest.split_once(':').unwrap_or(("=", ""));
                    !names.contains('=')
                        && names.starts_with([' ', '\t']) | names.is_empty()
                        && !after.starts_with('=')
                })
            })
        };
        let file = files.iter().find(|file| self.text(file).is_some_and(has_target))?;
        self.with(file, &format!("{tool} {target}"))
    }

    /// Returns the content of a file; of a very large one, its beginning.
    pub fn text(&self, file: &str) -> Option<String> {
        let path = self.root.join(file);
        let mut bytes = Vec::new();
        // A pipe would be waited for.
        let file = fs::File::open(path.is_file().then_some(&path)?).ok()?;
        file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads a file of JSON, in which lines may be comments.
    pub fn json(&self, file: &str) -> Option<Value> {
        let is_data = |line: &&str| !line.trim_start().starts_with("//");
        let text = self.text(file)?.lines().filter(is_data).collect::<Vec<_>>().join("\n");
        serde_json::from_str(&text).ok()
    }

    /// Returns the names of what is in a folder, in their order.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Finds a file of a folder whose name ends so.
    pub fn any(&self, folder: &str, ends: &[&str]) -> Option<String> {
        self.names(folder).into_iter().find(|name| ends.iter().any(|end| name.ends_with(end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[(&str, &str)]) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("the folder is ours");
            fs::write(path, text).expect("the folder is ours");
        }
        let detected = detect(folder.path());
        let found: Vec<(&str, &str)> =
            detected.iter().map(|test| (test.command.as_str(), test.found.as_str())).collect();
        assert_eq!(found, expected, "{files:?}");
    }

    #[test]
    fn each_kind_of_project_has_its_command() {
        let script = r#"{"scripts": {"test": "vitest run"}}"#;
        check(&[], &[]);
        check(&[("Cargo.toml", "")], &[("cargo test", "Cargo.toml")]);
        let package = "[package]\nname = \"a\"\n";
        check(&[("Cargo.toml", package)], &[("cargo test", "Cargo.toml")]);
        let members = "[workspace]\nmembers = [\"b\"]\n";
        check(&[("Cargo.toml", members)], &[("cargo test", "Cargo.toml")]);
        let both = package.to_owned() + members;
        check(&[("Cargo.toml", &both)], &[("cargo test --workspace", "Cargo.toml")]);
        check(&[("go.mod", "")], &[("go test -v ./...", "go.mod")]);
        check(&[("package.json", script)], &[("npm test", "package.json")]);
        check(&[("package.json", script), ("pnpm-lock.yaml", "")], &[("pnpm test", "package.json")]);
        let manifest = r#"{"packageManager": "pnpm@9.1.0", "scripts": {"test": "vitest run"}}"#;
        check(&[("package.json", manifest)], &[("pnpm test", "package.json")]);
        check(&[("package.json", script), ("yarn.lock", "")], &[("yarn test", "package.json")]);
        check(&[("package.json", script), ("bun.lock", "")], &[("bun run test", "package.json")]);
        check(&[("deno.json", "{}")], &[("deno test", "deno.json")]);
        check(&[("deno.jsonc", "// tasks\n{}")], &[("deno test", "deno.jsonc")]);
        let commented = "{\n  // all of them\n  \"tasks\": {\"test\": \"x\"}\n}";
        check(&[("deno.jsonc", commented)], &[("deno task test", "deno.jsonc")]);
        check(&[("deno.json", r#"{"tasks": {"test": "x"}}"#)], &[("deno task test", "deno.json")]);
        check(&[("pytest.ini", "")], &[("pytest -v", "pytest.ini")]);
        check(&[("pyproject.toml", "[tool.pytest.ini_options]")], &[("pytest -v", "pyproject.toml")]);
        check(&[("setup.cfg", "[tool:pytest]")], &[("pytest -v", "setup.cfg")]);
        check(&[("tox.ini", "[pytest]")], &[("pytest -v", "tox.ini")]);
        check(&[("pyproject.toml", ""), ("tests/test_a.py", "")], &[("pytest -v", "pyproject.toml")]);
        let unittest = "import unittest\n";
        check(
            &[("pyproject.toml", ""), ("tests/test_a.py", unittest)],
            &[("python3 -m unittest discover -v -s tests", "pyproject.toml")],
        );
        check(&[("setup.py", ""), ("a_test.py", "")], &[("pytest -v", "setup.py")]);
        check(&[("tests/test_a.py", "")], &[("pytest -v", "tests/test_a.py")]);
        check(&[("mix.exs", "")], &[("mix test", "mix.exs")]);
        check(&[("pom.xml", "")], &[("mvn test", "pom.xml")]);
        check(&[("pom.xml", ""), ("mvnw", "")], &[("./mvnw test", "pom.xml")]);
        check(&[("build.gradle.kts", "")], &[("gradle test", "build.gradle.kts")]);
        check(&[("build.gradle", ""), ("gradlew", "")], &[("./gradlew test", "build.gradle")]);
        check(&[("Gemfile", ""), ("spec/a_spec.rb", "")], &[("bundle exec rspec", "Gemfile")]);
        check(&[("Rakefile", "Rake::TestTask.new(:test)")], &[("rake test", "Rakefile")]);
        check(&[("composer.json", script)], &[("composer test", "composer.json")]);
        check(&[("phpunit.xml.dist", "")], &[("vendor/bin/phpunit", "phpunit.xml.dist")]);
        check(&[("Package.swift", "")], &[("swift test", "Package.swift")]);
        check(&[("a.sln", "")], &[("dotnet test", "a.sln")]);
        check(&[("pubspec.yaml", ""), ("test/a_test.dart", "")], &[("dart test", "pubspec.yaml")]);
        let flutter = ("pubspec.yaml", "dependencies:\n  flutter:\n    sdk: flutter\n");
        check(&[flutter, ("test/a_test.dart", "")], &[("flutter test", "pubspec.yaml")]);
        check(&[("build.zig", "b.step(\"test\", \"Run them\")")], &[("zig build test", "build.zig")]);
        check(&[("build.sbt", "")], &[("sbt test", "build.sbt")]);
        check(&[("project.clj", "")], &[("lein test", "project.clj")]);
        check(&[("stack.yaml", "")], &[("stack test", "stack.yaml")]);
        check(&[("a.cabal", "")], &[("cabal test all", "a.cabal")]);
        check(&[("dune-project", "")], &[("dune test", "dune-project")]);
        check(&[("gleam.toml", "")], &[("gleam test", "gleam.toml")]);
        check(&[("shard.yml", ""), ("spec/a_spec.cr", "")], &[("crystal spec", "shard.yml")]);
        check(&[(".busted", "")], &[("busted", ".busted")]);
        check(&[("cpanfile", ""), ("t/a.t", "")], &[("prove -lr t", "cpanfile")]);
        check(
            &[("meson.build", ""), ("build/build.ninja", "")],
            &[("meson test -C build --print-errorlogs", "meson.build")],
        );
        check(&[("MODULE.bazel", "")], &[("bazel test --test_output=errors //...", "MODULE.bazel")]);
        check(&[("tox.ini", "[tox]\n[testenv]\n")], &[("tox", "tox.ini")]);
        check(&[("noxfile.py", "")], &[("nox", "noxfile.py")]);
        check(&[("manage.py", "")], &[("python3 manage.py test", "manage.py")]);
        check(
            &[("Taskfile.yml", "version: '3'\ntasks:\n  test:\n    cmds: [x]\n")],
            &[("task test", "Taskfile.yml")],
        );
        check(
            &[("CMakeLists.txt", ""), ("build/CTestTestfile.cmake", "")],
            &[(
                "cmake --build build && ctest --test-dir build --output-on-failure",
                "build/CTestTestfile.cmake",
            )],
        );
        check(&[("test/a.bats", "")], &[("bats test", "test/a.bats")]);
        check(&[("justfile", "build:\n\ntest *args:\n  x\n")], &[("just test", "justfile")]);
        check(&[("Makefile", "all: x\n\ntest: all\n\tx\n")], &[("make test", "Makefile")]);
        check(&[("Makefile", "check:\n\tx\n")], &[("make check", "Makefile")]);
        check(&[("requirements.txt", "flask\npytest==8\n")], &[("pytest -v", "requirements.txt")]);
        check(
            &[("pyproject.toml", "[dependency-groups]\ndev = [\"pytest>=8\"]\n"), ("uv.lock", "")],
            &[("uv run pytest -v", "pyproject.toml")],
        );
        check(
            &[
                ("pyproject.toml", "[tool.poetry.group.dev.dependencies]\npytest = \"^8\"\n"),
                ("poetry.lock", ""),
            ],
            &[("poetry run pytest -v", "pyproject.toml")],
        );
        check(&[("package.json", script), ("pnpm-workspace.yaml", "")], &[("pnpm test", "package.json")]);
    }

    #[test]
    fn files_without_a_test_command_are_not_detected() {
        check(&[("package.json", r#"{"name": "a"}"#)], &[]);
        let placeholder = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        check(&[("package.json", placeholder)], &[]);
        check(&[("package.json", "not JSON")], &[]);
        check(&[("pyproject.toml", "[project]")], &[]);
        check(&[("pyproject.toml", "[project]"), ("tests/data.txt", "")], &[]);
        check(&[("CMakeLists.txt", "")], &[]);
        check(&[("meson.build", "")], &[]);
        check(&[("pubspec.yaml", "")], &[]);
        check(&[("build.zig", "")], &[]);
        check(&[("t/a.t", "")], &[]);
        check(&[("tox.ini", "[flake8]")], &[]);
        check(&[("Taskfile.yml", "tasks:\n  tests:\n")], &[]);
        check(&[("Gemfile", "")], &[]);
        check(&[("Rakefile", "task :build")], &[]);
        check(&[("Makefile", "tests: x\ntest-all: x\ntest := y\ntesting:\n")], &[]);
        check(&[("Cargo.toml/a", "")], &[]);
    }

    #[test]
    fn the_most_specific_comes_first() {
        check(
            &[("Makefile", "test:\n"), ("Cargo.toml", "")],
            &[("cargo test", "Cargo.toml"), ("make test", "Makefile")],
        );
    }
}
