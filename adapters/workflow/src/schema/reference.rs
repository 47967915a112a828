//! How a schema is named: a JSON pointer, an anchor, a plain name, with or without a file.

use unstuck_document::type_check::nearest;

use super::document::SchemaDocument;
use super::resolved::pointer_text;

/// A `$ref`, cut into its two parts and decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    /// The file, from the folder of the file that refers to it; `None` for the same file.
    pub file: Option<String>,
    pub place: SchemaPlace,
}

/// Where in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SchemaPlace {
    /// The steps of a JSON pointer; none for the whole file.
    Pointer(Vec<String>),
    Anchor(String),
    /// To be looked up in `definitions`, `$defs` and at the top.
    Name(String),
}

/// A problem of a reference, and how to fix it.
pub(super) type RefError = (String, String);

/// Reads a `$ref`.
pub(super) fn read(text: &str) -> Result<Reference, RefError> {
    let (file, fragment) = text.split_once('#').unwrap_or((text, ""));
    if has_scheme(file) || file.starts_with("//") {
        let help = "keep a copy in the folder of the schemas and refer to that";
        return Err((format!("\"{text}\" is not read: there is no network for schemas"), help.to_owned()));
    }
    let file = (!file.is_empty()).then(|| decode(file)).transpose()?;
    let fragment = decode(fragment)?;
    let place = match fragment.strip_prefix('/') {
        Some("") => SchemaPlace::Pointer(Vec::new()),
        Some(_) => SchemaPlace::Pointer(pointer(&fragment)?),
        None if fragment.is_empty() => SchemaPlace::Pointer(Vec::new()),
        None => SchemaPlace::Anchor(fragment),
    };
    Ok(Reference { file, place })
}

/// Reads the `schema` of an `outputSchemaRef`: a pointer with or without `#`, or a name.
pub(super) fn read_name(text: &str) -> Result<SchemaPlace, RefError> {
    if text.is_empty() || text.starts_with("##") || text.starts_with("//") || text.starts_with("#//") {
        let help = "write a name, a pointer such as #/$defs/name, or # for the whole file";
        return Err((format!("\"{text}\" is no way to name a schema"), help.to_owned()));
    }
    match text.strip_prefix('#').or_else(|| text.starts_with('/').then_some(text)) {
        Some("" | "/") => Ok(SchemaPlace::Pointer(Vec::new())),
        Some(fragment) if fragment.starts_with('/') => Ok(SchemaPlace::Pointer(pointer(&decode(fragment)?)?)),
        Some(anchor) => Ok(SchemaPlace::Anchor(decode(anchor)?)),
        None => Ok(SchemaPlace::Name(text.to_owned())),
    }
}

/// Finds a place in a file and returns the way to it.
pub(super) fn find(document: &SchemaDocument, place: &SchemaPlace) -> Result<Vec<String>, RefError> {
    let listed = |names: Vec<&str>, none: &str| {
        if names.is_empty() { none.to_owned() } else { format!("there are: {}", names.join(", ")) }
    };
    match place {
        SchemaPlace::Pointer(way) if document.find(way).is_some() => Ok(way.clone()),
        SchemaPlace::Pointer(way) => {
            let known =
                (0..way.len()).rev().find(|length| document.find(&way[..*length]).is_some()).unwrap_or(0);
            let there = document.find(&way[..known]).map_or(&[][..], |node| node.members());
            let names = there.iter().take(20).map(|member| member.key.as_str()).collect();
            let what = format!("{} has no #{}", document.name, pointer_text(way));
            Err((what, listed(names, "nothing is below it")))
        }
        SchemaPlace::Anchor(name) => document.anchor(name).cloned().ok_or_else(|| {
            let what = format!("{} has no $anchor \"{name}\"", document.name);
            (what, listed(document.anchors().take(20).collect(), "a pointer begins with #/"))
        }),
        SchemaPlace::Name(name) => {
            let ways = ["definitions", "$defs"].map(|folder| vec![folder.to_owned(), name.clone()]);
            let mut ways = ways.into_iter().chain([vec![name.clone()]]);
            ways.find(|way| document.find(way).is_some()).ok_or_else(|| {
                let what = format!("{} defines no schema \"{name}\"", document.name);
                let near = nearest(name, names(document).into_iter());
                let near = near.map_or_else(String::new, |near| format!("did you mean \"{near}\"? "));
                (what, format!("{near}{}", listed(names(document), "write # for the whole file")))
            })
        }
    }
}

