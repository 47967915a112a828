//! Reads the JSON of a stored shape as this program writes it, and writes the bincode of the shape in the same
//! pass: a replay of a mirror needs both, the one for the event and the other for its hash.
//!
//! Fields in their order, no white space, no field left out. Whatever is written in another way is declined,
//! not judged: it is for [`serde_json`] to read and to complain about.

use std::fmt;

use serde::de::value::{SeqDeserializer, U32Deserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer as _, SeqAccess,
    VariantAccess, Visitor,
};
use unstuck_core::evidence::decode_hex;
use unstuck_core::id::Digest;

use crate::text_cursor::TextCursor;

/// Reads a shape and replaces the content of `payload` by its bincode. Returns `None` if the JSON was not written by
/// this program.
pub(super) fn decode<T: DeserializeOwned>(json: &str, payload: &mut Vec<u8>) -> Option<T> {
    payload.clear();
    let mut reader = Reader { rest: TextCursor(json), payload };
    let shape = T::deserialize(&mut reader).ok()?;
    reader.rest.0.is_empty().then_some(shape)
}

/// The JSON is not as this program writes it.
#[derive(Debug)]
struct Declined;

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not as this program writes it")
    }
}

impl std::error::Error for Declined {}

impl serde::de::Error for Declined {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

struct Reader<'de, 'a> {
    rest: TextCursor<'de>,
    payload: &'a mut Vec<u8>,
}

impl<'de> Reader<'de, '_> {
    /// Passes over `literal` if it is next.
    fn skip(&mut self, literal: &str) -> bool {
        self.rest.skip(literal).is_some()
    }

    fn expect(&mut self, literal: &str) -> Result<(), Declined> {
        self.rest.skip(literal).ok_or(Declined)
    }

    fn take(&mut self, length: usize) -> Result<&'de str, Declined> {
        self.rest.take(length).ok_or(Declined)
    }

    fn number(&mut self) -> Result<u64, Declined> {
        self.rest.number().ok_or(Declined)
    }

    /// Takes everything before the next quotation mark, and passes over that.
    fn name(&mut self) -> Result<&'de str, Declined> {
        let name = self.rest.until(|byte| byte == b'"').ok_or(Declined)?;
        self.expect("\"")?;
        Ok(name)
    }

    /// Reads a text, whose length and bytes go to the payload.
    fn text(&mut self) -> Result<&str, Declined> {
        self.expect("\"")?;
        let start = self.begin_length();
        let first = self.plain()?;
        if self.skip("\"") {
            self.end_length(start, first.len());
            return Ok(first);
        }
        while !self.skip("\"") {
            let byte = self.escaped()?;
            self.payload.push(byte);
            self.plain()?;
        }
        let length = self.payload.len() - start;
        self.end_length(start, length);
        str::from_utf8(&self.payload[start..]).map_err(|_| Declined)
    }

    /// Copies a text up to where it ends or something is escaped.
    fn plain(&mut self) -> Result<&'de str, Declined> {
        let special = |byte: u8| byte == b'"' || byte == b'\\' || byte < b' ';
        let plain = self.rest.until(special).ok_or(Declined)?;
        self.payload.extend_from_slice(plain.as_bytes());
        Ok(plain)
    }

    fn escaped(&mut self) -> Result<u8, Declined> {
        self.expect("\\")?;
        match self.take(1)? {
            "\"" => Ok(b'"'),
            "\\" => Ok(b'\\'),
            "n" => Ok(b'\n'),
            "r" => Ok(b'\r'),
            "t" => Ok(b'\t'),
            "b" => Ok(8),
            "f" => Ok(12),
            "u" => match const_hex::decode_to_array(self.take(4)?) {
                Ok([0, control]) if control < b' ' => Ok(control),
                _ => Err(Declined),
            },
            _ => Err(Declined),
        }
    }

    /// Makes room for a length, and returns where what it counts begins.
    fn begin_length(&mut self) -> usize {
        self.payload.extend_from_slice(&[0; 8]);
        self.payload.len()
    }

    fn end_length(&mut self, start: usize, length: usize) {
        self.payload[start - 8..start].copy_from_slice(&(length as u64).to_le_bytes());
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $number:ty;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Declined> {
            let number = <$number>::try_from(self.number()?).map_err(|_| Declined)?;
            self.payload.extend_from_slice(&number.to_le_bytes());
            visitor.$visit(number)
        }
    )*};
}

