//! Texts, whatever they say: bytes become [text](decode), text [lines], lines lose their [dress](undress) and their
//! [escapes](plain), and [JSON](json) is found in them.

pub(crate) mod decode;
pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod pattern;
pub(crate) mod plain;
pub(crate) mod undress;
