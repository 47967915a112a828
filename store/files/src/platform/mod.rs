//! Differences between operating systems, behind the same functions: one file per system.
//!
//! Nothing is decided here. Whatever works the same everywhere is in the standard library.

mod types;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use self::unix as platform;
#[cfg(windows)]
use self::windows as platform;

pub use self::types::{ExhaustedResource, FileId};
pub use platform::{
    file_size_max, free_bytes, host, id_and_size, id_and_size_by_path, is_own, is_stopped, is_writable,
    open_files_max, open_to_sync, owner_only, process_start, read_at, read_exact_at, scarcity, sync_folder,
    try_lock, unlock, without_waiting, write_all_at,
};

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn a_file_is_the_same_under_every_name_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let [one, same, other] = ["one", "same", "other"].map(|name| folder.path().join(name));
        fs::write(&one, "text").unwrap();
        fs::hard_link(&one, &same).unwrap();
        fs::write(&other, "text").unwrap();
        let file = File::open(&one).unwrap();
        assert_eq!(id_and_size(&file).unwrap(), id_and_size_by_path(&same).unwrap());
        assert_ne!(id_and_size(&file).unwrap().0, id_and_size_by_path(&other).unwrap().0);
        assert_eq!(id_and_size(&file).unwrap().1, 4);
    }

    #[test]
    fn a_locked_file_can_be_read_by_others_but_not_locked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        fs::write(&path, "who has it").unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        try_lock(&file).unwrap();
        let second = File::options().read(true).write(true).open(&path).unwrap();
        assert!(matches!(try_lock(&second), Err(fs::TryLockError::WouldBlock)));
        assert_eq!(fs::read(&path).unwrap(), b"who has it");
        drop(file);
        try_lock(&second).unwrap();
    }

    #[test]
    fn reading_and_writing_at_a_place() {
        let file = tempfile::tempfile().unwrap();
        write_all_at(&file, b"0123456789", 3).unwrap();
        let mut bytes = [0; 4];
        read_exact_at(&file, &mut bytes, 5).unwrap();
        assert_eq!(&bytes, b"2345");
        assert_eq!(read_at(&file, &mut bytes, 11).unwrap(), 2);
        assert!(read_exact_at(&file, &mut bytes, 11).is_err());
    }

    #[test]
    fn this_process_has_begun_and_another_has_not() {
        assert!(process_start(std::process::id()).is_some());
        assert_eq!(process_start(u32::MAX - 1), None);
    }

    #[test]
    fn there_is_room_on_the_disk_of_a_folder() {
        assert!(free_bytes(&std::env::temp_dir()).unwrap() > 0);
    }
}
