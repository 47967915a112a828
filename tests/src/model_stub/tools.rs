//! Carries out what a script says with the tools that a request offers, whatever they are called there.

use serde_json::{Map, Value, json};

use super::protocol::{Part, Tool};
use super::script::Act;

const READ: &[&str] = &["Read", "read_file", "read"];
const WRITE: &[&str] = &["Write", "write_file", "write"];
const RUN: &[&str] = &["Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell"];
const VALUE: &[&str] = &["StructuredOutput", "structured_output"];

const PATH: &[&str] = &["file_path", "filePath", "absolute_path", "path"];
const TEXT: &[&str] = &["content", "contents", "text"];
const COMMAND: &[&str] = &["command", "cmd"];

/// Returns what an answer consists of. Where no tool is offered for files, the shell does it.
pub(super) fn part(act: &Act, offered: &[Tool]) -> Part {
    let call = match act {
        Act::Say(text) => return Part::Text(text.clone()),
        Act::Fault(fault) => return Part::Text(format!("{fault:?}")),
        Act::Read(path) => {
            call(offered, READ, &[(PATH, path)]).or_else(|| run(offered, &format!("cat '{path}'")))
        }
        Act::Write { path, text } => call(offered, WRITE, &[(PATH, path), (TEXT, text)])
            .or_else(|| run(offered, &format!("cat >'{path}' <<'END_OF_FILE'\n{text}END_OF_FILE\n"))),
        Act::Run(command) => run(offered, command),
        Act::Value(value) => {
            let tool = find(offered, VALUE).map(|tool| (tool.name.clone(), value.clone()));
            return tool.map_or_else(|| Part::Text(value.to_string()), call_of);
        }
    };
    let names = || offered.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", ");
    call.unwrap_or_else(|| Part::Text(format!("There is no tool for this, only {}.", names())))
}

fn run(offered: &[Tool], command: &str) -> Option<Part> {
    call(offered, RUN, &[(COMMAND, command)])
}

fn call(offered: &[Tool], names: &[&str], given: &[(&[&str], &str)]) -> Option<Part> {
    let tool = find(offered, names)?;
    Some(call_of((tool.name.clone(), Value::Object(arguments(&tool.schema, given)))))
}

fn call_of((name, arguments): (String, Value)) -> Part {
    Part::Call { name, arguments }
}

fn find<'a>(offered: &'a [Tool], names: &[&str]) -> Option<&'a Tool> {
    names.iter().find_map(|name| offered.iter().find(|tool| tool.name == *name))
}

/// Names what is given as the schema does, and fills in what it requires besides.
fn arguments(schema: &Value, given: &[(&[&str], &str)]) -> Map<String, Value> {
    let properties = &schema["properties"];
    let mut arguments = Map::new();
    for (names, value) in given {
        if let Some(name) = names.iter().find(|name| properties.get(**name).is_some()) {
            let is_list = properties[*name]["type"] == "array";
            let value = if is_list { json!(["sh", "-c", value]) } else { json!(value) };
            arguments.insert((*name).to_string(), value);
        }
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        arguments.entry(name).or_insert_with(|| filler(&properties[name]));
    }
    arguments
}

fn filler(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("boolean") => json!(false),
        Some("integer" | "number") => json!(1),
        _ => json!("as the script says"),
    }
}
