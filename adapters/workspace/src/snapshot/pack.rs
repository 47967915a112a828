//! Packs: many objects in one file, with an index next to it.
//!
//! The format is git's (`gitformat-pack`, version 2 of both), with SHA-256 and without deltas, so that a short reader
//! and every git can read it. A pack is durable before its index has a name, and a pack without an index does not
//! count.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use sha2::{Digest as _, Sha256};
use unstuck_core::id::Digest;
use unstuck_files::platform::{read_at, read_exact_at, sync_folder, write_all_at};
use unstuck_files::safe_open;

use super::object::{self, ObjectKind};

const MAGIC: &[u8; 8] = b"PACK\0\0\0\x02";
const INDEX_MAGIC: &[u8; 8] = b"\xfftOc\0\0\0\x02";
const HEADER_SIZE: u64 = 12;
const DIGEST_SIZE: usize = 32;

/// How names of files begin that were never finished.
pub(super) const TEMPORARY_PREFIX: &str = "tmp_";

/// A finished pack, open for reading.
#[derive(Debug)]
pub(super) struct Pack {
    /// Path of the pack itself.
    pub(super) path: PathBuf,
    pub(super) size: u64,
    file: File,
    /// Sorted by name.
    entries: Vec<(Digest, u64)>,
}

impl Pack {
    /// Opens the pack that belongs to an index.
    ///
    /// # Errors
    ///
    /// The kind is `InvalidData` where one of the two is damaged.
    pub(super) fn open(index: &Path) -> io::Result<Self> {
        let entries = read_index(&safe_open::read_large(index)?)
            .ok_or_else(|| damaged("its index does not fit its own checksum"))?;
        let path = index.with_extension("pack");
        let file = safe_open::open(&path)?;
        let size = file.metadata()?.len();
        let mut header = [0; HEADER_SIZE as usize];
        read_exact_at(&file, &mut header, 0)?;
        if !header.starts_with(MAGIC) || header[8..] != (entries.len() as u32).to_be_bytes() {
            return Err(damaged("it does not begin as a pack does"));
        }
        Ok(Self { path, size, file, entries })
    }

