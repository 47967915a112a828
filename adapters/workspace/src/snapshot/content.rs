//! Reads files with several threads, names their contents, and writes those that are new to a pack.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use sha2::Digest as _;
use unstuck_core::id::Digest;
use unstuck_files::safe_dir::{self, ChangeStamp, SafeDir, Xattrs};

use super::error::{SnapshotResult, io};
use super::index::{is_settled, now};
use super::object::{self, FILE, LINK, ObjectKind, TYPE};
use super::pack::{Compressor, Writer};
use super::store::ObjectStore;
use super::walk::{FoundPath, threads};

/// A larger file is not held in memory.
const HELD_BYTES_MAX: u64 = 1024 * 1024;
/// How many batches wait to be written; each holds little more than the largest held file.
const QUEUE: usize = 8;
/// How many files a thread takes at a time.
const PORTION: usize = 64;
/// How often a file is read that changes meanwhile.
const TRIES: u32 = 3;

/// A file that was read. The store or the pack has its content.
#[derive(Clone, Debug)]
pub(super) struct FileContent {
    pub(super) id: Digest,
    pub(super) mode: u32,
    /// Metadata of the file before it was read.
    pub(super) stamp: ChangeStamp,
    /// Whether the next snapshot may rely on that stamp.
    pub(super) is_settled: bool,
    /// Access list and other attributes; `None` if unknown.
    pub(super) attributes: Option<Xattrs>,
}

/// Reads `files`, which are ordered by path, below the open folder `root`.
///
/// For a path that is gone or is no longer a file or link, the kind of the inner error is `NotFound`.
///
/// # Errors
///
/// The pack cannot be written.
pub(super) fn read(
    store: &ObjectStore,
    writer: &mut Writer,
    root: &SafeDir,
    files: &[&FoundPath],
) -> SnapshotResult<Vec<io::Result<FileContent>>> {
    let next = AtomicUsize::new(0);
    let threads_max = threads().min(files.len());
    let mut outcomes: Vec<io::Result<FileContent>> =
        files.iter().map(|_| Err(io::ErrorKind::NotFound.into())).collect();
    thread::scope(|scope| {
        let (batches, incoming) = sync_channel(QUEUE);
        let reader =
            || Reader { store, root, compressor: Compressor::default(), at: None, batches: batches.clone() };
        let (mut threads, mut refused) = (Vec::new(), None);
        while threads.len() < threads_max && refused.is_none() {
            let reader = reader();
            match thread::Builder::new().spawn_scoped(scope, || reader.run(files, &next)) {
                Ok(thread) => threads.push(thread),
                Err(error) => refused = Some(error),
            }
        }
        drop(batches);
        if let Some(no_thread) = refused.filter(|_| threads.is_empty()) {
            return Err(io("start a thread to write a pack in", store.folder())(no_thread));
        }
        // The last sender goes away with its thread; if writing fails, the threads end with the receiver.
        for batch in incoming {
            for new in batch {
                write(writer, new, &mut outcomes).map_err(io("write a pack in", store.folder()))?;
            }
        }
        for thread in threads {
            let panicked = |_| io::Error::other("a thread that reads panicked");
            for (at, outcome) in
                thread.join().map_err(panicked).map_err(io("write a pack in", store.folder()))?
            {
                outcomes[at] = outcome;
            }
        }
        Ok(())
    })?;
    Ok(outcomes)
}

/// A content that the store does not have.
enum NewContent {
    Compressed { id: Digest, size: u64, bytes: Vec<u8> },
    Large { at: usize, file: File, content: FileContent },
}

fn write(writer: &mut Writer, new: NewContent, outcomes: &mut [io::Result<FileContent>]) -> io::Result<()> {
    match new {
        NewContent::Compressed { id, size, bytes } => writer.add(ObjectKind::Blob, id, size, &bytes),
        NewContent::Large { at, mut file, content } => {
            file.seek(SeekFrom::Start(0))?;
            let written = writer.add_large(content.id, content.stamp.size, file)?;
            outcomes[at] = match written {
                Some(id) => {
                    Ok(FileContent { is_settled: content.is_settled && id == content.id, id, ..content })
                }
                None => Err(keeps_changing()),
            };
            Ok(())
        }
    }
}

struct Reader<'a> {
    store: &'a ObjectStore,
    root: &'a SafeDir,
    compressor: Compressor,
    /// The folder of the last file.
    at: Option<(Vec<u8>, SafeDir)>,
    batches: SyncSender<Vec<NewContent>>,
}

