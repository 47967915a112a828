//! Types that the functions of every system share.

/// Which file it is, whatever it is called: two open files with the same identity are one.
pub type FileId = (u64, u64);

/// Exhausted resources that the standard library has no error kind for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExhaustedResource {
    /// Descriptors or handles of open files.
    OpenFiles,
    /// Processes or threads.
    Processes,
}
