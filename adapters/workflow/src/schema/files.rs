//! The folder of the schemas: each file is read once, and none outside it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use unstuck_document::Diagnostic;

use super::document::SchemaDocument;
use super::resolved::FILE_BYTES_MAX;

/// A folder of schemas. Each file is read once, however often it is used.
#[derive(Debug)]
pub struct Schemas {
    pub(super) folder: PathBuf,
    /// By their path from the folder, after links.
    pub(super) read: BTreeMap<String, Result<SchemaFile, SchemaFileError>>,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub(super) struct SchemaFile {
    pub document: Arc<SchemaDocument>,
    pub digest: String,
    /// Problems that do not prevent its use.
    pub complaints: Vec<Diagnostic>,
}

/// Reason why a file cannot be used.
#[derive(Clone, Debug)]
pub(super) enum SchemaFileError {
    /// The reference to it is invalid: message and help.
    Reference(String, String),
    /// The file is invalid.
    Broken(Box<Diagnostic>),
}

impl Schemas {
    /// Takes a folder. Nothing is read yet.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), read: BTreeMap::new() }
    }

    /// Reads a file, named relative to another folder (`""` for the folder of the schemas).
    pub(super) fn open(&mut self, base: &str, file: &str) -> Result<SchemaFile, SchemaFileError> {
        let (name, path) = self.locate(base, file)?;
        if let Some(read) = self.read.get(&name) {
            return read.clone();
        }
        let read = read_file(&name, &path);
        self.read.insert(name, read.clone());
        read
    }

    /// Returns where a file is after links, and its path from the folder.
    fn locate(&self, base: &str, file: &str) -> Result<(String, PathBuf), SchemaFileError> {
        let below = Path::new(base).join(file);
        let help = "keep schemas inside their folder";
        let outside = || {
            SchemaFileError::Reference(
                format!("{file} is outside the folder of the schemas"),
                help.to_owned(),
            )
        };
        let folder = self.folder.canonicalize().map_err(|error| {
            let what = format!("cannot open the folder of the schemas, {}: {error}", self.folder.display());
            SchemaFileError::Reference(what, "name it with schemasBase".to_owned())
        })?;
        let path = match folder.join(&below).canonicalize() {
            Ok(path) => path,
            Err(_) if leads_up(&below) => return Err(outside()),
            Err(error) => return Err(unreadable(file, &error)),
        };
        let inside = path.strip_prefix(&folder).map_err(|_| outside())?;
        let steps: Vec<_> = inside.components().map(|step| step.as_os_str().to_string_lossy()).collect();
        Ok((steps.join("/"), path))
    }
}

fn unreadable(file: &str, error: &io::Error) -> SchemaFileError {
    let what = match error.kind() {
        io::ErrorKind::NotFound => format!("there is no file {file} in the folder of the schemas"),
        _ => format!("cannot read {file}: {error}"),
    };
    SchemaFileError::Reference(what, "a path begins at the folder of the file that names it".to_owned())
}

/// Tells whether a path that cannot be followed would lead out of the folder.
fn leads_up(path: &Path) -> bool {
    let mut depth = 0_usize;
    for step in path.components() {
        match step {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            _ => return true,
        }
    }
    false
}

fn read_file(name: &str, path: &Path) -> Result<SchemaFile, SchemaFileError> {
    // A pipe would hang us; that it takes the place of the file after this look is the user's own doing.
    if !fs::metadata(path).map_err(|error| unreadable(name, &error))?.is_file() {
        let what = format!("{name} is not a regular file");
        return Err(SchemaFileError::Reference(what, "refer to a file with JSON in it".to_owned()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| unreadable(name, &error))?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| unreadable(name, &error))?;
    if u64::try_from(bytes.len()).is_ok_and(|size| size > FILE_BYTES_MAX) {
        let what = format!("{name} is larger than {FILE_BYTES_MAX} bytes");
        return Err(SchemaFileError::Reference(what, "split it into several files".to_owned()));
    }
    let base = name.rsplit_once('/').map_or("", |(base, _)| base);
    parse_file(name, base, &bytes).map_err(SchemaFileError::Broken)
}

pub(super) fn parse_file(name: &str, base: &str, bytes: &[u8]) -> Result<SchemaFile, Box<Diagnostic>> {
    let digest = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let (document, complaints) = SchemaDocument::read(name, base, bytes)?;
    Ok(SchemaFile { document: Arc::new(document), digest, complaints })
}
