//! Checkstyle XML, which many linters write, and the XML of cppcheck, in which each problem contains its place.

use quick_xml::Reader;
use quick_xml::events::Event;

use super::junit::attribute;
use super::{FailureCollector, FormatInput, RawFailure};

/// Reads every problem; warnings count only if there are no errors.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let Some(start) = ["<checkstyle", "<cppcheck"].iter().find_map(|root| input.text.find(root)) else {
        return;
    };
    let mut reader = Reader::from_str(&input.text[start..]);
    reader.config_mut().check_end_names = false;
    let (mut file, mut drafts) = (String::new(), Vec::new());
    // Only the first place of a problem is its position.
    let mut is_placed = true;
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(tag) | Event::Empty(tag) => match tag.name().as_ref() {
                "file" => file = attribute(&tag, "name"),
                "error" if tag.try_get_attribute("msg").is_ok_and(|attribute| attribute.is_some()) => {
                    let severity = attribute(&tag, "severity");
                    let draft = RawFailure::diagnostic("diagnostics", "", None, &attribute(&tag, "msg"));
                    let draft = draft.kind(&attribute(&tag, "id")).warning(severity != "error");
                    is_placed = severity == "information";
                    drafts.extend(Some(draft).filter(|_| !is_placed));
                }
                "location" if !is_placed => {
                    is_placed = true;
                    if let Some(draft) = drafts.pop() {
                        let number = |name: &str| attribute(&tag, name).parse().ok();
                        let draft = draft.at(&attribute(&tag, "file"), number("line"));
                        drafts.push(draft.with_column(number("column"), ""));
                    }
                }
                "error" => {
                    let number = |name: &str| attribute(&tag, name).parse().ok();
                    let source = attribute(&tag, "source");
                    let rule = source.rsplit_once(".rules.").map_or(&*source, |(_, rule)| rule);
                    let message = attribute(&tag, "message");
                    let draft = RawFailure::diagnostic("diagnostics", &file, number("line"), message.trim());
                    let draft = draft.kind(rule).with_column(number("column"), "");
                    drafts.push(draft.warning(attribute(&tag, "severity") != "error"));
                }
                _ => {}
            },
            Event::Eof => break,
            _ => {}
        }
    }
    let is_shell = |draft: &RawFailure| draft.kind.contains("SC");
    let errors = drafts.iter().any(|draft| !draft.is_warning);
    drafts
        .into_iter()
        .filter(|failure| !errors || !failure.is_warning || is_shell(failure))
        .for_each(|failure| collector.push(failure));
}