impl Reader<'_> {
    fn run(mut self, files: &[&FoundPath], next: &AtomicUsize) -> Vec<(usize, io::Result<FileContent>)> {
        let mut outcomes = Vec::new();
        loop {
            let first = next.fetch_add(PORTION, Ordering::Relaxed);
            let portion = files.iter().enumerate().skip(first).take(PORTION);
            if portion.len() == 0 {
                return outcomes;
            }
            let mut batch = Vec::new();
            let mut held = 0;
            for (at, file) in portion {
                match self.read_file(at, &file.path, &mut batch) {
                    Ok(None) => {}
                    Ok(Some(content)) => {
                        held += content.stamp.size;
                        outcomes.push((at, Ok(content)));
                    }
                    Err(error) => outcomes.push((at, Err(error))),
                }
                if held > HELD_BYTES_MAX {
                    held = 0;
                    if self.batches.send(mem::take(&mut batch)).is_err() {
                        return outcomes;
                    }
                }
            }
            if !batch.is_empty() && self.batches.send(batch).is_err() {
                return outcomes;
            }
        }
    }

    /// Reads a file; `None` if the thread that writes will tell what became of it.
    fn read_file(
        &mut self,
        at: usize,
        path: &[u8],
        batch: &mut Vec<NewContent>,
    ) -> io::Result<Option<FileContent>> {
        let (parent, name) = safe_dir::split(path);
        let folder = self.open_folder(parent)?;
        let seen = folder.metadata(name)?;
        let read_at = now();
        match seen.mode & TYPE {
            LINK => {
                let target = folder.read_link(name)?;
                let id = self.add_small(&target, batch)?;
                let is_settled = is_settled(&seen.stamp, read_at);
                let attributes = Some(Xattrs::new());
                Ok(Some(FileContent { id, mode: seen.mode, stamp: seen.stamp, is_settled, attributes }))
            }
            FILE => {
                let file = folder.open_file(name)?;
                self.read_regular(at, file, batch)
            }
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn read_regular(
        &mut self,
        at: usize,
        mut file: File,
        batch: &mut Vec<NewContent>,
    ) -> io::Result<Option<FileContent>> {
        for _ in 0..TRIES {
            let seen = safe_dir::metadata_of(&file)?;
            if !seen.is(FILE) {
                return Err(io::ErrorKind::NotFound.into());
            }
            let is_settled = is_settled(&seen.stamp, now());
            let attributes = safe_dir::attributes(&file)?;
            let (id, mode, stamp) = (Digest::default(), seen.mode, seen.stamp);
            let mut content = FileContent { id, mode, stamp, is_settled, attributes };
            file.seek(SeekFrom::Start(0))?;
            if seen.stamp.size > HELD_BYTES_MAX {
                let Some(id) = name_large(&mut file, seen.stamp.size)? else { continue };
                content.id = id;
                if self.store.has(&id) {
                    return Ok(Some(content));
                }
                batch.push(NewContent::Large { at, file, content });
                return Ok(None);
            }
            let mut bytes = Vec::with_capacity(seen.stamp.size as usize + 1);
            (&mut file).take(HELD_BYTES_MAX + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 <= HELD_BYTES_MAX {
                content.is_settled &= bytes.len() as u64 == seen.stamp.size;
                content.id = self.add_small(&bytes, batch)?;
                return Ok(Some(content));
            }
        }
        Err(keeps_changing())
    }

    fn add_small(&mut self, bytes: &[u8], batch: &mut Vec<NewContent>) -> io::Result<Digest> {
        let id = object::name(ObjectKind::Blob, bytes);
        if !self.store.has(&id) {
            let compressed = self.compressor.compress(bytes)?;
            batch.push(NewContent::Compressed { id, size: bytes.len() as u64, bytes: compressed });
        }
        Ok(id)
    }

    fn open_folder(&mut self, path: &[u8]) -> io::Result<&SafeDir> {
        let (at, folder) = match self.at.take() {
            Some((at, folder)) if at == path => (at, folder),
            _ => (path.to_vec(), self.root.open_below(path)?),
        };
        Ok(&self.at.insert((at, folder)).1)
    }
}

/// Names the content of a file; `None` if it does not have `size` bytes.
fn name_large(file: &mut File, size: u64) -> io::Result<Option<Digest>> {
    let mut hash = object::hasher(ObjectKind::Blob, size);
    let mut chunk = vec![0; 256 * 1024];
    let mut total = 0;
    let mut content = file.take(size + 1);
    loop {
        match content.read(&mut chunk)? {
            0 => return Ok((total == size).then(|| Digest(hash.finalize().into()))),
            count => {
                total += count as u64;
                hash.update(&chunk[..count]);
            }
        }
    }
}

fn keeps_changing() -> io::Error {
    io::Error::other("it changes all the time")
}