/// Returns the names that a file defines.
fn names(document: &SchemaDocument) -> Vec<&str> {
    let folders = ["definitions", "$defs"].into_iter().filter_map(|folder| document.root.get(folder));
    let defined = folders.flat_map(|folder| folder.members());
    let top = document.root.members().iter().filter(|member| super::keyword::shape(&member.key).is_none());
    defined.chain(top).take(20).map(|member| member.key.as_str()).collect()
}

/// Reads a JSON pointer that begins with a slash.
fn pointer(text: &str) -> Result<Vec<String>, RefError> {
    let tokens = text.split('/').skip(1);
    tokens
        .map(|token| {
            let rest = token.replace("~0", "").replace("~1", "");
            if rest.contains('~') {
                let help = "write ~0 for a tilde and ~1 for a slash";
                return Err((format!("\"{text}\" has a tilde that stands for nothing"), help.to_owned()));
            }
            Ok(token.replace("~1", "/").replace("~0", "~"))
        })
        .collect()
}

/// Decodes `%20` and its like.
fn decode(text: &str) -> Result<String, RefError> {
    let wrong = || {
        let help = "write %25 for a percent sign";
        (format!("\"{text}\" has a percent sign that stands for nothing"), help.to_owned())
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first != b'%' {
            bytes.push(*first);
            rest = tail;
            continue;
        }
        let digits = tail.get(..2).and_then(|digits| str::from_utf8(digits).ok()).ok_or_else(wrong)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

/// `http:`, `file:`, `C:` and the like.
fn has_scheme(file: &str) -> bool {
    let scheme = file.split_once(':').map_or("", |(scheme, _)| scheme);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(steps: &[&str]) -> SchemaPlace {
        SchemaPlace::Pointer(steps.iter().map(|step| (*step).to_owned()).collect())
    }

    #[test]
    fn references_have_a_file_and_a_place() {
        let reference = |file: Option<&str>, place| Ok(Reference { file: file.map(str::to_owned), place });
        for (text, expected) in [
            ("#", reference(None, way(&[]))),
            ("#/", reference(None, way(&[]))),
            ("b.json#/", reference(Some("b.json"), way(&[]))),
            ("#/$defs/a", reference(None, way(&["$defs", "a"]))),
            ("#/a~1b/c~0d/e%20f/~01", reference(None, way(&["a/b", "c~d", "e f", "~1"]))),
            ("#name", reference(None, SchemaPlace::Anchor("name".to_owned()))),
            ("b.json", reference(Some("b.json"), way(&[]))),
            ("sub%20folder/b.json#/x", reference(Some("sub folder/b.json"), way(&["x"]))),
            ("../b.json#x", reference(Some("../b.json"), SchemaPlace::Anchor("x".to_owned()))),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        for text in [
            "http://x/y.json",
            "HTTPS://x",
            "file:///etc/passwd",
            "urn:x",
            "//host/x",
            "#/a~2",
            "#/%zz",
            "#/%ff",
            "a%",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_schema_is_named_by_pointer_or_name() {
        for text in ["#", "#/", "/"] {
            assert_eq!(read_name(text), Ok(way(&[])), "{text}");
        }
        assert_eq!(read_name("/$defs/a"), Ok(way(&["$defs", "a"])));
        assert_eq!(read_name("#/$defs/a"), Ok(way(&["$defs", "a"])));
        assert_eq!(read_name("a"), Ok(SchemaPlace::Name("a".to_owned())));
        for text in ["", "##", "##/a", "//", "//a", "#//a"] {
            assert!(read_name(text).is_err(), "{text}");
        }
    }
}
