//! Errors in descriptions are reported with their place, and no description does harm.

use expect_test::{Expect, expect};
use unstuck_workers::Description;

/// Reads descriptions and returns their errors.
fn complaints(text: &str) -> String {
    match unstuck_workers::read("workers.yaml", text) {
        Ok(_) => String::new(),
        Err(complaints) => complaints.iter().map(|complaint| format!("{complaint}\n")).collect(),
    }
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&complaints(text));
}

/// A description with these lines at its end.
fn with(lines: &str) -> String {
    format!("workers:\n  mine:\n    program: mine\n    stream: jsonl\n{lines}")
}

const DONE: &str = "    rules:\n      - when: { /type: end }\n        done: true\n";

#[test]
fn built_in_descriptions_can_be_recorded_and_are_the_same_again() {
    let mut count = 0;
    for client in unstuck_workers::all() {
        let json = serde_json::to_string(&*client).unwrap();
        assert_eq!(serde_json::from_str::<Description>(&json).unwrap(), *client);
        assert!(json.len() < 16 * 1024, "{} takes {} bytes in a log", client.name, json.len());
        for grant in [&client.launch.read, &client.launch.edit, &client.launch.all] {
            assert!(!grant.words.is_empty(), "{} does not say what it may do", client.name);
        }
        assert!(!client.login.is_empty() && !client.credit.is_empty() && !client.stop.is_empty());
        count += 1;
    }
    assert_eq!(count, unstuck_workers::names().count());
    assert_eq!(
        unstuck_workers::find("claude").map(|client| client.title.clone()).as_deref(),
        Some("Claude Code")
    );
    assert_eq!(unstuck_workers::find("clade"), None);
}

#[test]
fn a_description_may_be_like_a_built_in_one() {
    let text = "workers:\n  mine:\n    like: claude\n    program: ./claude-wrapper\n    launch:\n      env: { KEY: value }\n";
    let read = unstuck_workers::read("workers.yaml", text).unwrap();
    let (mine, claude) = (&read["mine"], unstuck_workers::find("claude").unwrap());
    assert_eq!((mine.name.as_str(), mine.program.as_str()), ("mine", "./claude-wrapper"));
    assert_eq!((&mine.rules, &mine.launch.args), (&claude.rules, &claude.launch.args));
    assert_eq!(mine.launch.env.len(), 1, "a key that is there replaces all of the other");
}