    pub(super) fn find(&self, id: &Digest) -> Option<u64> {
        let at = self.entries.binary_search_by(|(entry, _)| entry.cmp(id)).ok()?; // no read
        Some(self.entries[at].1)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &Digest> {
        self.entries.iter().map(|(id, _)| id)
    }

    /// Writes the content of the object at `offset`, and returns its kind.
    ///
    /// # Errors
    ///
    /// The kind is `InvalidData` where what is there is not `id`; by then, some of it is written.
    pub(super) fn copy(&self, id: &Digest, offset: u64, to: &mut dyn Write) -> io::Result<ObjectKind> {
        let mut raw = FileReader { file: &self.file, offset };
        let (number, size) = read_header(&mut raw)?;
        let kind = ObjectKind::from_number(number)
            .ok_or_else(|| damaged("an object is of a kind that is not ours"))?;
        let mut hash = object::hasher(kind, size);
        let mut content = ZlibDecoder::new(raw).take(size.saturating_add(1));
        let mut chunk = [0; 32 * 1024];
        loop {
            match content.read(&mut chunk)? {
                0 => break,
                count => {
                    hash.update(&chunk[..count]);
                    to.write_all(&chunk[..count])?;
                }
            }
        }
        if hash.finalize().as_slice() != id.0 {
            return Err(damaged(&format!("object {id} does not fit its name")));
        }
        Ok(kind)
    }

    /// Returns where each object begins and ends, in the order in which they stand.
    fn places(&self) -> Vec<(u64, u64, Digest)> {
        let mut starts: Vec<(u64, Digest)> = self.entries.iter().map(|&(id, offset)| (offset, id)).collect();
        starts.sort_unstable();
        let end = self.size.saturating_sub(DIGEST_SIZE as u64);
        let ends: Vec<u64> = starts.iter().skip(1).map(|(offset, _)| *offset).chain([end]).collect();
        starts.into_iter().zip(ends).map(|((start, id), end)| (start, end, id)).collect()
    }

    /// Returns how large those objects are, as they are stored, that are asked for.
    pub(super) fn size_of(&self, is_asked: impl Fn(&Digest) -> bool) -> u64 {
        let asked = self.places().into_iter().filter(|(_, _, id)| is_asked(id));
        asked.map(|(start, end, _)| end.saturating_sub(start)).sum()
    }

    /// Copies the objects that `keeps` names as they are.
    pub(super) fn copy_raw(&self, to: &mut Writer, keeps: impl Fn(&Digest) -> bool) -> io::Result<()> {
        for (start, end, id) in self.places() {
            if keeps(&id) && !to.has(&id) {
                let size = end.checked_sub(start).ok_or_else(|| damaged("its index leads out of it"))?;
                to.begin_entry(id)?;
                io::copy(
                    &mut FileReader { file: &self.file, offset: start }.take(size),
                    &mut to.entry_writer()?,
                )?;
            }
        }
        Ok(())
    }

    /// Removes the files. A process that has them open can still read them.
    pub(super) fn remove(&self) -> io::Result<()> {
        // Without an index, a pack does not count.
        for extension in ["idx", "keep", "pack"] {
            match fs::remove_file(self.path.with_extension(extension)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Reads a file from a place on, without a position that threads would share.
struct FileReader<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for FileReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = read_at(self.file, buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

/// Compresses contents of moderate size, one after the other, with one set of tables.
///
/// The tables are made with the first content: most snapshots have nothing to write, and the tables are large.
#[derive(Default)]
pub(super) struct Compressor(Option<Compress>);

impl Compressor {
    pub(super) fn compress(&mut self, content: &[u8]) -> io::Result<Vec<u8>> {
        let tables = self.0.get_or_insert_with(|| Compress::new(Compression::fast(), true));
        tables.reset();
        let mut compressed = Vec::with_capacity(content.len() / 2 + 64);
        loop {
            let rest = &content[tables.total_in() as usize..];
            match tables.compress_vec(rest, &mut compressed, FlushCompress::Finish)? {
                Status::StreamEnd => return Ok(compressed),
                _ => compressed.reserve(content.len() / 2 + 64),
            }
        }
    }
}

/// A pack that is being written.
pub(super) struct Writer {
    folder: PathBuf,
    open: Option<OpenPack>,
    written: BTreeSet<Digest>,
}

struct OpenPack {
    path: PathBuf,
    file: BufWriter<File>,
    offset: u64,
    entries: Vec<Entry>,
}

struct Entry {
    id: Digest,
    offset: u64,
    crc: Crc,
}

impl Writer {
    /// Prepares a pack in `folder`; a file is made when there is something to put in it.
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), open: None, written: BTreeSet::new() }
    }

    pub(super) fn has(&self, id: &Digest) -> bool {
        self.written.contains(id)
    }

    /// Adds an object whose content is compressed already.
    pub(super) fn add(
        &mut self,
        kind: ObjectKind,
        id: Digest,
        size: u64,
        compressed: &[u8],
    ) -> io::Result<()> {
        if self.has(&id) {
            return Ok(());
        }
        self.begin_entry(id)?;
        let mut to = self.entry_writer()?;
        to.write_all(&header(kind, size))?;
        to.write_all(compressed)
    }

    /// Adds a content that is too large to be held, and returns its name; `None`, and nothing is added,
    /// if it does not have `size` bytes.
    ///
    /// `expected` is what the content was when it was looked at; it may have changed since.
    pub(super) fn add_large(
        &mut self,
        expected: Digest,
        size: u64,
        content: impl Read,
    ) -> io::Result<Option<Digest>> {
        if self.has(&expected) {
            return Ok(Some(expected));
        }
        self.begin_entry(expected)?;
        let mut hash = object::hasher(ObjectKind::Blob, size);
        let mut to = self.entry_writer()?;
        to.write_all(&header(ObjectKind::Blob, size))?;
        let mut compressor = ZlibEncoder::new(to, Compression::fast());
        let mut content = content.take(size.saturating_add(1));
        let mut chunk = vec![0; 256 * 1024];
        let mut total = 0;
        loop {
            match content.read(&mut chunk)? {
                0 => break,
                count => {
                    total += count as u64;
                    hash.update(&chunk[..count]);
                    compressor.write_all(&chunk[..count])?;
                }
            }
        }
        compressor.finish()?;
        let id = Digest(hash.finalize().into());
        let known = id != expected && self.has(&id);
        if total != size || known {
            self.remove_last(&expected)?;
            return Ok(known.then_some(id));
        }
        self.rename(expected, id);
        Ok(Some(id))
    }

    /// Makes the pack durable and gives it its name; `None` if it is empty.
    pub(super) fn finish(mut self) -> io::Result<Option<Pack>> {
        let Some(OpenPack { path, file, mut entries, .. }) = self.open.take() else { return Ok(None) };
        let mut file = file.into_inner()?;
        write_all_at(&file, &(entries.len() as u32).to_be_bytes(), MAGIC.len() as u64)?;
        let checksum = digest_of(&mut file)?;
        file.write_all(&checksum)?;
        file.sync_all()?;
        entries.sort_unstable_by_key(|entry| entry.id);
        let finished = self.folder.join(format!("pack-{}.pack", Digest(checksum)));
        fs::rename(&path, &finished)?;
        // A git that cleans up here leaves packs alone that have such a file.
        safe_open::create(&finished.with_extension("keep"))?;
        let temporary = path.with_extension("idx");
        let mut index = safe_open::create(&temporary)?;
        index.write_all(&write_index(&entries, &checksum))?;
        index.sync_all()?;
        let index = finished.with_extension("idx");
        fs::rename(temporary, &index)?;
        sync_folder(&self.folder)?;
        Pack::open(&index).map(Some)
    }

    /// Begins an entry; what is written to [`Self::entry_writer`] afterwards belongs to it.
    fn begin_entry(&mut self, id: Digest) -> io::Result<()> {
        if self.open.is_none() {
            let path = self.folder.join(format!("{TEMPORARY_PREFIX}{}", std::process::id()));
            let mut file = BufWriter::with_capacity(1 << 18, create(&path)?);
            file.write_all(MAGIC)?;
            file.write_all(&[0; 4])?;
            self.open = Some(OpenPack { path, file, offset: HEADER_SIZE, entries: Vec::new() });
        }
        let open = self.open_pack()?;
        open.entries.push(Entry { id, offset: open.offset, crc: Crc::new() });
        self.written.insert(id);
        Ok(())
    }

    fn entry_writer(&mut self) -> io::Result<EntryWriter<'_>> {
        let open = self.open_pack()?;
        let entry = open.entries.last_mut().ok_or_else(|| damaged("no entry was begun"))?;
        Ok(EntryWriter { file: &mut open.file, offset: &mut open.offset, crc: &mut entry.crc })
    }

    fn remove_last(&mut self, id: &Digest) -> io::Result<()> {
        self.written.remove(id);
        let open = self.open_pack()?;
        if let Some(entry) = open.entries.pop() {
            open.file.flush()?;
            open.file.get_ref().set_len(entry.offset)?;
            open.file.seek(SeekFrom::Start(entry.offset))?;
            open.offset = entry.offset;
        }
        Ok(())
    }

    fn rename(&mut self, from: Digest, to: Digest) {
        self.written.remove(&from);
        self.written.insert(to);
        if let Some(entry) = self.open.as_mut().and_then(|open| open.entries.last_mut()) {
            entry.id = to;
        }
    }

    fn open_pack(&mut self) -> io::Result<&mut OpenPack> {
        self.open.as_mut().ok_or_else(|| damaged("no pack was begun"))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(open) = &self.open {
            let _left_for_the_next = fs::remove_file(&open.path);
        }
    }
}

/// Counts what is written to an entry.
struct EntryWriter<'a> {
    file: &'a mut BufWriter<File>,
    offset: &'a mut u64,
    crc: &'a mut Crc,
}

impl Write for EntryWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        *self.offset += count as u64;
        self.crc.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn create(path: &Path) -> io::Result<File> {
    // A process with the same number may have died here; the lock says that it is not at work.
    safe_open::create(path)
}

fn digest_of(file: &mut File) -> io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut chunk = vec![0; 1 << 18];
    file.seek(SeekFrom::Start(0))?;
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(hash.finalize().into()),
            count => hash.update(&chunk[..count]),
        }
    }
}

