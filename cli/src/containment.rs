//! Which command lines that a worker is run by are known to contain it. What they let through is the business of whoever
//! wrote them, unless that is everything; one that is not known, such as `env` or `nice`, contains nothing.

/// Programs that contain what they run, and the subcommands by which they do; none: however they are called.
const KNOWN: &[(&str, &[&str])] = &[
    ("apptainer", &["exec", "run"]),
    ("bwrap", &[]),
    ("container", &["exec", "run"]),
    ("docker", &["exec", "run"]),
    ("firejail", &[]),
    ("limactl", &["shell"]),
    ("nerdctl", &["exec", "run"]),
    ("nsjail", &[]),
    ("podman", &["exec", "run"]),
    ("sandbox-exec", &[]),
    ("singularity", &["exec", "run"]),
    ("systemd-nspawn", &[]),
];

/// Says whether a worker that is run by this command line is contained.
pub fn contains(wrap: &str) -> bool {
    // Behind any of these another command may begin, that the worker is an argument of, or that runs out here.
    if wrap.contains([';', '|', '&', '\n', '`']) || wrap.contains("$(") {
        return false;
    }
    let mut words = wrap.split_whitespace();
    // A program of the workspace is whatever a worker made of it.
    let named = words.next().filter(|word| word.starts_with('/') || !word.contains('/'));
    let program = named.and_then(|word| word.rsplit('/').next()).unwrap_or_default();
    let known = KNOWN.iter().find(|(name, _)| *name == program);
    known.is_some_and(|(_, by)| by.is_empty() || words.any(|word| by.contains(&word))) && !opens_all(wrap)
}

/// Says whether a command line lets through all that the system has: its privileges, or its files to write to.
fn opens_all(wrap: &str) -> bool {
    let wrap = wrap.replace(['"', '\''], "");
    let words: Vec<&str> = wrap.split_whitespace().collect();
    let is_open = |word: &str| {
        let is_privileged = word.starts_with("--privileged") && word != "--privileged=false";
        let mount = word.rsplit_once('=').map_or(word, |(_, mount)| mount);
        let is_writable = !word.split([',', ':']).any(|option| matches!(option, "ro" | "readonly"));
        let is_root = mount.starts_with("/:") || word.contains("source=/,") || word.contains("src=/,");
        is_privileged || is_root && is_writable
    };
    let binds_root = |pair: &[&str]| matches!(pair, ["--bind" | "--dev-bind", "/"]);
    words.iter().any(|word| is_open(word)) || words.windows(2).any(binds_root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_to_contain_a_worker_does() {
        for (wrap, expected) in [
            ("docker run --rm -i -v \"$PWD:/w\" -w /w image", true),
            ("docker --context far compose run worker", true),
            ("/usr/bin/podman exec -i box", true),
            ("bwrap --ro-bind / / --bind . .", true),
            ("docker run -v /:/host:ro image", true),
            ("docker run --privileged=false image", true),
            ("docker run --privileged image", false),
            ("docker run -v /:/host image", false),
            ("podman run --volume=\"/:/host:rw\" image", false),
            ("docker run --mount type=bind,source=/,target=/host image", false),
            ("docker run --mount type=bind,source=/,target=/host,readonly image", true),
            ("bwrap --dev-bind / / --unshare-pid", false),
            ("docker ps", false),
            ("./docker run image", false),
            ("bin/docker run image", false),
            ("docker exec c$(touch f)", false),
            ("docker exec `cat name` sh", false),
            ("env IS_SANDBOX=1", false),
            ("nice -n 10", false),
            ("sudo -u nobody", false),
            ("sh -c 'docker run image'", false),
            ("docker run image; env", false),
            ("docker run image | sh -c", false),
            ("./docker-like run", false),
            ("", false),
        ] {
            assert_eq!(contains(wrap), expected, "{wrap}");
        }
    }
}