#[test]
fn errors_are_reported_with_their_place() {
    check(
        "",
        expect![[r#"
        workers.yaml: holds nothing
    "#]],
    );
    check(
        "workers: []",
        expect![[r#"
        workers.yaml:1:10: workers: found a list; expected a map of names
    "#]],
    );
    check(
        "workers:\n  mine:\n    stream: jsonl\n",
        expect![[r#"
        workers.yaml:2:3: workers.mine.program: missing; say it, or name a built-in worker with like
        workers.yaml:2:3: workers.mine.rules: no rule says when a call is done; one rule has to say done: true, or no call can ever succeed
    "#]],
    );
    check(
        "workers:\n  mine: { like: clade }\n",
        expect![[r#"
            workers.yaml:2:17: workers.mine.like: no built-in worker; did you mean "claude"?
        "#]],
    );
    check(&with(DONE), expect![[""]]);
    check(
        &with("    rules:\n      - when: { /type: end }\n        text: /text\n"),
        expect![[r#"
        workers.yaml:5:5: workers.mine.rules: no rule says when a call is done; one rule has to say done: true, or no call can ever succeed
    "#]],
    );
    check(
        &with(&format!("    launch: {{ args: [--model, \"${{modle}}\"], model: [-m] }}\n{DONE}")),
        expect![[r#"
        workers.yaml:5:31: workers.mine.launch.args[1]: unknown placeholder ${modle}; did you mean ${model}?
        workers.yaml:5:51: workers.mine.launch.model: does not say what is asked for; expected an argument with ${model}
    "#]],
    );
    check(
        &with(&format!("    launch: {{ prompt: file }}\n{DONE}")),
        expect![[r#"
        workers.yaml:5:23: workers.mine.launch.prompt: the prompt is not passed on; expected an argument with ${prompt_file} in args or trailing_args
    "#]],
    );
    check(
        &with(&format!("    launch: {{ settings: x, env: {{ A: \"${{setings_file}}\" }} }}\n{DONE}")),
        expect![[r#"
            workers.yaml:5:25: workers.mine.launch.settings: the settings are not passed on; expected ${settings_file} in env, args or trailing_args
            workers.yaml:5:38: workers.mine.launch.env.A: unknown placeholder ${setings_file}; did you mean ${settings_file}?
        "#]],
    );
    check(
        &with(
            "    rules:\n      - when: { type: end, /a~2b: 1, /c: { re: '(' }, /d: { what: 1 } }\n        done: true\n",
        ),
        expect![[r#"
            workers.yaml:6:17: workers.mine.rules[0].when.type: not a place in a line; expected a JSON pointer such as /type, or line for the line itself
            workers.yaml:6:28: workers.mine.rules[0].when."/a~2b": not a place in a line; expected a JSON pointer such as /type, or line for the line itself
            workers.yaml:6:48: workers.mine.rules[0].when."/c".re: not a regular expression: unclosed group
            workers.yaml:6:61: workers.mine.rules[0].when."/d".what: unknown key; allowed: not, re, not_re
        "#]],
    );
    check(
        &with(
            "    rules:\n      - when: { /type: end }\n        done: true\n        text: text\n        model: 5\n        file: $1\n        item: { /a: 1 }\n",
        ),
        expect![[r#"
            workers.yaml:8:15: workers.mine.rules[0].text: not a place in a line, no sum, no group and no text; expected a place such as /usage/input, line:/place, sum:/places/*/of, $1 or =text
            workers.yaml:9:16: workers.mine.rules[0].model: found the number 5; expected a place such as /usage/input, line:/place, sum:/places/*/of, $1 or =text
            workers.yaml:10:15: workers.mine.rules[0].file: no condition has an expression; add one with re
            workers.yaml:11:9: workers.mine.rules[0].item: there is no each; say where the items are
        "#]],
    );
    check(
        &with(&format!("    exit_codes: {{ 0: config, 53: limit, x: auth }}\n    color: red\n{DONE}")),
        expect![[r#"
        workers.yaml:5:19: workers.mine.exit_codes.0: not an exit code; expected 1 to 255
        workers.yaml:5:34: workers.mine.exit_codes.53: found "limit"; expected one of rate_limit, overloaded, server, network, auth, credit, context_overflow, bad_request, turn_limit, budget_limit, no_session, config, crashed, no_end, empty_answer, interrupted, unknown
        workers.yaml:5:41: workers.mine.exit_codes.x: not an exit code; expected 1 to 255
        workers.yaml:6:5: workers.mine.color: unknown key; the keys are listed in docs/workers.md
    "#]],
    );
    check(
        &with(&format!("    stderr: [{{ re: 'a{{1000}}{{1000}}', trouble: auth }}]\n{DONE}")),
        expect![[r#"
        workers.yaml:5:20: workers.mine.stderr[0].re: not a regular expression: Compiled regex exceeds size limit of 262144 bytes.
    "#]],
    );
    check(
        &with(&format!("    ignore_prefixes: [\"\"]\n{DONE}")),
        expect![[r#"
        workers.yaml:5:23: workers.mine.ignore_prefixes[0]: empty; expected text that is not empty
    "#]],
    );
}

#[test]
fn each_old_key_reads_like_the_current_one() {
    let old = with(
        "    launch:
      args: [work]
      turns: [--turns, '${turns}']
      usd: [--usd, '${usd}']
      preset: [--id, '${session}']
      read: { words: may read }
      edit: { words: may edit }
      all: { words: may do anything }
      run: { words: may run }
      last: ['-']
    ignore: [tick]
    exits: { 7: turn_limit }
    troubles: [{ re: quota, trouble: rate_limit }]
    rules:
      - { when: { /type: start }, begin: true }
      - { when: { /type: refused }, denied: true }
      - { when: { /type: end }, done: true, cost: { scope: call, usd: /usd } }
",
    );
    let mut new = old.clone();
    for (name, current) in [
        (" turns:", " max_turns:"),
        (" usd: [", " max_cost: ["),
        (" preset:", " new_session:"),
        (" words:", " description:"),
        (" all:", " unrestricted:"),
        (" last:", " trailing_args:"),
        (" ignore:", " ignore_prefixes:"),
        (" exits:", " exit_codes:"),
        (" troubles:", " error_patterns:"),
        (" begin:", " restart:"),
        (" denied:", " permission_denied:"),
    ] {
        new = new.replace(name, current);
        assert_eq!(complaints(&new), "", "{current}");
        let read = |text: &str| unstuck_workers::read("workers.yaml", text).unwrap();
        assert_eq!(read(&new), read(&old), "{current}");
    }
    assert!(!unstuck_workers::read("workers.yaml", &new).unwrap()["mine"].launch.all.words.is_empty());
}

#[test]
fn a_description_without_bounds_is_refused() {
    let many = |lines: &str| with(&format!("    rules:\n{}", lines.repeat(200)));
    assert!(
        complaints(&many("      - { when: { /type: end }, done: true }\n"))
            .contains("200 of them; at most 100")
    );
    let long = format!("    stderr: [{{ re: '{}', trouble: auth }}]\n{DONE}", "a".repeat(2000));
    assert!(complaints(&with(&long)).contains("longer than 1000 bytes"));
    let deep = format!("/{}", "a/".repeat(40));
    assert!(
        complaints(&with(&format!("    rules: [{{ when: {{ {deep}: 1 }}, done: true }}]\n")))
            .contains("not a place")
    );
    assert!(complaints(&"a".repeat(2 << 20)).contains("larger than"));
}

#[test]
fn the_page_lists_every_built_in_worker() {
    let page = include_str!("../../../../docs/workers.md");
    for client in unstuck_workers::all() {
        assert!(page.contains(&format!("| `{}` | {} |", client.name, client.title)), "{}", client.name);
    }
}