fn header(kind: ObjectKind, size: u64) -> Vec<u8> {
    let mut rest = size >> 4;
    let mut bytes = vec![(kind as u8) << 4 | (size & 15) as u8];
    while rest > 0 {
        if let Some(last) = bytes.last_mut() {
            *last |= 0x80;
        }
        bytes.push((rest & 0x7f) as u8);
        rest >>= 7;
    }
    bytes
}

fn read_header(from: &mut FileReader<'_>) -> io::Result<(u8, u64)> {
    let mut bytes = [0; 10];
    let count = read_at(from.file, &mut bytes, from.offset)?;
    let (mut size, mut shift) = (u64::from(bytes[0] & 15), 4);
    for (used, &byte) in bytes[..count].iter().enumerate() {
        if used > 0 {
            size |= u64::from(byte & 0x7f).wrapping_shl(shift);
            shift += 7;
        }
        if byte & 0x80 == 0 {
            from.offset += used as u64 + 1;
            return Ok((bytes[0] >> 4 & 7, size));
        }
    }
    Err(damaged("an object has no beginning"))
}

fn write_index(entries: &[Entry], checksum: &[u8; 32]) -> Vec<u8> {
    const LARGE: u64 = 1 << 31;
    let mut bytes = INDEX_MAGIC.to_vec();
    for first in 0..=u8::MAX {
        let count = entries.partition_point(|entry| entry.id.0[0] <= first);
        bytes.extend((count as u32).to_be_bytes());
    }
    entries.iter().for_each(|entry| bytes.extend(entry.id.0));
    entries.iter().for_each(|entry| bytes.extend(entry.crc.sum().to_be_bytes()));
    let mut large = Vec::new();
    for Entry { offset, .. } in entries {
        if *offset < LARGE {
            bytes.extend((*offset as u32).to_be_bytes());
        } else {
            bytes.extend((LARGE as u32 | large.len() as u32).to_be_bytes());
            large.push(*offset);
        }
    }
    large.iter().for_each(|offset| bytes.extend(offset.to_be_bytes()));
    bytes.extend(checksum);
    let own = Sha256::digest(&bytes);
    bytes.extend(own);
    bytes
}