macro_rules! signed_numbers {
    ($($method:ident $visit:ident $number:ty;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Declined> {
            let negative = self.skip("-");
            let size = i64::try_from(self.number()?).map_err(|_| Declined)?;
            if negative && size == 0 {
                return Err(Declined);
            }
            let number = <$number>::try_from(if negative { -size } else { size }).map_err(|_| Declined)?;
            self.payload.extend_from_slice(&number.to_le_bytes());
            visitor.$visit(number)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Reader<'de, '_> {
    type Error = Declined;

    numbers! {
        deserialize_u32 visit_u32 u32;
        deserialize_u64 visit_u64 u64;
    }

    signed_numbers! {
        deserialize_i32 visit_i32 i32;
        deserialize_i64 visit_i64 i64;
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Declined> {
        let yes = self.skip("true");
        if !yes {
            self.expect("false")?;
        }
        self.payload.push(u8::from(yes));
        visitor.visit_bool(yes)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Declined> {
        visitor.visit_str(self.text()?)
    }

    /// Reads [`Bytes`](super::v1::Bytes).
    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Declined> {
        let value = if self.skip("{\"text\":") {
            visitor.visit_bytes(self.text()?.as_bytes())?
        } else {
            self.expect("{\"hex\":\"")?;
            let bytes = decode_hex(self.name()?).ok_or(Declined)?;
            let start = self.begin_length();
            self.payload.extend_from_slice(&bytes);
            self.end_length(start, bytes.len());
            visitor.visit_byte_buf(bytes)?
        };
        self.expect("}")?;
        Ok(value)
    }

    /// Reads a [`Digest`](super::v1::Digest), the only tuple there is.
    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Declined> {
        self.expect("\"")?;
        let digest = Digest::parse(self.take(64)?).ok_or(Declined)?;
        self.expect("\"")?;
        self.payload.extend_from_slice(&digest.0);
        visitor.visit_seq(SeqDeserializer::new(super::text::words(&digest.0).into_iter()))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Declined> {
        let none = self.skip("null");
        self.payload.push(u8::from(!none));
        if none { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Declined> {
        self.expect("[")?;
        let start = self.begin_length();
        let mut items = Items { reader: self, count: 0 };
        let value = visitor.visit_seq(&mut items)?;
        let count = items.count;
        self.end_length(start, count);
        self.expect("]")?;
        Ok(value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Declined> {
        self.expect("{")?;
        let value = visitor.visit_seq(Fields { reader: self, names: names.iter(), first: true })?;
        self.expect("}")?;
        Ok(value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Declined> {
        let holds = self.skip("{");
        self.expect("\"")?;
        let name = self.name()?;
        let index = names.iter().position(|known| *known == name).ok_or(Declined)?;
        let index = u32::try_from(index).map_err(|_| Declined)?;
        self.payload.extend_from_slice(&index.to_le_bytes());
        if holds {
            self.expect(":")?;
        }
        let value = visitor.visit_enum(Variant { reader: self, index, holds })?;
        if holds {
            self.expect("}")?;
        }
        Ok(value)
    }

    /// No stored shape asks for anything else.
    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Declined> {
        Err(Declined)
    }

    serde::forward_to_deserialize_any! {
        i8 i16 u8 u16 f32 f64 char str bytes unit unit_struct newtype_struct tuple_struct map identifier
        ignored_any
    }

    /// Digests and bytes are asked for as they are in bincode.
    fn is_human_readable(&self) -> bool {
        false
    }
}

struct Items<'r, 'de, 'a> {
    reader: &'r mut Reader<'de, 'a>,
    count: usize,
}

impl<'de> SeqAccess<'de> for &mut Items<'_, 'de, '_> {
    type Error = Declined;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Declined> {
        if self.reader.rest.0.starts_with(']') {
            return Ok(None);
        }
        if self.count > 0 {
            self.reader.expect(",")?;
        }
        self.count += 1;
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

struct Fields<'r, 'de, 'a> {
    reader: &'r mut Reader<'de, 'a>,
    names: std::slice::Iter<'static, &'static str>,
    first: bool,
}

impl<'de> SeqAccess<'de> for Fields<'_, 'de, '_> {
    type Error = Declined;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Declined> {
        let Some(name) = self.names.next() else { return Ok(None) };
        self.reader.expect(if self.first { "\"" } else { ",\"" })?;
        self.first = false;
        self.reader.expect(name)?;
        self.reader.expect("\":")?;
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

struct Variant<'r, 'de, 'a> {
    reader: &'r mut Reader<'de, 'a>,
    index: u32,
    /// Whether it holds something.
    holds: bool,
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de, '_> {
    type Error = Declined;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Declined> {
        let index: U32Deserializer<Declined> = self.index.into_deserializer();
        Ok((seed.deserialize(index)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de, '_> {
    type Error = Declined;

    fn unit_variant(self) -> Result<(), Declined> {
        if self.holds { Err(Declined) } else { Ok(()) }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Declined> {
        if self.holds { seed.deserialize(self.reader) } else { Err(Declined) }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Declined> {
        Err(Declined)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, Declined> {
        Err(Declined)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Serialize;

    use super::super::{serialize, v1, v2, v3};
    use super::*;

    /// Says whether the JSON is read, and checks that `serde_json` and `bincode` make the same of it.
    fn check<T: DeserializeOwned + Serialize + PartialEq + fmt::Debug>(json: &str) -> bool {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let Some(shape) = decode::<T>(json, &mut ours) else { return false };
        serialize(&shape, &mut theirs).unwrap();
        assert_eq!(shape, serde_json::from_str::<T>(json).unwrap(), "{json}");
        assert_eq!(ours, theirs, "{json}");
        true
    }

    fn check_written<T: DeserializeOwned + Serialize + PartialEq + fmt::Debug>(shape: &T) {
        let json = serde_json::to_string(shape).unwrap();
        assert!(check::<T>(&json), "declined: {json}");
    }

    fn check_golden<T: DeserializeOwned + Serialize + PartialEq + fmt::Debug>(name: &str) {
        let shape = std::any::type_name::<T>();
        let version = (1..=3).find(|version| shape.contains(&format!("::v{version}::"))).unwrap_or_default();
        let path = format!("{}/tests/golden/v{version}/{name}.json", env!("CARGO_MANIFEST_DIR"));
        for json in std::fs::read_to_string(path).unwrap().lines() {
            assert!(check::<T>(json), "declined: {json}");
            for at in (0..json.len()).filter(|at| json.is_char_boundary(*at)) {
                check::<T>(&json[..at]);
                check::<T>(&format!("{} {}", &json[..at], &json[at..]));
            }
        }
    }

    #[test]
    fn output_of_this_program_is_never_declined() {
        check_golden::<v1::RunStarted>("run_started");
        check_golden::<v2::RunStarted>("run_started");
        check_golden::<v1::RunResumed>("run_resumed");
        check_golden::<v2::RunResumed>("run_resumed");
        check_golden::<v1::RunInterrupted>("run_interrupted");
        check_golden::<v1::AnswerGiven>("answer_given");
        check_golden::<v1::DeadlinePassed>("deadline_passed");
        check_golden::<v1::WorkerStarted>("worker_started");
        check_golden::<v2::WorkerStarted>("worker_started");
        check_golden::<v3::WorkerStarted>("worker_started");
        check_golden::<v1::WorkerFinished>("worker_finished");
        check_golden::<v2::WorkerFinished>("worker_finished");
        check_golden::<v3::WorkerFinished>("worker_finished");
        check_golden::<v1::CheckStarted>("check_started");
        check_golden::<v1::CheckFinished>("check_finished");
        check_golden::<v2::CheckFinished>("check_finished");
        check_golden::<v1::SnapshotTaken>("snapshot_taken");
        check_golden::<v2::SnapshotTaken>("snapshot_taken");
        check_golden::<v1::WaitRequested>("wait_requested");
        check_golden::<v1::VerdictReached>("verdict_reached");
        check_golden::<v1::StageRaised>("stage_raised");
        check_golden::<v1::StepEnded>("step_ended");
        check_golden::<v1::RunEnded>("run_ended");
    }

    #[test]
    fn json_in_another_format_is_declined() {
        for json in [
            r#"{ "signal":2}"#,
            r#"{"signal":2} "#,
            r#"{"signal":02}"#,
            r#"{"signal":-0}"#,
            r#"{"signal":2.0}"#,
            r#"{"signal":2147483648}"#,
            r#"{"signal":2,"more":1}"#,
            r#"{"sign\u0061l":2}"#,
            "{}",
        ] {
            assert!(!check::<v1::RunInterrupted>(json), "{json}");
        }
        assert!(check::<v1::RunInterrupted>(r#"{"signal":-2147483648}"#));
        assert!(!check::<v1::AnswerGiven>(r#"{"text":"\u0041","steps":[]}"#));
        assert!(!check::<v1::AnswerGiven>("{\"text\":\"\u{1}\",\"steps\":[]}"));
    }

    proptest! {
        #[test]
        fn every_text_and_number_is_read_as_it_was_written(
            text in any::<String>(), controls in "[\\x00-\\x7f]*", signal: i32, seq: u64,
        ) {
            check_written(&v1::AnswerGiven { text: text + &controls, steps: Vec::new() });
            check_written(&v1::RunInterrupted { signal });
            check_written(&v1::SnapshotMoment::Undone(seq));
        }
    }
}
