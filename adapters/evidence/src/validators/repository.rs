//! The state of the repository when a validator ran: what its output need not say.

use std::io;
use std::path::Path;
use std::process::Output;

use unstuck_workspace::git::git;

use super::RepositoryInfo;

/// Returns the way from the root of the repository to the workspace, where a command is one call of `git status` there.
pub(super) fn below_root(command: &str, workspace: &Path) -> String {
    let mut words = command.split_whitespace();
    let asks = words.next() == Some("git") && words.any(|word| word == "status");
    let is_elsewhere = ["-C", "--git-dir", "--work-tree"].iter().any(|option| command.contains(option));
    if !asks || is_elsewhere {
        return String::new();
    }
    let told = git(workspace, ["rev-parse", "--show-prefix"]).ok().filter(|output| output.status.success());
    told.map(|output| String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
        .unwrap_or_default()
}

/// Asks git for branch, upstream and commits that the base lacks; `None` outside of a repository.
pub(super) fn read(workspace: &Path, base: Option<&str>) -> Option<RepositoryInfo> {
    let line = |output: io::Result<Output>| {
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    line(git(workspace, ["rev-parse", "--git-dir"]))?;
    let named = |name: Option<String>| name.filter(|name| !name.is_empty());
    let upstream = named(line(git(workspace, ["rev-parse", "--abbrev-ref", "@{upstream}"])));
    let counts = line(git(workspace, ["rev-list", "--left-right", "--count", "HEAD...@{upstream}"]));
    let counts: Vec<u32> =
        counts.iter().flat_map(|line| line.split('\t')).filter_map(|count| count.parse().ok()).collect();
    let from = base.map(str::to_owned).or_else(|| upstream.clone());
    let unmerged = from.and_then(|base| {
        line(git(
            workspace,
            ["log", "--oneline", "--no-decorate", "--max-count=100", &format!("{base}..HEAD"), "--"],
        ))
    });
    Some(RepositoryInfo {
        branch: named(line(git(workspace, ["symbolic-ref", "--quiet", "--short", "HEAD"]))),
        upstream,
        ahead: counts.first().copied().unwrap_or_default(),
        behind: counts.get(1).copied().unwrap_or_default(),
        unmerged: unmerged.iter().flat_map(|text| text.lines()).map(str::to_owned).collect(),
    })
}
