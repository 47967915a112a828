//! Checkstyle XML, which linters of many languages write.

use quick_xml::Reader;
use quick_xml::events::Event;

use super::super::draft::{Draft, Found};
use super::Sheet;
use super::junit::attribute;

/// Reads every problem; what is no error only where nothing is one.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let Some(start) = sheet.text.find("<checkstyle") else { return };
    let mut reader = Reader::from_str(&sheet.text[start..]);
    reader.config_mut().check_end_names = false;
    let (mut file, mut drafts) = (String::new(), Vec::new());
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(tag) | Event::Empty(tag) => match tag.name().as_ref() {
                "file" => file = attribute(&tag, "name"),
                "error" => {
                    let number = |name: &str| attribute(&tag, name).parse().ok();
                    let rule = attribute(&tag, "source");
                    let message = attribute(&tag, "message");
                    let draft = Draft::diagnostic("diagnostics", &file, number("line"), message.trim());
                    let draft = draft.kind(&rule).shown_at(number("column"), "");
                    drafts.push(draft.warning(attribute(&tag, "severity") != "error"));
                }
                _ => {}
            },
            Event::Eof => break,
            _ => {}
        }
    }
    let is_shell = |draft: &Draft| draft.kind.contains("SC");
    let errors = drafts.iter().any(|draft| !draft.is_warning);
    drafts.into_iter().filter(|it| !errors || !it.is_warning || is_shell(it)).for_each(|it| found.push(it));
}
