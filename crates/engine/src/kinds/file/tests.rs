//! Files of kinds as people write them.

use super::{super::Severity, *};

#[test]
fn what_a_file_says_about_sessions_stands_also_where_it_is_what_is_usual() {
    let context = "context: {sessions: idle, idle_minutes: 30, summaries: 5}";
    let (kind, findings) = parse("k.md", &format!("---\nname: k\ndescription: D.\n{context}\n---\nDo."));
    let mut kinds = super::super::Kinds::builtin().with(kind.unwrap_or_else(|| panic!("{findings:?}")));
    kinds.set_sessions(45, 3);
    let of = |name: &str| {
        let kind = kinds.get(name).expect("it was added");
        (kind.context.idle_minutes(), kind.context.summaries())
    };
    assert_eq!((of("k"), of("goal")), ((30, 5), (45, 3)));
}

fn only(text: &str) -> Finding {
    let (kind, findings) = parse("k.md", text);
    assert_eq!(kind, None, "{findings:?}");
    assert_eq!(findings.len(), 1, "{findings:?}");
    findings[0].clone()
}

/// An invalid schema is a mistake of its file, with its line.
#[test]
fn an_invalid_output_schema_is_a_mistake_with_its_line() {
    let found = only("---\nname: k\noutput_schema: {type: 5, required: yes}\n---\nDo.");
    assert_eq!((found.line, found.severity), (3, Severity::Mistake));
    assert!(found.text.starts_with("output_schema: the schema is not valid: "), "{found}");
}

#[test]
fn the_old_key_checks_is_refused_with_its_new_name() {
    let found = only("---\nname: k\nchecks: { output: [polite] }\n---\nHello.\n");
    assert!(found.text.starts_with("`checks` is called `guardrails` now"), "{found}");
}

#[test]
fn a_yaml_error_is_reported_in_plain_words() {
    let told = only("---\nname: k\ntools: [nope\n---\nHello.\n");
    assert_eq!(told.to_string(), "k.md:3: error: unclosed bracket '['");
    let told = only("---\nname: k\nguardrails: { output: polite }\n---\nHello.\n");
    assert_eq!(told.to_string(), "k.md:3: error: expected a list, such as `[one, two]`");
}

#[test]
fn a_file_written_for_a_coding_agent_loads_unchanged() {
    let text = "---\nname: code-reviewer\ndescription: Reviews code. Use after edits.\n\
                tools: Read, Grep, Glob, Bash, WebFetch\nmodel: sonnet\ncolor: blue\n---\n\nYou review code.\n";
    let (kind, findings) = parse("code-reviewer.md", text);
    let kind = kind.expect("loads");
    assert_eq!(kind.tools.as_deref(), Some(&["read_file", "list_files", "fetch_url"].map(String::from)[..]));
    assert_eq!((kind.model, kind.instructions.as_str()), (None, "You review code."));
    assert!(findings.iter().all(|finding| finding.severity == Severity::Remark));
    assert_eq!(findings.len(), 4, "{findings:?}");
}

#[test]
fn the_docs_list_exactly_the_keys_of_a_kind() {
    let page = include_str!("../../../../../docs/kinds.md");
    // Built-in tools are no keys.
    let sections = page.split("\n## ").filter(|section| !section.starts_with("tools\n"));
    let lines = sections.flat_map(str::lines);
    let rows = lines.filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut documented: Vec<String> = rows.map(str::to_owned).collect();
    let mut keys = KEYS.map(str::to_owned).to_vec();
    for (section, wrong) in [
        ("effects", "{ nothing: 1 }"),
        ("approval", "[{ nothing: 1 }]"),
        ("in_doubt", "{ nothing: 1 }"),
        ("guardrails", "{ nothing: 1 }"),
        ("context", "{ nothing: 1 }"),
        ("limits", "{ nothing: 1 }"),
    ] {
        // The error for a mistyped key lists the keys of its section.
        let told = only(&format!("---\nname: a\n{section}: {wrong}\n---\nDo.")).text;
        let (_, there_are) = told.split_once("expected").expect("the keys there are");
        let words = there_are.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let words = words.filter(|word| !["", "one", "of", "or"].contains(word));
        keys.extend(words.map(|key| format!("{section}.{key}")));
    }
    keys.sort();
    documented.sort();
    assert_eq!(documented, keys);
}

