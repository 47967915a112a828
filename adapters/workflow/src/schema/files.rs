//! The folder of the schemas: each file is read once, and none outside it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use unstuck_document::Diagnostic;

use super::document::{Document, shown};
use super::reference;
use super::resolve_refs::{Expander, Target};
use super::resolved::{FILE_BYTES_MAX, ResolvedSchema, pointer_text};
use super::{additional_properties, check, deep_stack, merge_all_of};

/// A folder of schemas. Each file is read once, however often it is used.
#[derive(Debug)]
pub struct Schemas {
    folder: PathBuf,
    /// By their path from the folder, after links.
    read: BTreeMap<String, Result<Opened, SchemaFileError>>,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    pub document: Arc<Document>,
    pub digest: String,
    /// Problems that do not prevent its use.
    pub complaints: Vec<Diagnostic>,
}

/// Why a file is not there to be used.
#[derive(Clone, Debug)]
pub(super) enum SchemaFileError {
    /// What is wrong is the reference to it: what, and what to do.
    Reference(String, String),
    /// The file is invalid.
    Broken(Box<Diagnostic>),
}

impl Schemas {
    /// Takes a folder. Nothing is read yet.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), read: BTreeMap::new() }
    }

    /// Resolves one schema; see [`super::resolve`].
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with its place.
    pub fn resolve(&mut self, file: &str, name: &str) -> Result<ResolvedSchema, Vec<Diagnostic>> {
        deep_stack::with_room(|| {
            let opened = self.open("", file).map_err(|unread| vec![unread.without_place(file)])?;
            self.resolve_in(&opened, name)
        })
    }

    /// Resolves a schema that stands in another file; see [`super::resolve_inline`].
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with its place in the schema.
    pub fn resolve_inline(
        &mut self,
        schema: &Value,
        source: &str,
    ) -> Result<ResolvedSchema, Vec<Diagnostic>> {
        deep_stack::with_room(|| {
            let text = serde_json::to_vec_pretty(schema).unwrap_or_default();
            let opened = opened(source, "", &text).map_err(|broken| vec![*broken])?;
            let mut resolved = self.resolve_in(&opened, "#")?;
            resolved.digests.remove(source);
            source.clone_into(&mut resolved.source);
            Ok(resolved)
        })
    }

    /// Returns what is wrong with the files of the folder that nothing has referred to: one that is broken is found when it
    /// is written, not when a step first needs it.
    pub fn broken_beside(&mut self) -> Vec<Diagnostic> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| name.ends_with(".json") && !self.read.contains_key(name));
        names.sort();
        let broken = |name: &String| match self.open("", name) {
            Err(SchemaFileError::Broken(complaint)) => Some(*complaint),
            Ok(_) | Err(SchemaFileError::Reference(..)) => None,
        };
        names.iter().filter_map(broken).collect()
    }

    fn resolve_in(&mut self, opened: &Opened, name: &str) -> Result<ResolvedSchema, Vec<Diagnostic>> {
        let document = &opened.document;
        let unnamed = |(what, help): reference::RefError| vec![without_place(&document.name, &what, &help)];
        let place = reference::read_name(name).map_err(unnamed)?;
        let way = reference::find(document, &place).map_err(unnamed)?;
        let source = format!("{}#{}", document.name, pointer_text(&way));
        let mut expander = Expander::new(self, opened);
        let expanded = expander.run(Target { document: Arc::clone(document), way: way.clone() });
        let (problems, mut warnings, digests) = expander.finish();
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut schema = merge_all_of::merge(expanded.clone());
        if schema == Value::Bool(false) || merge_all_of::requires_the_impossible(&schema) {
            let way = pointer_text(&[way, merge_all_of::contradiction(&expanded)].concat());
            let what = "nothing meets this schema: its parts contradict each other";
            return Err(vec![without_place(&format!("{}#{way}", document.name), what, "")]);
        }
        let open = schema.clone();
        let mut notes = additional_properties::close(&mut schema);
        let (closed, more) = additional_properties::for_worker(&schema);
        notes.extend(more);
        notes.extend(check::accepts_no_object(&schema));
        warnings.extend(notes.iter().map(|note| without_place(&source, note, "")));
        check::Checker::new(&schema).map_err(|what| vec![without_place(&source, &what, "")])?;
        Ok(ResolvedSchema { open, schema, closed, warnings, source, digests })
    }

    /// Reads a file, named from another folder (`""` for that of the schemas).
    pub(super) fn open(&mut self, base: &str, file: &str) -> Result<Opened, SchemaFileError> {
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

impl SchemaFileError {
    /// Returns the complaint where nothing refers to the file.
    fn without_place(self, file: &str) -> Diagnostic {
        match self {
            Self::Reference(what, help) => without_place(file, &what, &help),
            Self::Broken(complaint) => *complaint,
        }
    }
}

fn without_place(file: &str, what: &str, help: &str) -> Diagnostic {
    let help = (!help.is_empty()).then(|| shown(help));
    let (file, what) = (shown(file), shown(what));
    Diagnostic { file, line: 0, column: 0, path: String::new(), what, help, excerpt: None }
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

fn read_file(name: &str, path: &Path) -> Result<Opened, SchemaFileError> {
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
    opened(name, base, &bytes).map_err(SchemaFileError::Broken)
}

fn opened(name: &str, base: &str, bytes: &[u8]) -> Result<Opened, Box<Diagnostic>> {
    let digest = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let (document, complaints) = Document::read(name, base, bytes)?;
    Ok(Opened { document: Arc::new(document), digest, complaints })
}
