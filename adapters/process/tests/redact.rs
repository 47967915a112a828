//! Secret values do not get through, however the text is cut.

use std::ffi::OsString;

use proptest::prelude::*;
use unstuck_process::redact::{Redactor, is_secret_name};

#[test]
fn names_that_are_secret() {
    for (name, secret) in [
        ("API_KEY", true),
        ("anthropic_api_key", true),
        ("GH_TOKEN", true),
        ("TOKEN", true),
        ("Key", true),
        ("SECRET", true),
        ("CLIENT_SECRET", true),
        ("PGPASSWORD", true),
        ("DB_PASSWORD_FILE", true),
        ("MONKEY", false),
        ("TOKENS", false),
        ("KEYBOARD", false),
        ("SECRETARY", false),
        ("PATH", false),
    ] {
        assert_eq!(is_secret_name(name), secret, "{name}");
    }
}

#[test]
fn texts_lose_the_values_and_nothing_else() {
    for (secrets, text, expected, count) in [
        (&[("A", "hunter22")][..], "pw hunter22!", "pw [redacted:A]!", 1),
        (&[("A", "hunter22")], "HUNTER22", "HUNTER22", 0),
        (&[("A", "short")], "short", "short", 0),
        (&[("A", "")], "text", "text", 0),
        (&[], "text", "text", 0),
        (&[("A", "abcdef"), ("B", "abcdefgh")], "abcdefgh abcdefg", "[redacted:B] [redacted:A]g", 2),
        (&[("A", "abcdef"), ("B", "abcdef")], "abcdef", "[redacted:A]", 1),
        (&[("A", "say \"hi\"")], r#"{"x":"say \"hi\""} say "hi""#, r#"{"x":"[redacted:A]"} [redacted:A]"#, 2),
        (&[("A", "p@ss/word")], "https://u:p%40ss%2Fword@h", "https://u:[redacted:A]@h", 1),
        (&[("A", "line-1\nline-2")], r#""line-1\nline-2""#, r#""[redacted:A]""#, 1),
        (&[("A", " padded-value\n")], "padded-value", "[redacted:A]", 1),
        (&[("A", "redacted"), ("B", "secret-b")], "redacted secret-b", "redacted [redacted:B]", 1),
        (&[("A", "ababab")], "abababababab", "[redacted:A][redacted:A]", 2),
        // Colored matches.
        (
            &[("A", "hunter22")],
            "pw \u{1b}[1mhun\u{1b}[31m\u{1b}[Kter\u{1b}[m22!",
            "pw \u{1b}[1m[redacted:A]!",
            1,
        ),
        (&[("A", "hunter22")], r#""pw hun\u001b[31mter22""#, r#""pw [redacted:A]""#, 1),
        (&[("A", "hunter22")], "\u{1b}[1mhun\u{1b}[0m", "\u{1b}[1mhun\u{1b}[0m", 0),
        (
            &[("A", "pässwörd")],
            r#""p\u00e4ssw\u00f6rd" "p\u00E4ssw\u00F6rd""#,
            r#""[redacted:A]" "[redacted:A]""#,
            2,
        ),
    ] {
        let redactor = Redactor::new(secrets.iter().copied());
        let (clean, replaced) = redactor.redact_text(text);
        assert_eq!((clean.as_ref(), replaced), (expected, count), "{secrets:?} {text}");
    }
}

/// The ways in which files and tools write a text.
const ESCAPES: [fn(&str) -> String; 12] = [
    |text| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;"),
    |text| each(text, |c| if c.is_alphanumeric() { c.to_string() } else { format!("&#{};", u32::from(c)) }),
    |text| each(text, |c| format!("&#x{:X};", u32::from(c))),
    |text| serde_json::Value::from(text).to_string(),
    |text| json_ascii(text, false),
    |text| json_ascii(text, true),
    |text| url(text, false),
    |text| url(text, true).replace("%20", "+"),
    |text| format!("'{}'", text.replace('\'', "'\\''")),
    |text| format!("'{}'", text.replace('\'', "'\"'\"'")),
    |text| each(text, |c| if c.is_ascii_punctuation() { format!("\\{c}") } else { c.to_string() }),
    |text| text.to_owned(),
];

fn each(text: &str, write: impl Fn(char) -> String) -> String {
    text.chars().map(write).collect()
}

fn json_ascii(text: &str, is_upper: bool) -> String {
    let unit = |unit: &mut u16| if is_upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
    let escape = |c: char| c.encode_utf16(&mut [0; 2]).iter_mut().map(unit).collect::<String>();
    each(text, |c| if c.is_ascii_alphanumeric() { c.to_string() } else { escape(c) })
}

fn url(text: &str, is_lower: bool) -> String {
    let hex = |byte: u8| if is_lower { format!("%{byte:02x}") } else { format!("%{byte:02X}") };
    each(text, |c| {
        if c.is_ascii_alphanumeric() { c.to_string() } else { c.to_string().bytes().map(hex).collect() }
    })
}

/// Returns base64, as a person would write it: slowly.
fn base64(bytes: &[u8], alphabet: &[u8]) -> String {
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let sextets =
        bits.as_bytes().chunks(6).map(|six| format!("{:0<6}", std::str::from_utf8(six).expect("digits")));
    sextets.map(|six| char::from(alphabet[usize::from_str_radix(&six, 2).expect("digits")])).collect()
}

const STANDARD: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#[test]
fn escaped_and_encoded_values_are_found() {
    let check = |value: &str, text: &str, expected: &str| {
        let redactor = Redactor::new([("A", value)]);
        let (clean, _) = redactor.redact_text(text);
        assert_eq!(clean, expected, "{value:?} in {text:?}");
    };
    check("p@ss!w(rd)*&<x>", "p@ss!w(rd)*&amp;&lt;x&gt;", "[redacted:A]");
    check("p@ss!w(rd)*&<x>", "p%40ss!w(rd)*%26%3Cx%3E", "[redacted:A]");
    check("sk-live/0123456789ABCDEF", "u=sk-live%2f0123456789ABCDEF&v", "u=[redacted:A]&v");
    check("two words here", "q=two+words+here", "q=[redacted:A]");
    check("it's a secret", r"echo 'it'\''s a secret'", "echo '[redacted:A]'");
    check("pässwörd", "p&auml;ssw&ouml;rd p\\303\\244ssw\\303\\266rd", "[redacted:A] [redacted:A]");
    check("pass'word", "password pass'word", "password [redacted:A]");
    check("nightfall", r"C:\nightfall", "C:[redacted:A]");
    check("deadbeef", r"%deadbeef \udeadbeef", r"%[redacted:A] \u[redacted:A]");
    let pem = "-----BEGIN KEY-----\nMIIEabcdefLINE2xyz\nshort\n-----END KEY-----";
    check(pem, "  MIIEabcdefLINE2xyz\nshort", "  [redacted:A]\nshort");
    check(pem, &format!("a {pem} b"), "a [redacted:A] b");
    check(pem, &pem.replace('\n', "\\n"), "[redacted:A]");
    check(pem, &pem.replace('\n', "\r\n  "), "[redacted:A]\r\n  [redacted:A]\r\n  short\r\n  [redacted:A]");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_value_is_found_through_any_nesting_of_escapes_and_however_the_text_is_cut(
        value in "[ -~äß\u{1f600}\n]{8,40}",
        nesting in prop_oneof![
            prop::collection::vec(prop::sample::select(ESCAPES.to_vec()), 0..3),
            prop::sample::select(ESCAPES.to_vec()).prop_map(|escape| vec![escape; 3]),
        ],
    ) {
        let value = value.trim();
        prop_assume!(value.chars().filter(|c| c.is_alphanumeric()).count() >= 8);
        let escaped = nesting.iter().fold(value.to_owned(), |text, escape| escape(&text));
        let redactor = Redactor::new([("A", value)]);
        let text = format!("before <{escaped}> behind");
        let (clean, count) = redactor.redact_bytes(text.as_bytes());
        // A value of several lines may be found line by line.
        prop_assert!(if value.contains('\n') { count >= 1 } else { count == 1 }, "{}", text);
        // Only signs at the ends of the value, which its surroundings might change, can be left.
        let left: usize = String::from_utf8_lossy(&clean).chars().filter(|c| c.is_alphanumeric()).count();
        prop_assert!(left <= "beforeredactedAbehind".len() + escaped.len() / 2, "{}", text);
        for cut in [3, 17] {
            prop_assert_eq!(streamed(&redactor, text.as_bytes().chunks(cut)), (clean.to_vec(), count), "{}", text);
        }
    }

    #[test]
    fn base64_of_a_value_is_found_at_any_alignment(
        value in "[!-~]{8,200}",
        before in "[a-z:]{0,6}",
        behind in "[a-z:]{0,6}",
        is_url in any::<bool>(),
    ) {
        let encoded = base64(format!("{before}{value}{behind}").as_bytes(), if is_url { URL_SAFE } else { STANDARD });
        let redactor = Redactor::new([("A", &value)]);
        let (clean, count) = redactor.redact_text(&encoded);
        prop_assert_eq!(count, 1, "{}", encoded);
        prop_assert!(clean.len() <= "[redacted:A]".len() + 24, "{}", clean);
    }

    #[test]
    fn any_cutting_of_any_escapes_gives_what_one_piece_gives(
        parts in prop::collection::vec(prop::sample::select(vec![
            "A", "B", "&", "amp;", "lt;", "#65;", "%", "41", "25", "4", "\\", "u0041", "x", "u", "\"", "'", "<", "+", " ",
            "\n", "\\ud83d", "\\ude00", "[", "AB&<A", "AB&amp;&lt;A", ";", "&amp;", "101",
        ]), 0..30),
    ) {
        let text = parts.concat();
        let redactor = Redactor::new([("n", "AB&<AB"), ("m", "A'A'AB")]);
        let (whole, count) = redactor.redact_bytes(text.as_bytes());
        for cut in [1, 2, 3, 7] {
            prop_assert_eq!(streamed(&redactor, text.as_bytes().chunks(cut)), (whole.to_vec(), count), "{}", text);
        }
    }
}

#[test]
fn text_that_escapes_without_end_takes_time_in_proportion() {
    let redactor = Redactor::new([("A", "AB&<AB"), ("B", "\u{e4}\u{e4}\u{e4}\u{e4}")]);
    for part in ["&", "&amp;", "%25", "\\", "\\u005c", "&#38;", "'\\''", "%", "AB&amp;", "\\ud83d", "&a"] {
        let text = part.repeat((1 << 19) / part.len());
        let begun = std::time::Instant::now();
        redactor.redact_bytes(text.as_bytes());
        assert!(begun.elapsed().as_secs() < 30, "{part}: {:?}", begun.elapsed());
    }
}

#[test]
fn the_environment_gives_the_values() {
    let vars = [("X_TOKEN", "value-1"), ("HARMLESS", "value-2"), ("Mine", "value-3"), ("PATH", "/usr/bin")]
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let redactor = Redactor::from_environment(vars, &["mine".to_owned()]);
    let (clean, count) = redactor.redact_text("value-1 value-2 value-3 /usr/bin");
    assert_eq!((clean.as_ref(), count), ("[redacted:X_TOKEN] value-2 [redacted:Mine] /usr/bin", 2));
}

/// Redacts a text that comes in pieces, and returns it with the number of values that were replaced.
fn streamed<'a>(redactor: &Redactor, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, u32) {
    let mut stream = redactor.stream();
    let mut clean = Vec::new();
    for piece in pieces {
        stream.push(piece, &mut clean);
    }
    stream.finish(&mut clean);
    (clean, stream.count())
}

#[test]
fn text_that_cannot_become_a_value_is_written_immediately() {
    let redactor = Redactor::new([("A", "hunter22")]);
    let seen = streamed(&redactor, [&b"a long line of text without a secret\nhunt"[..]]);
    assert_eq!(seen, (b"a long line of text without a secret\nhunt".to_vec(), 0));
    let mut stream = redactor.stream();
    let mut clean = Vec::new();
    stream.push(b"text hunt", &mut clean);
    assert_eq!(clean, b"text ");
    stream.push(b"er22 hunt", &mut clean);
    assert_eq!(clean, b"text [redacted:A] ");
    stream.push(b"ing", &mut clean);
    assert_eq!(clean, b"text [redacted:A] hunting");
}

#[test]
fn bytes_that_are_no_text_are_kept() {
    let redactor = Redactor::new([("A", [0xff, 0xfe, 0, 1, 2, 3])]);
    let (clean, count) = redactor.redact_bytes(b"\xff\xff\xfe\0\x01\x02\x03\xff");
    assert_eq!((clean.as_ref(), count), (&b"\xff[redacted:A]\xff"[..], 1));
}

/// Replaces by looking at every place with every value: slow, and easy to believe.
fn oracle(values: &[String], text: &[u8]) -> (Vec<u8>, u32) {
    let (mut clean, mut count, mut at) = (Vec::new(), 0, 0);
    while at < text.len() {
        let longest = values
            .iter()
            .enumerate()
            .filter(|(_, value)| value.len() >= 6 && text[at..].starts_with(value.as_bytes()))
            .max_by_key(|(index, value)| (value.len(), usize::MAX - index));
        if let Some((index, value)) = longest {
            clean.extend_from_slice(format!("[redacted:n{index}]").as_bytes());
            count += 1;
            at += value.len();
        } else {
            clean.push(text[at]);
            at += 1;
        }
    }
    (clean, count)
}

proptest! {
    #[test]
    fn any_cutting_gives_what_one_piece_gives_and_no_secret(
        values in prop::collection::vec("[AB]{4,10}", 0..5),
        parts in prop::collection::vec(prop_oneof![
            prop::collection::vec(prop::sample::select(b"AAABBBc\n".to_vec()), 0..12),
            Just(vec![0xff, 0]),
        ], 0..12),
        picks in prop::collection::vec(0_usize..5, 0..12),
    ) {
        let pieces: Vec<Vec<u8>> = parts.into_iter().zip(picks.into_iter().map(Some).chain(std::iter::repeat(None)))
            .map(|(mut part, pick)| {
                if let Some(value) = pick.and_then(|index| values.get(index)) {
                    part.extend_from_slice(value.as_bytes());
                }
                part
            })
            .collect();
        let text = pieces.concat();
        let redactor = Redactor::new(values.iter().enumerate().map(|(index, value)| (format!("n{index}"), value)));
        let whole = redactor.redact_bytes(&text);
        let expected = oracle(&values, &text);
        prop_assert_eq!((whole.0.to_vec(), whole.1), expected.clone());
        for cut in [1, 3, usize::MAX] {
            let chunks = pieces.iter().flat_map(|piece| piece.chunks(cut));
            prop_assert_eq!(streamed(&redactor, chunks), expected.clone());
        }
        for value in values.iter().filter(|value| value.len() >= 6) {
            prop_assert!(!expected.0.windows(value.len()).any(|window| window == value.as_bytes()));
        }
    }

    #[test]
    fn colors_within_a_value_do_not_hide_it_however_the_text_is_cut(
        parts in prop::collection::vec(prop::sample::select(vec![
            "A", "B", "AB", "ABAABB", "c", "\n", "\u{1b}", "[", "\u{1b}[31m", "\u{1b}[K", "\u{9b}1m", "\\", "u001b", "\\u001b[0m",
            "\u{1b}]8;;x\u{7}", "\u{1b}]0;A",
        ]), 0..24),
    ) {
        let text = parts.concat();
        let redactor = Redactor::new([("n", "ABAABB"), ("m", "BBABAB")]);
        let (whole, count) = redactor.redact_bytes(text.as_bytes());
        for cut in [1, 3, 7] {
            prop_assert_eq!(streamed(&redactor, text.as_bytes().chunks(cut)), (whole.to_vec(), count));
        }
        let (again, left) = redactor.redact_bytes(&whole);
        prop_assert_eq!((again.to_vec(), left), (whole.to_vec(), 0));
    }
}
