//! Which command lines that a worker is run by are known to contain it.
//!
//! The rule: the program is known to isolate what it runs, it is called in the way that does, and no option undoes that by
//! sharing privileges, processes, the network of the host, or the root of the system. Another program, such as `env` or
//! `nice`, contains nothing. Nor does `exec` in a container that runs already: how that was started is not known.

/// A program that contains what it runs.
struct SandboxWrapper {
    name: &'static str,
    /// The subcommand by which it does, directly behind the name; any if empty.
    by: &'static str,
    /// Options of which one is needed; none if empty.
    needs: &'static [&'static str],
}

const KNOWN: &[SandboxWrapper] = &[
    SandboxWrapper { name: "apptainer", by: "exec", needs: &["--containall", "-C"] },
    SandboxWrapper { name: "apptainer", by: "run", needs: &["--containall", "-C"] },
    SandboxWrapper { name: "bwrap", by: "", needs: &["--unshare-all", "--unshare-pid"] },
    SandboxWrapper { name: "container", by: "run", needs: &[] },
    SandboxWrapper { name: "docker", by: "run", needs: &[] },
    SandboxWrapper { name: "firejail", by: "", needs: &[] },
    SandboxWrapper { name: "limactl", by: "shell", needs: &[] },
    SandboxWrapper { name: "nerdctl", by: "run", needs: &[] },
    SandboxWrapper { name: "nsjail", by: "", needs: &[] },
    SandboxWrapper { name: "podman", by: "run", needs: &[] },
    SandboxWrapper { name: "sandbox-exec", by: "", needs: &["-f", "-n", "-p"] },
    SandboxWrapper { name: "singularity", by: "exec", needs: &["--containall", "-C"] },
    SandboxWrapper { name: "singularity", by: "run", needs: &["--containall", "-C"] },
    SandboxWrapper { name: "systemd-nspawn", by: "", needs: &[] },
];

/// Says whether a worker that is run by this command line is contained.
pub fn is_sandbox_wrapper(wrap: &str) -> bool {
    // Behind any of these another command may begin, that the worker is an argument of, or that runs out here.
    if wrap.contains([';', '|', '&', '\n', '`']) || wrap.contains("$(") {
        return false;
    }
    let unquoted = wrap.replace(['"', '\''], "");
    let words: Vec<&str> = unquoted.split_whitespace().collect();
    // A program of the workspace is whatever a worker made of it.
    let named = words.first().filter(|word| word.starts_with('/') || !word.contains('/'));
    let program = named.and_then(|word| word.rsplit('/').next()).unwrap_or_default();
    let is_known = KNOWN.iter().any(|known| {
        known.name == program
            && (known.by.is_empty() || words.get(1) == Some(&known.by))
            && (known.needs.is_empty() || words.iter().any(|word| known.needs.contains(word)))
    });
    is_known
        && !options(&words).any(|(option, value)| undoes(option, value))
        && !wrap.contains("(allow default)")
}

/// Returns the options of a command line, each with its value, or with the word that follows.
fn options<'a>(words: &'a [&'a str]) -> impl Iterator<Item = (&'a str, &'a str)> {
    let next = |at: usize| words.get(at + 1).copied().unwrap_or_default();
    words.iter().enumerate().filter(|(_, word)| word.starts_with('-')).map(move |(at, word)| {
        match (word.split_once('='), word.strip_prefix("-v")) {
            (_, Some(volume)) if !volume.is_empty() => ("-v", volume),
            (Some(option), _) => option,
            (None, _) => (*word, next(at)),
        }
    })
}

/// Says whether an option shares with the worker what a container keeps from it.
fn undoes(option: &str, value: &str) -> bool {
    match option {
        "--privileged" => value != "false",
        "--pid" | "--net" | "--network" | "--ipc" | "--userns" | "--uts" => value == "host",
        "--security-opt" => value.ends_with("unconfined") || value.ends_with("disable"),
        "--cap-add" | "--device" | "--volumes-from" | "--noprofile" => true,
        "-v" | "--volume" | "--mount" | "-B" | "--bind" | "--dev-bind" | "-D" | "--directory" => {
            shares_root(value)
        }
        _ => option.starts_with("--disable_clone_"),
    }
}

/// Says whether a mount is of the root of the system, or of the socket of a service that can mount it.
fn shares_root(mount: &str) -> bool {
    let named = mount.split(',').find_map(|part| part.strip_prefix("source=").or(part.strip_prefix("src=")));
    let source = named.unwrap_or_else(|| mount.split(':').next().unwrap_or_default());
    let is_root = source.starts_with('/') && source.split('/').all(|name| matches!(name, "" | "." | ".."));
    is_root || source.ends_with(".sock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_to_contain_a_worker_does() {
        for (wrap, expected) in [
            ("docker run --rm -i -v \"$PWD:/w\" -w /w image", true),
            ("/usr/bin/podman run -i image", true),
            ("bwrap --ro-bind / / --bind . . --unshare-all", true),
            ("docker run --privileged=false image", true),
            ("sandbox-exec -f profile.sb", true),
            ("firejail --private", true),
            ("apptainer exec --containall image", true),
            // A running container may have been started in any way, and a file of the workspace may define a service.
            ("/usr/bin/podman exec -i box", false),
            ("docker --context far compose run worker", false),
            ("docker compose run worker", false),
            ("bwrap --ro-bind / / --bind . .", false),
            ("apptainer exec image", false),
            ("sandbox-exec -p '(version 1)(allow default)'", false),
            ("firejail --noprofile", false),
            ("docker run -v /:/host:ro image", false),
            ("docker run --privileged image", false),
            ("docker run --pid=host image", false),
            ("docker run --pid host image", false),
            ("docker run --network host image", false),
            ("docker run --cap-add=SYS_ADMIN image", false),
            ("docker run --security-opt seccomp=unconfined image", false),
            ("docker run -v /:/host image", false),
            ("docker run -v/:/host image", false),
            ("docker run -v //..//:/host image", false),
            ("docker run -v /var/run/docker.sock:/var/run/docker.sock image", false),
            ("podman run --volume=\"/:/host:rw\" image", false),
            ("docker run --mount type=bind,source=/,target=/host image", false),
            ("bwrap --dev-bind / / --unshare-pid", false),
            ("docker ps", false),
            ("./docker run image", false),
            ("bin/docker run image", false),
            ("docker run c$(touch f)", false),
            ("docker run `cat name` sh", false),
            ("env IS_SANDBOX=1", false),
            ("nice -n 10", false),
            ("sudo -u nobody", false),
            ("sh -c 'docker run image'", false),
            ("docker run image; env", false),
            ("docker run image | sh -c", false),
            ("./docker-like run", false),
            ("", false),
        ] {
            assert_eq!(is_sandbox_wrapper(wrap), expected, "{wrap}");
        }
    }
}
