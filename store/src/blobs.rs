//! Large payloads, each stored once under its SHA-256: in a folder, or in memory.
//!
//! A blob is durable when its [`Blob`] is handed out, so that an event never names one that a crash can
//! take away. What is read is checked against its name.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};
use unstuck_core::id::{Blob, Digest};

use unstuck_files::durable;
use unstuck_files::platform;
use unstuck_files::safe_open;

/// A store of large payloads.
pub trait BlobStore: Send + Sync {
    /// Begins a blob that is written piece by piece.
    fn writer(&self) -> io::Result<Box<dyn BlobWriter>>;

    /// Opens a blob. Reading fails at the end where the content is not what the name says.
    fn open(&self, blob: &Blob) -> io::Result<Box<dyn Read + Send>>;

    /// Returns the file that holds a blob; `None` where none does.
    fn file(&self, _blob: &Blob) -> Option<PathBuf> {
        None
    }

    /// Stores `content` durably.
    fn put(&self, content: &[u8]) -> io::Result<Blob> {
        let mut writer = self.writer()?;
        writer.write_all(content)?;
        writer.finish()
    }

    /// Stores `content` durably for a caller that handles a failure, so that the failure is not remembered.
    fn put_for_caller(&self, content: &[u8]) -> io::Result<Blob> {
        self.put(content)
    }

    /// Returns the whole content; an error if it is larger than `max` bytes.
    fn read(&self, blob: &Blob, max: u64) -> io::Result<Vec<u8>> {
        if blob.size > max {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("blob {} has {} bytes, more than {max}", blob.digest, blob.size),
            ));
        }
        let mut content = Vec::with_capacity(usize::try_from(blob.size).unwrap_or(0));
        self.open(blob)?.read_to_end(&mut content)?;
        Ok(content)
    }

    /// Returns the last `max` bytes of a blob; nothing of an empty one, which is not stored.
    fn end(&self, blob: &Blob, max: u64) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        if blob.size > 0 {
            let mut reader = self.open(blob)?;
            io::copy(&mut reader.by_ref().take(blob.size.saturating_sub(max)), &mut io::sink())?;
            reader.read_to_end(&mut content)?;
        }
        Ok(content)
    }
}

impl<B: BlobStore + ?Sized> BlobStore for Arc<B> {
    fn writer(&self) -> io::Result<Box<dyn BlobWriter>> {
        (**self).writer()
    }

    fn open(&self, blob: &Blob) -> io::Result<Box<dyn Read + Send>> {
        (**self).open(blob)
    }

    fn file(&self, blob: &Blob) -> Option<PathBuf> {
        (**self).file(blob)
    }

    fn put_for_caller(&self, content: &[u8]) -> io::Result<Blob> {
        (**self).put_for_caller(content)
    }
}

/// A blob that is being written. Dropped unfinished, it leaves nothing behind.
pub trait BlobWriter: Write + Send {
    /// Makes the blob durable and returns its name.
    fn finish(self: Box<Self>) -> io::Result<Blob>;
}

/// Blobs as files in one folder.
#[derive(Clone, Debug)]
pub struct DirBlobs {
    folder: PathBuf,
}

impl DirBlobs {
    /// Uses `folder`, which is created with the first blob. Its parent must exist.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the file that holds a blob.
    pub fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(digest.to_string())
    }

    /// Removes what an earlier process left unfinished. Only the one who may write may call it.
    pub fn remove_unfinished(&self) -> io::Result<usize> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            entries => entries?,
        };
        let mut removed = 0;
        for entry in entries {
            let entry = entry?;
            if durable::is_unfinished(&entry.file_name()) {
                fs::remove_file(entry.path())?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

impl BlobStore for DirBlobs {
    fn writer(&self) -> io::Result<Box<dyn BlobWriter>> {
        // Nothing above it: where the folder of a run was taken away, no half of a second one begins.
        durable::create_last_folder(&self.folder)?;
        let temporary = durable::temporary_beside(&self.folder.join("blob"));
        let file = File::create_new(&temporary)?;
        Ok(Box::new(FileWriter {
            unfinished: TempFile(Some(temporary)),
            file,
            folder: self.folder.clone(),
            count: Count::default(),
        }))
    }

    fn open(&self, blob: &Blob) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(CheckedRead::new(safe_open::open(&self.path(&blob.digest))?, *blob)))
    }

    fn file(&self, blob: &Blob) -> Option<PathBuf> {
        Some(self.path(&blob.digest))
    }
}

/// Blobs that are gone with the process.
#[derive(Clone, Default)]
pub struct MemoryBlobs {
    blobs: Arc<Mutex<HashMap<Digest, Arc<[u8]>>>>,
}

#[cfg(feature = "testing")]
impl MemoryBlobs {
    /// Changes a byte of a blob, for tests of readers.
    pub fn damage(&self, blob: &Blob) {
        let mut blobs = self.blobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(content) = blobs.get_mut(&blob.digest) {
            let mut bytes = content.to_vec();
            bytes[0] ^= 1;
            *content = Arc::from(bytes);
        }
    }
}

impl BlobStore for MemoryBlobs {
    fn writer(&self) -> io::Result<Box<dyn BlobWriter>> {
        Ok(Box::new(MemoryWriter { content: Vec::new(), blobs: self.clone() }))
    }

