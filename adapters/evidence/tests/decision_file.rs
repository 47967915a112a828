//! The decision file is read without trusting the folder that it is in, also where the kernel does not help.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use unstuck_core::event::{Bytes, DecisionFile};
use unstuck_core::evidence::Refusal;
use unstuck_evidence::decision_file::{self, MovedAside};

/// Creates the folders `workspace` and `outside` next to each other, with the files of the case.
fn with(make: impl Fn(&Path, &Path), test: impl FnOnce(&Path, &Path)) {
    let folder = tempfile::tempdir().unwrap();
    let [workspace, outside] = ["workspace", "outside"].map(|name| folder.path().join(name));
    fs::create_dir(&workspace).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("verdict.json"), "outside").unwrap();
    make(&workspace, &outside);
    test(&workspace, &outside);
    assert_eq!(fs::read_to_string(outside.join("verdict.json")).unwrap(), "outside");
}

#[cfg(target_os = "linux")]
use kernel::on_every_kernel;

#[cfg(not(target_os = "linux"))]
fn on_every_kernel(test: impl Fn(&str)) {
    test("as it is");
}

/// Kernels that open a path beneath a folder in one call, and such as do not.
#[cfg(target_os = "linux")]
mod kernel {
    use std::thread;

    use nix::errno::Errno;
    use nix::libc::{self, c_long, sock_filter, sock_fprog};

    /// Tests on this kernel, on one that is too old, and in a sandbox that forbids the call.
    pub(super) fn on_every_kernel(test: impl Fn(&str) + Sync) {
        test("as it is");
        for errno in [Errno::ENOSYS, Errno::EPERM] {
            thread::scope(|scope| {
                scope.spawn(|| {
                    refuse_openat2(errno);
                    test(errno.desc());
                });
            });
        }
    }