/// Reads names and offsets; `None` if anything is not as [`write_index`] writes it.
fn read_index(bytes: &[u8]) -> Option<Vec<(Digest, u64)>> {
    const LARGE: u32 = 1 << 31;
    let (body, own) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST_SIZE)?)?;
    if Sha256::digest(body).as_slice() != own {
        return None;
    }
    let tables = body.strip_prefix(INDEX_MAGIC)?;
    let (fanout, tables) = tables.split_at_checked(256 * 4)?;
    let count = u32::from_be_bytes(*fanout.last_chunk()?) as usize;
    let (ids, tables) = tables.split_at_checked(count.checked_mul(DIGEST_SIZE)?)?;
    let (_crcs, tables) = tables.split_at_checked(count * 4)?;
    let (offsets, large) = tables.split_at_checked(count * 4)?;
    let entry = |(id, offset): (&[u8], &[u8])| {
        let offset = u32::from_be_bytes(offset.try_into().ok()?); // no read
        let offset = match offset & LARGE {
            0 => u64::from(offset),
            _ => u64::from_be_bytes(*large.get((offset ^ LARGE) as usize * 8..)?.first_chunk()?),
        };
        Some((Digest(id.try_into().ok()?), offset)) // no read
    };
    ids.chunks_exact(DIGEST_SIZE).zip(offsets.chunks_exact(4)).map(entry).collect()
}

fn damaged(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_is_not_what_its_name_says_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::new(folder.path());
        let compressed = Compressor::default().compress(b"content").unwrap();
        let names = [object::name(ObjectKind::Blob, b"content"), object::name(ObjectKind::Blob, b"another")];
        for name in names {
            writer.add(ObjectKind::Blob, name, 7, &compressed).unwrap();
        }
        let pack = writer.finish().unwrap().unwrap();
        let read = |name: &Digest| {
            let mut content = Vec::new();
            pack.copy(name, pack.find(name).unwrap(), &mut content).map(|_| content)
        };
        assert_eq!(read(&names[0]).unwrap(), b"content");
        assert_eq!(read(&names[1]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_size_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        for size in [0, 15, 16, 2047, 2048, u64::from(u32::MAX), u64::MAX] {
            let path = folder.path().join(size.to_string());
            fs::write(&path, [header(ObjectKind::Blob, size), vec![0xff; 20]].concat()).unwrap();
            let file = File::open(&path).unwrap();
            let mut at = FileReader { file: &file, offset: 0 };
            assert_eq!(read_header(&mut at).unwrap(), (ObjectKind::Blob as u8, size));
            assert_eq!(at.offset, header(ObjectKind::Blob, size).len() as u64);
        }
    }
}