#[test]
fn a_limit_that_lets_no_run_answer_is_a_mistake() {
    for (limit, why) in [
        ("max_steps: 0", "limits.max_steps must be 1 or more"),
        ("max_seconds: 0", "limits.max_seconds must be 1 or more"),
        ("max_tokens: 0", "limits.max_tokens must be 1 or more"),
        ("max_answer_tokens: 0", "limits.max_answer_tokens must be 1 or more"),
        ("max_cost: $0", "limits.max_cost must be more than $0; without it, there is no limit"),
        ("max_cost: 0", "limits.max_cost must be more than $0; without it, there is no limit"),
        ("min_kept_percent: 101", "limits.min_kept_percent must be 0 to 100: a share of a document"),
    ] {
        let found = only(&format!("---\nname: a\nlimits: {{{limit}}}\n---\nDo."));
        assert_eq!((found.line, &*found.text), (3, why), "{limit}");
    }
    // A 0 that means something: no limit, no agents below, a budget of what people grant.
    let means = "max_same_tool: 0, max_repeats: 0, max_history: 0, max_depth: 0, max_children: 0, max_tree_cost: $0, \
                 max_tree_tokens: 0";
    let (kind, findings) = parse("a.md", &format!("---\nname: a\nlimits: {{{means}}}\n---\nDo."));
    assert!(kind.is_some() && findings.is_empty(), "{findings:?}");
}

#[test]
fn every_mistake_names_its_line() {
    assert_eq!(only("You are helpful.").line, 1);
    assert!(only("---\nname: a\n").text.contains("no end"));
    assert_eq!(only("---\nname: a\nconversational: maybe\n---\nDo.").line, 3);
    assert_eq!(only("---\ndescription: x\nname: a/b\n---\nDo.").line, 3);
    assert_eq!(only("---\nname: a\n---\n\n").line, 4);
    assert!(only("---\nname: a\nlimits:\n  max_stepz: 3\n---\nDo.").text.contains("max_stepz"));
    assert!(only("---\nname: a\ncontext: {compact_at: 2}\n---\nDo.").text.contains("0.95"));
    assert!(only("---\nname: a\ncontext: {sections: [tme]}\n---\nDo.").text.contains("learnings"));
    assert_eq!(only("---\nname: a\nfallback: [gpt]\n---\nDo.").line, 3);
    let rule = |rule: &str| only(&format!("---\nname: a\napproval:\n  - {rule}\n---\nDo."));
    assert_eq!(rule("{ tools: pay, when: amount > much }").line, 3);
    assert!(rule("{ tools: pay, when: amount > much }").text.contains("`much` is no number"));
    assert!(rule("{ when: amount > 1 }").text.contains("says which calls wait"));
    assert!(rule("{ effect: dangerous }").text.contains("pure, idempotent, unsafe"));
    assert!(rule("{ tools: pay, otherwise: approve }").text.contains("answer_seconds"));
    assert!(rule("{ tools: pay, answer_seconds: 1, otherwise: retry }").text.contains("not `retry`"));
    assert!(rule("{ tool: pay }").text.contains("tool"));
    assert!(only("---\nname: a\nin_doubt: { otherwise: approve }\n---\nDo.").text.contains("give_up"));
    assert!(only("---\nname: a\neffects: { safe: pay }\n---\nDo.").text.contains("safe"));
    let trigger =
        |name: &str| only(&format!("---\nname: a\ntriggers: {{{name:?}: {{text: Look.}}}}\n---\nDo.")).text;
    for name in ["", " ", "a\tb", &"x".repeat(201)] {
        assert!(trigger(name).contains("is no name for a trigger"), "{name:?}");
    }
    assert!(trigger(" look").contains("blanks around its name"));
}