    /// From now on this thread gets that answer to the call.
    #[expect(unsafe_code, reason = "filters of system calls have no safe wrapper")]
    fn refuse_openat2(errno: Errno) {
        let step =
            |code: u32, jump_if_not: u8, k: u32| sock_filter { code: code as u16, jt: 0, jf: jump_if_not, k };
        let mut filter = [
            // The number of the call is the first thing that a filter is shown.
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_openat2 as u32),
            step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
            step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let program = sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        nix::sys::prctl::set_no_new_privs().unwrap();
        // SAFETY: the filter outlives the call, and the kernel keeps a copy.
        let filtered =
            unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
        assert_eq!(filtered, 0, "{}", Errno::last());
        // SAFETY: with these arguments the call does nothing but fail.
        let answer: c_long = unsafe { libc::syscall(libc::SYS_openat2, -1, c"".as_ptr(), 0, 0) };
        assert_eq!((answer, Errno::last()), (-1, errno));
    }
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn decision_file_is_read_or_refused() {
    type Make = fn(&Path, &Path);
    let read = |text: &[u8]| DecisionFile::Read(Bytes(text.to_vec()));
    let cases: [(&str, &str, Make, DecisionFile); 20] = [
        ("a file", "v.json", |w, _| fs::write(w.join("v.json"), "{}").unwrap(), read(b"{}")),
        (
            "bytes that are no text",
            "v.json",
            |w, _| fs::write(w.join("v.json"), b"\xff\0").unwrap(),
            read(b"\xff\0"),
        ),
        (
            "a file in a folder",
            "./a/./b/v.json",
            |w, _| {
                fs::create_dir_all(w.join("a/b")).unwrap();
                fs::write(w.join("a/b/v.json"), "x").unwrap();
            },
            read(b"x"),
        ),
        (
            "as large as allowed",
            "v",
            |w, _| fs::write(w.join("v"), vec![b'x'; 1 << 20]).unwrap(),
            read(&vec![b'x'; 1 << 20]),
        ),
        (
            "too large",
            "v",
            |w, _| fs::write(w.join("v"), vec![b'x'; (1 << 20) + 1]).unwrap(),
            refused(Refusal::TooLarge),
        ),
        ("nothing", "v.json", |_, _| {}, refused(Refusal::Missing)),
        ("no folder", "a/v.json", |_, _| {}, refused(Refusal::Missing)),
        ("empty", "v", |w, _| fs::write(w.join("v"), "").unwrap(), refused(Refusal::Empty)),
        ("a folder", "v", |w, _| fs::create_dir(w.join("v")).unwrap(), refused(Refusal::NotRegular)),
        ("a pipe", "v", |w, _| fifo(&w.join("v")), refused(Refusal::NotRegular)),
        (
            "a socket",
            "v",
            |w, _| drop(UnixListener::bind(w.join("v")).unwrap()),
            refused(Refusal::NotRegular),
        ),
        (
            "a link out",
            "v",
            |w, o| symlink(o.join("verdict.json"), w.join("v")).unwrap(),
            refused(Refusal::NotRegular),
        ),
        (
            "a link to nothing",
            "v",
            |w, _| symlink("nothing", w.join("v")).unwrap(),
            refused(Refusal::NotRegular),
        ),
        (
            "a link to a device",
            "v",
            |w, _| symlink("/dev/zero", w.join("v")).unwrap(),
            refused(Refusal::NotRegular),
        ),
        (
            "a link that stays inside",
            "v",
            |w, _| {
                fs::write(w.join("other"), "x").unwrap();
                symlink("other", w.join("v")).unwrap();
            },
            refused(Refusal::NotRegular),
        ),
        (
            "a folder that is a link",
            "a/verdict.json",
            |w, o| symlink(o, w.join("a")).unwrap(),
            refused(Refusal::OutsideWorkspace),
        ),
        ("up and out", "../outside/verdict.json", |_, _| {}, refused(Refusal::OutsideWorkspace)),
        ("absolute", "/etc/passwd", |_, _| {}, refused(Refusal::OutsideWorkspace)),
        ("no name", "", |_, _| {}, refused(Refusal::OutsideWorkspace)),
        (
            "a file where a folder must be",
            "a/v",
            |w, _| fs::write(w.join("a"), "x").unwrap(),
            refused(Refusal::Unreadable),
        ),
    ];
    for (name, path, make, expected) in cases {
        with(make, |workspace, _| {
            on_every_kernel(|kernel| {
                let found = decision_file::read(workspace, Path::new(path));
                assert_eq!(found, expected, "{name} ({kernel})");
            });
        });
    }
}

fn refused(refusal: Refusal) -> DecisionFile {
    DecisionFile::Refused(refusal)
}

#[test]
fn a_file_without_permission_is_unreadable() {
    with(
        |workspace, _| {
            fs::write(workspace.join("v"), "x").unwrap();
            fs::set_permissions(workspace.join("v"), fs::Permissions::from_mode(0o000)).unwrap();
        },
        |workspace, _| {
            // To root everything is readable.
            let expected = if fs::read(workspace.join("v")).is_ok() {
                DecisionFile::Read(Bytes(b"x".to_vec()))
            } else {
                refused(Refusal::Unreadable)
            };
            assert_eq!(decision_file::read(workspace, Path::new("v")), expected);
        },
    );
}

#[test]
fn existing_entry_is_moved_aside() {
    type Make = fn(&Path, &Path);
    let renamed =
        |what: &str, to: &str| Some(MovedAside::Renamed { what: what.to_owned(), to: to.to_owned() });
    let cases: [(&str, Make, Option<MovedAside>); 8] = [
        ("nothing", |_, _| {}, None),
        ("a file", |w, _| fs::write(w.join("v"), "old").unwrap(), Some(MovedAside::Removed(b"old".to_vec()))),
        ("an empty file", |w, _| fs::write(w.join("v"), "").unwrap(), Some(MovedAside::Removed(Vec::new()))),
        (
            "a large file",
            |w, _| fs::write(w.join("v"), vec![0; 2_000_000]).unwrap(),
            renamed("a file of 2000000 bytes", "v.stale-1"),
        ),
        (
            "a folder",
            |w, _| {
                fs::create_dir_all(w.join("v/inner")).unwrap();
                fs::write(w.join("v.stale-1"), "older").unwrap();
            },
            renamed("a folder", "v.stale-2"),
        ),
        ("a pipe", |w, _| fifo(&w.join("v")), renamed("a pipe, socket or device", "v.stale-1")),
        (
            "a link",
            |w, _| symlink("../outside/verdict.json", w.join("v")).unwrap(),
            Some(MovedAside::LinkRemoved("../outside/verdict.json".into())),
        ),
        (
            "a link to nothing",
            |w, _| symlink("nothing", w.join("v")).unwrap(),
            Some(MovedAside::LinkRemoved("nothing".into())),
        ),
    ];
    for (name, make, expected) in cases {
        with(make, |workspace, _| {
            let moved = decision_file::move_aside(workspace, Path::new("v")).unwrap();
            assert_eq!(moved, expected, "{name}");
            assert!(workspace.join("v").symlink_metadata().is_err(), "{name}");
            if let Some(MovedAside::Renamed { to, .. }) = moved {
                assert!(workspace.join(to).symlink_metadata().is_ok(), "{name}");
            }
        });
    }
}

#[test]
fn nothing_outside_is_touched() {
    for path in ["../outside/verdict.json", "link/verdict.json", "/nonexistent/verdict.json"] {
        with(
            |workspace, outside| symlink(outside, workspace.join("link")).unwrap(),
            |workspace, outside| {
                on_every_kernel(|kernel| {
                    let error = decision_file::move_aside(workspace, Path::new(path)).unwrap_err();
                    assert_eq!(
                        error.to_string(),
                        format!("decision file {path}: it leads out of the workspace, or through a link"),
                        "{kernel}"
                    );
                    let deeper = path.replace("verdict.json", "new/verdict.json");
                    assert!(decision_file::prepare(workspace, Path::new(&deeper)).is_err(), "{kernel}");
                    assert!(!outside.join("new").exists(), "{kernel}");
                });
            },
        );
    }
}

#[test]
fn folders_are_prepared_and_may_be_there_already() {
    with(
        |_, _| {},
        |workspace, _| {
            for path in ["v.json", "a/v.json", "a/b/c/v.json", "./a/b/d/v.json"] {
                decision_file::prepare(workspace, Path::new(path)).unwrap();
                fs::write(workspace.join(path), "x").unwrap();
            }
            assert!(decision_file::prepare(workspace, Path::new("v.json/x")).is_err());
        },
    );
}

#[test]
fn a_verdict_is_written_whole_and_read_back() {
    with(
        |workspace, outside| symlink(outside.join("verdict.json"), workspace.join("link.json")).unwrap(),
        |workspace, _| {
            for path in ["v.json", "new/folder/v.json", "link.json", "v.json"] {
                let verdict = serde_json::json!({"decision": "complete", "check_id": path});
                decision_file::write(&workspace.join(path), &verdict).unwrap();
                let DecisionFile::Read(Bytes(bytes)) = decision_file::read(workspace, Path::new(path)) else {
                    panic!("{path}")
                };
                assert_eq!(serde_json::from_slice::<serde_json::Value>(&bytes).unwrap(), verdict);
            }
            let names = fs::read_dir(workspace).unwrap().count();
            assert_eq!(names, 3, "no temporary file is left");
        },
    );
}
