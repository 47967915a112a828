//! Logs that were written stay readable: stored dumps of every type, and the order of every field and
//! variant, which in bincode is the format.
//!
//! `UNSTUCK_BLESS=1 cargo test -p unstuck-store --test golden` rewrites the files. Never do that for a released
//! version: make a new version instead.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use unstuck_core::event::Fact;
use unstuck_store::testing::facts;
use unstuck_store::wire::{self, EventType, SchemaVersion, v1, v2, v3};

fn golden(version: u16) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v{version}"))
}

fn check_file(version: u16, name: &str, actual: &str) {
    let path = golden(version).join(name);
    if std::env::var_os("UNSTUCK_BLESS").is_some() {
        fs::create_dir_all(golden(version)).unwrap();
        fs::write(&path, actual).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{} differs; see the head of this file", path.display());
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn by_type(facts: Vec<Fact>) -> BTreeMap<EventType, Vec<Fact>> {
    let mut types: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for fact in facts {
        types.entry(wire::encode(&fact).unwrap().kind).or_default().push(fact);
    }
    types
}

#[test]
fn every_type_has_a_sample() {
    let sampled: Vec<_> = by_type(facts()).into_keys().collect();
    assert_eq!(sampled, EventType::ALL);
}

#[test]
fn the_dumps_hold_what_is_written_today() {
    for (kind, facts) in by_type(facts()) {
        let (mut dump, mut json, mut version) = (String::new(), Vec::new(), 0);
        for fact in &facts {
            let encoded = wire::encode(fact).unwrap();
            version = encoded.schema.0;
            dump += &hex(&encoded.payload);
            dump.push('\n');
            wire::to_json(kind, encoded.schema, &encoded.payload, &mut json).unwrap();
            json.push(b'\n');
        }
        check_file(version, &format!("{}.hex", kind.name()), &dump);
        check_file(version, &format!("{}.json", kind.name()), &String::from_utf8(json).unwrap());
    }
}

#[test]
fn the_dumps_of_each_version_are_read() {
    for (version, facts) in [(1, facts::facts_of_v1()), (2, facts::facts_of_v2()), (3, facts())] {
        for (kind, facts) in by_type(facts) {
            let read =
                |ending: &str| fs::read_to_string(golden(version).join(format!("{}.{ending}", kind.name())));
            let Ok(dump) = read("hex") else {
                let newest = wire::encode(&facts[0]).unwrap().schema.0;
                assert!(newest < version, "{} has no dump of version {version}", kind.name());
                continue;
            };
            let json = read("json").unwrap();
            assert_eq!(dump.lines().count(), facts.len());
            for ((dump, json), fact) in dump.lines().zip(json.lines()).zip(facts) {
                let (schema, payload) = (SchemaVersion(version), unhex(dump));
                assert_eq!(wire::decode(kind, schema, &payload).unwrap(), fact);
                let mut from_json = Vec::new();
                assert_eq!(wire::decode_json(kind, schema, json, &mut from_json).unwrap(), fact);
                assert_eq!(from_json, payload);
            }
        }
    }
}

#[test]
fn every_cut_and_every_byte_too_many_is_an_error_and_no_byte_makes_it_panic() {
    for fact in facts() {
        let wire::Encoded { kind, schema, payload } = wire::encode(&fact).unwrap();
        for length in 0..payload.len() {
            wire::decode(kind, schema, &payload[..length]).unwrap_err();
        }
        let mut longer = payload.clone();
        longer.push(0);
        wire::decode(kind, schema, &longer).unwrap_err();
        for at in 0..payload.len() {
            for value in [0, 0x7f, 0xff] {
                let mut changed = payload.clone();
                changed[at] = value;
                let _either = wire::decode(kind, schema, &changed);
            }
        }
    }
}

#[test]
fn a_newer_schema_is_refused_with_the_version_that_this_program_reads() {
    for (kind, facts) in by_type(facts()) {
        let error = wire::decode(kind, SchemaVersion(4), b"").unwrap_err();
        assert!(error.is_newer());
        let (name, newest) = (kind.name(), wire::encode(&facts[0]).unwrap().schema);
        let sentence =
            format!("written by unstuck's schema 4 of {name}; this program reads up to {newest}: upgrade");
        assert_eq!(error.to_string(), sentence);
    }
}

#[test]
fn names_and_numbers_of_types_are_unique_and_read_back() {
    let mut names = BTreeSet::new();
    for kind in EventType::ALL {
        assert!(names.insert(kind.name()));
        assert_eq!(EventType::from_number(kind.number()), Some(*kind));
        assert_eq!(EventType::from_name(kind.name()), Some(*kind));
    }
}

/// Renders the order of fields and variants of one stored type.
struct Shape(String);

impl<'de> Deserializer<'de> for &mut Shape {
    type Error = de::value::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        self.0 = format!("struct {name}: {}", fields.join(" "));
        Err(de::Error::custom("seen"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        self.0 = format!("enum {name}: {}", variants.join(" "));
        Err(de::Error::custom("seen"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(de::Error::custom("neither a struct nor an enum"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}

macro_rules! shapes {
    ($version:ident: $($name:ident)*) => {
        vec![$({
            let mut shape = Shape(String::new());
            let _seen = $version::$name::deserialize(&mut shape);
            (stringify!($name), shape.0)
        }),*]
    };
}

#[test]
fn the_order_of_fields_and_variants_is_pinned() {
    let first = shapes! { v1:
        RunStarted Parent RunResumed RunInterrupted AnswerGiven DeadlinePassed WorkerStarted WorkerFinished WorkerLost
        CheckStarted CheckFinished CheckLost LogRepaired SnapshotTaken SnapshotMoment Snapshot Drift Diffstat ChangedFile Purpose Standing Checkout LeftOut
        WorkRequested CheckRequested WaitRequested VerdictReached StageRaised StepEnded RunStopping RunEnded
        WorkerProgressed Kicked Suspended FallbackTaken Call Progress Retrying Reading CallEnd Trouble Usage Cost Earlier Scope Counts
        Blob Budget Outcome Exit ChildEnd Spent Sum Tokens DecisionFile Refusal Next WaitReason ErrorClass Decision Source StallCause StepEnd
        Failure RunOutcome
        CommandResult Failed Location FailureSource Confidence Tests Listed TestName Naming
        ValidatorResult ValidatorOutcome Report Severity Param AnswerSeen AnswerOrigin Refused Violation Inquiry Claimed
    };
    let second = shapes! { v2:
        WorkerStarted WorkerFinished CheckFinished ValidatorResult CommandResult Failed SnapshotTaken Snapshot NumberLine Number
        RunStarted ForkPoint RunResumed
    };
    let third = shapes! { v3: WorkerStarted RegistryText WorkerFinished };
    for (version, shapes) in [(1, first), (2, second), (3, third)] {
        let text: String = shapes.iter().fold(String::new(), |text, (_, shape)| text + shape + "\n");
        check_file(version, "order.txt", &text);

        let source = source(version);
        let declared: BTreeSet<_> = source
            .lines()
            .filter_map(|line| line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum ")))
            .map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next().unwrap())
            .filter(|name| !matches!(*name, "Digest" | "Bytes")) // Written by hand, in wire/text.rs.
            .collect();
        assert_eq!(shapes.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>(), declared);
    }
}

fn source(version: u16) -> String {
    let path = format!("{}/src/wire/v{version}.rs", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).unwrap()
}

#[test]
fn the_stored_shapes_use_nothing_that_bincode_cannot_read_back() {
    let source = source(1) + &source(2) + &source(3);
    let code = || source.lines().filter(|line| !line.trim_start().starts_with("//"));
    for line in code().filter(|line| line.contains("serde(")) {
        assert_eq!(line, "#[serde(rename_all = \"snake_case\")]");
    }
    for word in ["Value", "Map<", "Box<", "f32", "f64", "()"] {
        assert!(code().all(|line| !line.contains(word)), "{word}");
    }
}
