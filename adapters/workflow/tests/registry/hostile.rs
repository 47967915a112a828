//! Hostile or badly broken registries, prompts and schemas.
//!
//! Each is refused with a short message in a limited time, and no file outside their directories is read.

use std::time::{Duration, Instant};

use super::*;

/// Maximum time to refuse a registry.
const SOON: Duration = Duration::from_secs(20);

/// Checks what is said about the example with these changes.
#[track_caller]
fn changed(changes: &[(&str, Value)], expected: &Expect) {
    check(&with(example(), changes), PROMPTS, expected);
}

/// Checks what is said about a registry of these bytes.
#[track_caller]
fn bytes(text: &[u8], expected: &Expect) {
    let folder = folder(&[(REGISTRY, "")]);
    fs::write(folder.path().join(REGISTRY), text).expect("the folder is ours");
    let begun = Instant::now();
    expected.assert_eq(&load(&folder).1.replace(REGISTRY, "R"));
    assert!(begun.elapsed() < SOON);
}

/// Checks the complaints about the example if its answer has this schema, written to `schemas/a.json`.
#[track_caller]
fn schema(schema: &str, expected: &Expect) {
    let step =
        json!({"c2": "initial", "c3": "issue", "outputSchemaRef": {"file": "a.json", "schema": "work"}});
    let file = format!(r#"{{"$defs": {{"work": {schema}}}}}"#);
    let prompts = [PROMPTS, &[("schemas/a.json", file.as_str())]].concat();
    let folder = agent(&with(example(), &[("/steps/initial.issue", step)]), &prompts);
    fs::write(folder.path().join("secret.json"), r#"{"type": "object"}"#).expect("the folder is ours");
    let begun = Instant::now();
    expected.assert_eq(&load(&folder).1.replace(REGISTRY, "R").replace(".agent/fixer/", ""));
    assert!(begun.elapsed() < SOON);
}

#[test]
fn no_part_of_an_address_leads_out() {
    changed(
        &[
            ("/agentId", json!("../..")),
            ("/c1", json!("..")),
            ("/pathTemplate", json!("{c1}/../../{c2}/{c3}/f_{edition}_{adaptation}.md")),
            ("/pathTemplateNoAdaptation", json!("/etc/{c1}")),
            ("/userPromptsBase", json!("../prompts")),
            ("/schemasBase", json!("C:\\schemas")),
            ("/completionPatterns/dirty/edition", json!("../failed")),
            ("/completionPatterns/dirty/adaptation", json!("a/../../b")),
            ("/completionPatterns/red/adaptationChain", json!(["..", "a..b", "a\\b"])),
            ("/steps/initial.issue/c2", json!("..")),
            ("/steps/initial.issue/c3", json!("/etc")),
            ("/steps/initial.issue/edition", json!("..\\..")),
            ("/steps/initial.issue/adaptation", json!(".git")),
            ("/steps/continuation.issue/address", json!({"c2": "../continuation", "c3": "."})),
        ],
        &expect![[r#"
            R:2:14: agentId: found "../..": the character '/'; expected a name without slashes
            R:3:9: c1: found "..": ".." names a folder of its own; expected a name without slashes
            R:6:21: completionPatterns.dirty.adaptation: found "a/../../b": the character '/'; expected a name without slashes
            R:8:18: completionPatterns.dirty.edition: found "../failed": the character '/'; expected a name without slashes
            R:24:9: completionPatterns.red.adaptationChain[0]: found "..": ".." names a folder of its own; an element has letters, digits, ".", "_" and "-"
            R:25:9: completionPatterns.red.adaptationChain[1]: found "a..b": ".." leads out; an element has letters, digits, ".", "_" and "-"
            R:26:9: completionPatterns.red.adaptationChain[2]: found "a\b": the character '\\'; an element has letters, digits, ".", "_" and "-"
            R:62:19: pathTemplate: found "{c1}/../../{c2}/{c3}/f_{edition}_{adaptation}.md": ".." leads out; expected a relative path without ".."
            R:63:31: pathTemplateNoAdaptation: found "/etc/{c1}": an absolute path; expected a relative path without ".."
            R:64:18: schemasBase: found "C:\schemas": an absolute path; expected a relative path without ".."
            R:69:9: steps."continuation.issue".adaptationChain[1]: there is no prompt "../../../../continuation/./f_default_narrow.md"; write it, or take the element out
            R:72:15: steps."continuation.issue".address.c2: found "../continuation": the character '/'; expected a name without slashes
            R:72:15: steps."continuation.issue".address.c2: says something else than c2; both mean the same: keep one of them
            R:73:15: steps."continuation.issue".address.c3: found ".": "." names a folder of its own; expected a name without slashes
            R:73:15: steps."continuation.issue".address.c3: says something else than c3; both mean the same: keep one of them
            R:79:21: steps."initial.issue".adaptation: found ".git": it is the repository itself; expected a name without slashes
            R:80:13: steps."initial.issue".c2: found "..": ".." names a folder of its own; expected a name without slashes
            R:81:13: steps."initial.issue".c3: found "/etc": the character '/'; expected a name without slashes
            R:82:18: steps."initial.issue".edition: found "..\..": the character '\\'; expected a name without slashes
            R:88:22: userPromptsBase: found "../prompts": ".." leads out; expected a relative path without ".."
        "#]],
    );
}

#[test]
fn names_have_no_invisible_characters() {
    changed(
        &[
            ("/agentId", json!("a\u{0}b")),
            ("/pathTemplate", json!("{c1}\u{0}")),
            ("/completionPatterns/dirty/edition", json!("f\u{0}")),
            ("/steps/initial.issue/c3", json!("issue\u{0}.md")),
            ("/steps/initial.issue/c2", json!("line\nbreak")),
            ("/steps/initial.issue/uvVariables", json!(["a\u{0}"])),
            ("/validators/note/path", json!("CHANGELOG\u{0}.md")),
            ("/validators/git-clean/command", json!("git\u{0}status")),
        ],
        &expect![[r#"
            R:2:14: agentId: found "a�b": the character '\0'; expected a name without slashes
            R:7:18: completionPatterns.dirty.edition: found "f�": the character '\0'; expected a name without slashes
            R:56:19: pathTemplate: found "{c1}�": the character '\0'; expected a relative path without ".."
            R:61:9: steps."continuation.issue".adaptationChain[1]: there is no prompt "steps�"; write it, or take the element out
            R:67:13: steps."initial.issue".c2: found "line\nbreak": the character '\n'; expected a name without slashes
            R:68:13: steps."initial.issue".c3: found "issue�.md": the character '\0'; expected a name without slashes
            R:76:18: validators.git-clean.command: found "git�status": the character '\0'; take it out: no path and no command can hold one
            R:86:15: validators.note.path: found "CHANGELOG�.md": the character '\0'; take it out: no path and no command can hold one
        "#]],
    );
}

#[test]
fn the_configuration_of_climpt_leads_nowhere_else() {
    let app = ".agent/climpt/config/fixer-steps-app.yml";
    let text = example().to_string();
    for (config, expected) in [
        (
            "working_dir: ..\napp_prompt: {base_dir: p}\n",
            "1:14: working_dir: found \"..\": \"..\" leads out; expected a folder of the workspace",
        ),
        (
            "app_prompt: {base_dir: /etc}\n",
            "1:24: app_prompt.base_dir: found \"/etc\": an absolute path; expected a folder of the workspace",
        ),
    ] {
        let said = load(&folder(&[(REGISTRY, &text), (app, config)])).1;
        assert!(said.contains(&format!("{app}:{expected}\n")), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_prompts_is_not_followed() {
    use std::os::unix::fs::symlink;

    let agent = agent(&example(), &PROMPTS[1..]);
    let prompts = agent.path().join(".agent/fixer/prompts/steps");
    fs::write(agent.path().join("secret.md"), "A secret.\n").expect("the folder is ours");
    let link = prompts.join("initial/issue/f_default.md");
    fs::create_dir_all(link.parent().expect("it is in a folder")).expect("the folder is ours");
    symlink(agent.path().join("secret.md"), &link).expect("the folder is ours");
    fs::remove_file(prompts.join("retry/issue/f_failed_dirty.md")).expect("it was written");
    symlink("../../../../../../secret.md", prompts.join("retry/issue/f_failed_dirty.md"))
        .expect("the folder is ours");
    expect![[r#"
        .agent/fixer/prompts/steps/initial/issue/f_default.md: leads out of the folder of the prompts; keep the file itself there
        .agent/fixer/prompts/steps/retry/issue/f_failed_dirty.md: leads out of the folder of the prompts; keep the file itself there
    "#]].assert_eq(&load(&agent).1);

    // A link to another prompt is one, and so is a folder of prompts that lies elsewhere as a whole.
    fs::remove_file(&link).expect("it was written");
    symlink("../../continuation/issue/f_default.md", &link).expect("the folder is ours");
    fs::remove_file(prompts.join("retry/issue/f_failed_dirty.md")).expect("it was written");
    symlink("f_failed_red.md", prompts.join("retry/issue/f_failed_dirty.md")).expect("the folder is ours");
    fs::write(prompts.join("retry/issue/f_failed_red.md"), "Red.\n").expect("the folder is ours");
    fs::rename(agent.path().join(".agent/fixer/prompts"), agent.path().join("elsewhere"))
        .expect("the folder is ours");
    symlink("../../elsewhere", agent.path().join(".agent/fixer/prompts")).expect("the folder is ours");
    assert_eq!(load(&agent).1, "");
}

#[test]
fn a_reference_leads_nowhere_else() {
    for (reference, expected) in [
        (
            "http://127.0.0.1/x.json",
            expect![[r#"
            a.json:1:28: #/$defs/work/$ref: "http://127.0.0.1/x.json" is not read: there is no network for schemas; keep a copy in the folder of the schemas and refer to that
        "#]],
        ),
        (
            "https://example.com/x.json#/a",
            expect![[r#"
            a.json:1:28: #/$defs/work/$ref: "https://example.com/x.json#/a" is not read: there is no network for schemas; keep a copy in the folder of the schemas and refer to that
        "#]],
        ),
        (
            "file:///etc/passwd",
            expect![[r#"
            a.json:1:28: #/$defs/work/$ref: "file:///etc/passwd" is not read: there is no network for schemas; keep a copy in the folder of the schemas and refer to that
        "#]],
        ),
        (
            "../../../secret.json",
            expect![[r#"
            a.json:1:28: #/$defs/work/$ref: ../../../secret.json is outside the folder of the schemas; keep schemas inside their folder
        "#]],
        ),
        (
            "..%2f..%2f..%2fsecret.json",
            expect![[r#"
            a.json:1:28: #/$defs/work/$ref: ../../../secret.json is outside the folder of the schemas; keep schemas inside their folder
        "#]],
        ),
        (
            "/etc/passwd",
            expect![[r#"
            a.json:1:28: #/$defs/work/$ref: /etc/passwd is outside the folder of the schemas; keep schemas inside their folder
        "#]],
        ),
        (
            "a.json\u{0}.md",
            expect![[r#"
            a.json:1:28: #/$defs/work/$ref: cannot read a.json�.md: file name contained an unexpected NUL byte; a path begins at the folder of the file that names it
        "#]],
        ),
        (
            "a.json#/$defs/work",
            expect![[r#"
            a.json:1:28: #/$defs/work/$ref: this definition contains itself: a.json#/$defs/work -> a.json#/$defs/work; an answer has an end: write out as many levels as you need
        "#]],
        ),
    ] {
        schema(&json!({ "$ref": reference }).to_string(), &expected);
    }
}

#[test]
fn endless_nesting_is_refused() {
    let lists = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let maps = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    bytes(
        lists(100_000).as_bytes(),
        &expect![[r#"
        R:1:101: not valid JSON: nested deeper than 100 levels
    "#]],
    );
    bytes(
        maps(100_000).as_bytes(),
        &expect![[r#"
        R:1:501: not valid JSON: nested deeper than 100 levels
    "#]],
    );
    bytes(
        "[".repeat(1024 * 1024).as_bytes(),
        &expect![[r#"
        R:1:101: not valid JSON: nested deeper than 100 levels
    "#]],
    );
    schema(
        &lists(100_000),
        &expect![[r#"
        a.json:1:3090: nested deeper than 3072 levels
        a.json:1:20: #/$defs/work: a schema is an object, true or false
    "#]],
    );
    schema(
        &format!(r#"{{"not": {}}}"#, maps(100_000)),
        &expect![[r#"
        a.json:1:15373: nested deeper than 3072 levels
        a.json:1:33: #/$defs/work/not/a: this value is nested deeper than 128 levels
    "#]],
    );
    schema(
        &format!(r#"{{"enum": {}}}"#, lists(500)),
        &expect![[r#"
        a.json:1:29: #/$defs/work/enum: this value is nested deeper than 128 levels
    "#]],
    );
}

#[test]
fn a_schema_is_as_large_as_its_answer_needs() {
    let parts: Vec<Value> = (0..1000).map(|n| json!({"required": [format!("p{n}")]})).collect();
    schema(
        &json!({"type": "object", "allOf": parts}).to_string(),
        &expect![[r#"
        warning: R:68:26: steps."initial.issue".outputSchemaRef: a.json#/$defs/work: the answer requires p0, p1, p10, p100, p101, p102, p103, p104, p105, p106, which its properties do not name: they may be anything
    "#]],
    );
    let nested = format!("{}{{}}{}", r#"{"allOf":["#.repeat(1000), "]}".repeat(1000));
    schema(&format!(r#"{{"type": "object", "allOf": [{nested}]}}"#), &expect![[""]]);
    let next = |n: u32| json!({"$ref": format!("#/$defs/work/$defs/d{}", n + 1)});
    let doubled: serde_json::Map<String, Value> = (0..64)
        .map(|n| (format!("d{n}"), json!({"allOf": [next(n), next(n)]})))
        .chain([("d64".to_owned(), json!({"type": "object"}))])
        .collect();
    schema(
        &json!({"$ref": "#/$defs/work/$defs/d0", "$defs": doubled}).to_string(),
        &expect![[r#"
        a.json:1:4961: #/$defs/work/$defs/d60/allOf/1: with its references put in, the schema grows beyond 8388608 bytes; use large definitions less often
    "#]],
    );
}

#[test]
fn invalid_utf8_and_oversized_text_are_refused() {
    let of_length = |length| format!("{{\"agentId\": \"{}\"}}", "a".repeat(length));
    bytes(
        b"{\"agentId\": \"a\xff\"}",
        &expect![[r#"
        R:1:15: not UTF-8; save the file as UTF-8
    "#]],
    );
    bytes(
        b"\xff\xfe{\0",
        &expect![[r#"
        R:1:1: not UTF-8; save the file as UTF-8
    "#]],
    );
    bytes(
        b"{\"agentId\": \"a\"}\0",
        &expect![[r#"
        R:1:17: not valid JSON: something behind the end of the value
    "#]],
    );
    bytes(
        br#"{"agentId": "a", "steps": {"x": {"c2": "a", "c2": "b"}, "x": {}}}"#,
        &expect![[r#"
        R:1:28: steps.x: c2 or c3 is missing; expected the address of the prompt: c2 and c3
        R:1:45: steps.x.c2: this key is there twice
        R:1:57: steps.x: this key is there twice
    "#]],
    );
    bytes(
        of_length(2 << 20).as_bytes(),
        &expect![[r#"
        R: larger than 1048576 bytes
    "#]],
    );
    bytes(
        of_length(1 << 19).as_bytes(),
        &expect![[r#"
        R:1:13: agentId: found "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...": it is longer than 200 bytes; expected a name without slashes
    "#]],
    );
}

#[test]
fn report_about_many_unknown_keys_has_a_limited_size() {
    let keys: Vec<String> = (0..20_000).map(|n| format!("\"k{n}\": {n}")).collect();
    let folder = folder(&[(REGISTRY, &format!("{{\"agentId\": \"a\", {}}}", keys.join(", ")))]);
    let begun = Instant::now();
    let said = load(&folder).1;
    assert!(said.len() < 256 * 1024 && begun.elapsed() < SOON, "{} bytes", said.len());
}

/// Checks what is said about the example with this prompt for failed tests.
#[track_caller]
fn template(text: &[u8], expected: &Expect) {
    let folder = agent(&example(), PROMPTS);
    let file = ".agent/fixer/prompts/steps/retry/issue/f_failed_red.md";
    fs::write(folder.path().join(file), text).expect("the folder is ours");
    let begun = Instant::now();
    expected.assert_eq(&load(&folder).1.replace(file, "T"));
    assert!(begun.elapsed() < SOON);
}

#[test]
fn a_template_is_refused_in_few_words() {
    template(
        "{{#each failedTests}}".repeat(10_000).as_bytes(),
        &expect![[r#"
        T:1:1051: blocks are nested deeper than 50 levels; use fewer
    "#]],
    );
    let closed = "{{#each failedTests}}".repeat(10_000) + &"{{/each}}".repeat(10_000);
    template(
        closed.as_bytes(),
        &expect![[r#"
        T:1:1051: blocks are nested deeper than 50 levels; use fewer
    "#]],
    );
    template(
        "{{a}}".repeat(2).as_bytes(),
        &expect![[r#"
        T:1:1: nothing supplies {{a}}; known are attempt, details, error, exitCode, failedTests, fingerprints, iteration, maxAttempts, pattern, reasons, relatedFiles, rootCause, severity, stage, stderr, stdout, suggestedAction, summary, validator
        T:1:6: nothing supplies {{a}}; known are attempt, details, error, exitCode, failedTests, fingerprints, iteration, maxAttempts, pattern, reasons, relatedFiles, rootCause, severity, stage, stderr, stdout, suggestedAction, summary, validator
    "#]],
    );
    template(
        "a".repeat(2 << 20).as_bytes(),
        &expect![[r#"
        T: larger than 1048576 bytes
    "#]],
    );
    template(
        b"Say \xff.",
        &expect![[r#"
        T:1:5: not UTF-8; save the file as UTF-8
    "#]],
    );
    template(
        b"---\nparams: &a [*a]\n---\nx",
        &expect![[r#"
        T:2:13: params[0]: an alias to a value that it is part of
    "#]],
    );
    template(("---\nparams: ".to_owned() + &"[".repeat(100_000)).as_bytes(), &expect![[""]]);
    template(
        ("---\nparams: ".to_owned() + &"[".repeat(10_000) + "\n---\nx").as_bytes(),
        &expect![[r#"
        T:2:264: not valid YAML: recursion limit exceeded
    "#]],
    );
}

#[test]
fn lists_in_lists_do_not_multiply_without_end() {
    let params = json!({"failedTests": vec![json!({"name": "t"}); 1000]});
    let registry = loaded(
        &example(),
        &[
            &PROMPTS[..5],
            &[
                (
                    "prompts/steps/retry/issue/f_failed_red.md",
                    &*("{{#each failedTests}}".repeat(4) + "{{this.name}}" + &"{{/each}}".repeat(4)),
                ),
                PROMPTS[6],
            ],
        ]
        .concat(),
    );
    let completion = registry.completion(&step_ref("issue")).expect("it is defined");
    let failed = FailedValidator {
        validator: "tests-pass",
        pattern: Some(&completion.conditions[1].validator.pattern),
        params: super::params(&params),
        occurrence: 1,
        ..FailedValidator::default()
    };
    let begun = Instant::now();
    let text = prompt(&[failed], &completion, None).text;
    assert!(text.len() < 4 << 20 && begun.elapsed() < SOON, "{} bytes", text.len());
}

#[test]
fn an_expression_that_grows_without_end_is_refused() {
    const BOMB: &str = "((((a{100}){100}){100}){100}){100}";
    let check = json!({"responseFormat": {"type": "text-pattern", "pattern": BOMB}});
    changed(
        &[
            ("/completionPatterns/red/semanticMatch", json!([format!("/{BOMB}/"), "/(?=a)/", "/(a)\\1/"])),
            ("/validators/git-clean/successWhen", json!(format!("matches:{BOMB}"))),
            ("/steps/initial.issue/check", check),
        ],
        &expect![[r#"
            R:28:9: completionPatterns.red.semanticMatch[0]: `((((a{100}){100}){100}){100}){100}` is no regular expression: Compiled regex exceeds size limit of 10485760 bytes.; correct it
            R:29:9: completionPatterns.red.semanticMatch[1]: `(?=a)` uses look-around, which regular expressions here do not have; write it without
            R:30:9: completionPatterns.red.semanticMatch[2]: `(a)\1` uses a back-reference, which regular expressions here do not have; write it without
            R:75:22: steps."initial.issue".check.responseFormat.pattern: `((((a{100}){100}){100}){100}){100}` is no regular expression: Compiled regex exceeds size limit of 10485760 bytes.; correct it
            R:91:22: validators.git-clean.successWhen: `((((a{100}){100}){100}){100}){100}` is no regular expression: Compiled regex exceeds size limit of 10485760 bytes.; correct it
        "#]],
    );
    schema(
        &json!({"type": "object", "properties": {"a": {"pattern": BOMB}}}).to_string(),
        &expect![[r#"
        a.json:1:50: #/$defs/work/properties/a/pattern: the pattern cannot be used: "((((a{100}){100}){100}){100}){100}" is not a "regex"; patterns are matched in linear time: no look-around, no back-references
    "#]],
    );
    let user = ".agent/climpt/config/fixer-steps-user.yml";
    let text = example().to_string();
    let rule = format!("params: {{two: {{layerType: {{pattern: '{BOMB}'}}}}}}\n");
    let said = load(&folder(&[(REGISTRY, &text), (user, &rule)])).1;
    expect![".agent/climpt/config/fixer-steps-user.yml:1:37: params.two.layerType.pattern: not a regular expression: Compiled regex exceeds size limit of 10485760 bytes.; expected a regular expression"].assert_eq(said.lines().find(|line| line.starts_with(user)).unwrap_or_default());
    let long = json!(format!("matches:{}", "(".repeat(50_000)));
    let said = load(&agent(&with(example(), &[("/validators/tests-pass/successWhen", long)]), PROMPTS)).1;
    assert!(said.contains("successWhen: `((((") && said.len() < 2000, "{} bytes", said.len());
}

/// The log holds the schema, and what it cannot give back must not be written.
#[test]
fn a_schema_that_no_log_gives_back_is_refused() {
    let step = json!({"c2": "initial", "c3": "issue", "outputSchemaRef": {"file": "a.json", "schema": "s"}});
    for (levels, taken) in [(60, true), (200, false), (900, false)] {
        let nested = r#"{"properties": {"a": "#.repeat(levels) + "true" + &"}}".repeat(levels);
        let file = format!(r#"{{"s": {{"type": "object", "properties": {{"a": {nested}}}}}}}"#);
        let prompts = [PROMPTS, &[("schemas/a.json", file.as_str())]].concat();
        let folder = agent(&with(example(), &[("/steps/initial.issue", step.clone())]), &prompts);
        let said = flow(&folder, OF_ISSUE).err().map(|error| error.to_string()).unwrap_or_default();
        let sentence = "could not be read back from the log of a run: recursion limit exceeded";
        assert_eq!(said.contains(sentence), !taken, "{levels}: {said}");
        assert_eq!(said.is_empty(), taken, "{levels}: {said}");
    }
}
