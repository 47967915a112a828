//! Texts, whatever they say: bytes become [text](decode), text [lines], lines lose their [dress](strip_markup) and
//! their [escapes](plain), and [JSON](json) is found in them.

pub mod check_boxes;
pub mod decode;
pub mod fence;
pub mod json;
pub mod lines;
pub mod pattern;
pub mod plain;
pub mod shell;
pub mod strip_markup;
