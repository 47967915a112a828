//! Schemas for answers: read from a folder, their references put in, their `allOf` merged where that is exact, objects
//! closed. What a value has to do with a schema is asked in [`check`].
//!
//! Nothing outside the folder is read, and nothing from the network. A resolved schema accepts nothing that the
//! original refuses (one exception, on purpose: a `oneOf` whose branches become exclusive by being closed).

mod additional_properties;
pub mod check;
pub(crate) mod deep_stack;
mod document;
mod files;
mod keyword;
mod merge_all_of;
mod reference;
mod resolve_refs;
mod resolved;
mod resolver;

use std::path::Path;

use serde_json::Value;

pub use self::additional_properties::{excluded_property, strict, together};
pub use self::files::Schemas;
pub use self::resolved::{FILE_BYTES_MAX, LEVELS_MAX, ResolvedSchema};
pub use unstuck_document::Diagnostic;

/// Resolves one schema of a folder. For several, [`Schemas`] reads each file once.
///
/// `name` is a JSON pointer (`#/$defs/work`, `/work`, `#` for the whole file) or a name, looked up in `definitions`,
/// `$defs` and at the top of the file.
///
/// # Errors
///
/// Everything that is wrong, with its place.
pub fn resolve(folder: &Path, file: &str, name: &str) -> Result<ResolvedSchema, Vec<Diagnostic>> {
    Schemas::new(folder).resolve(file, name)
}

/// Splits `FILE#NAME` into the file and the name as [`resolve`] takes it: without one it is the whole file.
pub fn split_reference(reference: &str) -> (&str, String) {
    let (file, name) = reference.split_once('#').unwrap_or((reference, ""));
    // A pointer and the whole file need their sign, as does what is refused; a name is looked up without.
    let name =
        if name.is_empty() || name.starts_with(['/', '#']) { format!("#{name}") } else { name.to_owned() };
    (file, name)
}

/// Resolves a schema in another file: `outputSchema` of a registry. Its references are files of the folder.
///
/// # Errors
///
/// Everything that is wrong, with its place in the schema.
pub fn resolve_inline(
    folder: &Path,
    schema: &Value,
    source: &str,
) -> Result<ResolvedSchema, Vec<Diagnostic>> {
    Schemas::new(folder).resolve_inline(schema, source)
}
