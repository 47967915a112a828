//! What other parts of the program know about registries, each behind one function.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use unstuck_core::completion::Form;
use unstuck_core::id::Digest;
use unstuck_core::validator::SuccessWhen;

use super::read::At;

/// Reads when a command has passed.
pub(super) fn success_when(text: &str) -> Result<SuccessWhen, String> {
    let (word, rest) =
        text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest.trim_start())));
    let wrong = || format!("found \"{text}\", which says of no command that it has passed");
    match (word, rest) {
        ("empty", None) => Ok(SuccessWhen::Empty),
        ("exitCode", Some(codes)) => {
            let codes: Result<Vec<i32>, _> = codes.split(',').map(|code| code.trim().parse()).collect();
            codes.map(SuccessWhen::ExitCode).map_err(|_| wrong())
        }
        ("contains", Some(text)) if !text.is_empty() => Ok(SuccessWhen::Contains(text.to_owned())),
        ("matches", Some(pattern)) if !pattern.is_empty() => match regex::Regex::new(pattern) {
            Ok(_) => Ok(SuccessWhen::Matches(pattern.to_owned())),
            Err(error) => Err(super::tree::first_line(&error)),
        },
        _ => Err(wrong()),
    }
}

/// Checks the names of parameters, which become environment variables of a command.
pub(super) fn check_params(
    _command: &Option<(String, At)>,
    params: &BTreeMap<String, String>,
) -> Result<(), String> {
    let is_name = |name: &str| {
        !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    match params.keys().find(|name| !is_name(name)) {
        Some(name) => Err(format!("parameter \"{name}\" cannot be an environment variable")),
        None => Ok(()),
    }
}

/// Reads a schema; each problem is what is wrong and what to do about it.
pub(super) fn schema(folder: &Path, file: &str, name: &str) -> Result<Form, Vec<(String, String)>> {
    let problem = |what: String, help: &str| vec![(what, help.to_owned())];
    let bytes = fs::read(folder.join(file)).map_err(|error| {
        problem(format!("cannot read the schema {file}: {error}"), "it lies in the schemas folder")
    })?;
    let whole: Value = serde_json::from_slice(&bytes)
        .map_err(|error| problem(format!("{file} is not valid JSON: {error}"), "mend it"))?;
    let pointer = name.trim_start_matches('#');
    let found = match pointer {
        "" | "/" => Some(&whole),
        _ if pointer.starts_with('/') => whole.pointer(pointer),
        _ => whole["definitions"].get(name).or_else(|| whole["$defs"].get(name)).or_else(|| whole.get(name)),
    };
    let schema = found
        .cloned()
        .ok_or_else(|| problem(format!("{file} has no schema {name}"), "name one of its definitions"))?;
    let digests = [(file.to_owned(), Digest::of(&bytes).to_string())].into();
    Ok(Form::Json { schema: Some(schema), source: format!("{file}#{pointer}"), digests })
}