    fn open(&self, blob: &Blob) -> io::Result<Box<dyn Read + Send>> {
        let blobs = self.blobs.lock().unwrap_or_else(PoisonError::into_inner);
        let content = blobs.get(&blob.digest).ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("there is no blob {}", blob.digest))
        })?;
        Ok(Box::new(CheckedRead::new(io::Cursor::new(content.clone()), *blob)))
    }
}

#[derive(Default)]
struct Count {
    hasher: Sha256,
    size: u64,
}

impl Count {
    fn add(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
    }

    fn blob(self) -> Blob {
        Blob { digest: Digest(self.hasher.finalize().into()), size: self.size }
    }
}

struct FileWriter {
    unfinished: TempFile,
    file: File,
    folder: PathBuf,
    count: Count,
}

/// Removes the file unless it got its name.
struct TempFile(Option<PathBuf>);

impl TempFile {
    fn rename(mut self, to: &Path) -> io::Result<()> {
        if let Some(path) = &self.0 {
            fs::rename(path, to)?;
        }
        self.0 = None;
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _best_effort = fs::remove_file(path);
        }
    }
}

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.count.add(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl BlobWriter for FileWriter {
    fn finish(self: Box<Self>) -> io::Result<Blob> {
        let Self { unfinished, file, folder, count } = *self;
        file.sync_all()?;
        drop(file);
        let blob = count.blob();
        // An existing file is replaced: by the same content, or by good content if it was damaged.
        unfinished.rename(&folder.join(blob.digest.to_string()))?;
        platform::sync_folder(&folder)?;
        Ok(blob)
    }
}

struct MemoryWriter {
    content: Vec<u8>,
    blobs: MemoryBlobs,
}

impl Write for MemoryWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.content.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BlobWriter for MemoryWriter {
    fn finish(self: Box<Self>) -> io::Result<Blob> {
        let Self { content, blobs } = *self;
        let blob = Blob { digest: Digest::sha256(&content), size: content.len() as u64 };
        blobs
            .blobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(blob.digest)
            .or_insert_with(|| content.into());
        Ok(blob)
    }
}

/// Passes content on and compares it with the name of its blob at the end.
struct CheckedRead<R> {
    inner: R,
    blob: Blob,
    count: Count,
}

impl<R> CheckedRead<R> {
    fn new(inner: R, blob: Blob) -> Self {
        Self { inner, blob, count: Count::default() }
    }
}

impl<R: Read> Read for CheckedRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.add(&buffer[..read]);
        let ended = read == 0 && !buffer.is_empty();
        if self.count.size > self.blob.size || (ended && std::mem::take(&mut self.count).blob() != self.blob)
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the content of blob {} is not what its name says", self.blob.digest),
            ));
        }
        if ended {
            self.blob = Count::default().blob(); // Reading on stays at the end.
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stores(folder: &Path) -> Vec<Box<dyn BlobStore>> {
        vec![Box::new(DirBlobs::new(folder.join("blobs"))), Box::new(MemoryBlobs::default())]
    }

    #[test]
    fn content_reads_back_empty_large_and_twice() {
        let folder = tempfile::tempdir().unwrap();
        for store in stores(folder.path()) {
            for content in [Vec::new(), b"x".to_vec(), vec![7; 300_000]] {
                let blob = store.put(&content).unwrap();
                assert_eq!(blob, Blob { digest: Digest::sha256(&content), size: content.len() as u64 });
                assert_eq!(store.put(&content).unwrap(), blob);
                assert_eq!(store.read(&blob, 300_000).unwrap(), content);
            }
            let mut writer = store.writer().unwrap();
            writer.write_all(b"in two ").unwrap();
            writer.write_all(b"pieces").unwrap();
            assert_eq!(writer.finish().unwrap().digest, Digest::sha256(b"in two pieces"));
        }
    }

    #[test]
    fn missing_large_or_damaged_blob_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        for store in stores(folder.path()) {
            let absent = Blob { digest: Digest::sha256(b"absent"), size: 6 };
            assert_eq!(store.read(&absent, 100).unwrap_err().kind(), io::ErrorKind::NotFound);
            let blob = store.put(b"sixteen bytes...").unwrap();
            assert_eq!(store.read(&blob, 15).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
            let lies = Blob { size: 15, ..blob };
            assert_eq!(store.read(&lies, 100).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
        let store = DirBlobs::new(folder.path().join("flipped"));
        let blob = store.put(b"content").unwrap();
        fs::write(store.path(&blob.digest), b"c0ntent").unwrap();
        assert_eq!(store.read(&blob, 100).unwrap_err().kind(), io::ErrorKind::InvalidData);
        store.put(b"content").unwrap();
        assert_eq!(store.read(&blob, 100).unwrap(), b"content");
    }

    #[test]
    fn an_unfinished_blob_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let store = DirBlobs::new(folder.path());
        let mut writer = store.writer().unwrap();
        writer.write_all(b"never finished").unwrap();
        drop(writer);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::write(folder.path().join(".tmp-1-1"), b"from a process that was killed").unwrap();
        assert_eq!(store.remove_unfinished().unwrap(), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
