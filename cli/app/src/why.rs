//! Where the values come from that a decision rests on.

use std::fs;
use std::path::Path;

use unstuck_core::id::Digest;
use unstuck_replay::StallRule;
use unstuck_workflow::workflow_file;

/// Says where the threshold of a stall was set: `flow.yaml:14`, an event, or the default.
pub fn origin(rule: &StallRule) -> String {
    if let Some(event) = rule.set_by {
        return format!("set in event {event}");
    }
    let Some(file) = &rule.file else { return "the default".to_owned() };
    let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let bytes = fs::read(file).unwrap_or_default();
    if rule.digest != Some(Digest::sha256(&bytes)) {
        return format!("{name}, which has changed since");
    }
    match workflow_file::line_of_key(&bytes, &["steps", rule.step.as_str(), "convergence", "stall_threshold"])
    {
        Some(line) => format!("{name}:{line}"),
        None => "the default".to_owned(),
    }
}
