//! Resolves schemas: reads, expands, merges and closes them.

use std::fs;
use std::sync::Arc;

use serde_json::Value;
use unstuck_document::Diagnostic;

use super::document::sanitize;
use super::files::{SchemaFile, SchemaFileError, Schemas, parse_file};
use super::resolve_refs::{Expander, SchemaTarget};
use super::resolved::{ResolvedSchema, pointer_text};
use super::{additional_properties, check, deep_stack, merge_all_of, reference};

impl Schemas {
    /// Resolves one schema; see [`super::resolve`].
    ///
    /// # Errors
    ///
    /// All errors, with their places.
    pub fn resolve(&mut self, file: &str, name: &str) -> Result<ResolvedSchema, Vec<Diagnostic>> {
        deep_stack::with_room(|| {
            let opened = self.open("", file).map_err(|unread| vec![unread.without_place(file)])?;
            self.resolve_in(&opened, name)
        })
    }

    /// Resolves a schema that is part of another file; see [`super::resolve_inline`].
    ///
    /// # Errors
    ///
    /// All errors, with their places in the schema.
    pub fn resolve_inline(
        &mut self,
        schema: &Value,
        source: &str,
    ) -> Result<ResolvedSchema, Vec<Diagnostic>> {
        deep_stack::with_room(|| {
            let text = serde_json::to_vec_pretty(schema).unwrap_or_default();
            let opened = parse_file(source, "", &text).map_err(|broken| vec![*broken])?;
            let mut resolved = self.resolve_in(&opened, "#")?;
            resolved.digests.remove(source);
            source.clone_into(&mut resolved.source);
            Ok(resolved)
        })
    }

    /// Returns the errors in the other files of the folder, to which nothing has referred so far: an invalid file is
    /// reported when it is written, not when a step first needs it.
    pub fn broken_unused_files(&mut self) -> Vec<Diagnostic> {
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

    fn resolve_in(&mut self, opened: &SchemaFile, name: &str) -> Result<ResolvedSchema, Vec<Diagnostic>> {
        let document = &opened.document;
        let unnamed = |(what, help): reference::RefError| vec![without_place(&document.name, &what, &help)];
        let place = reference::read_name(name).map_err(unnamed)?;
        let way = reference::find(document, &place).map_err(unnamed)?;
        let source = format!("{}#{}", document.name, pointer_text(&way));
        let mut expander = Expander::new(self, opened);
        let expanded = expander.run(SchemaTarget { document: Arc::clone(document), way: way.clone() });
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
        check::SchemaChecker::new(&schema).map_err(|what| vec![without_place(&source, &what, "")])?;
        Ok(ResolvedSchema { open, schema, closed, warnings, source, digests })
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
    let help = (!help.is_empty()).then(|| sanitize(help));
    let (file, what) = (sanitize(file), sanitize(what));
    Diagnostic { file, line: 0, column: 0, path: String::new(), what, help, excerpt: None }
}
