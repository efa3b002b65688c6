//! Rules for Rust files: their length, their first line, what they must not contain.

use crate::{
    finding::{Finding, Report},
    modules::{Modules, Reach},
    repo::Repo,
    source::{Line, Source},
};

/// The maximum number of lines of a file outside tests. A longer file contains two things.
const MOST_LINES: usize = 400;

/// What code outside tests must not contain, and the remedy.
const FORBIDDEN: &[(&str, &str)] = &[
    (".unwrap()", "return the error, or match on what is missing"),
    (".expect(", "return the error with a message that names the cause"),
    ("todo!", "write it, or leave it out"),
    ("unimplemented!", "write it, or leave it out"),
    ("dbg!", "use tracing, or remove it"),
];

/// Checks every Rust file.
pub(crate) fn check(repo: &Repo, modules: &Modules<'_>, report: &mut Report) {
    let found = &mut report.findings;
    for (path, source, reach) in modules.iter() {
        if !repo.get(path).is_some_and(|text| text.starts_with("//!")) {
            found.push(Finding::new(path, 1, "does not open with `//!`", "say first what the file is for"));
        }
        if reach == Reach::Nothing {
            let what = "no module declares this file, so it is never compiled";
            found.push(Finding::new(
                path,
                1,
                what,
                "declare it with `mod` in the file above it, or delete it",
            ));
        }
        for line in source.lines().filter(|line| ignores(line.code)) {
            let remedy = "make it pass on every machine, or delete it";
            found.push(Finding::new(path, line.number, "a test that does not run", remedy));
        }
        if reach == Reach::Test {
            continue;
        }
        let lines = source.lines().filter(|line| !line.test).count();
        if lines > MOST_LINES {
            let what = format!("{lines} lines that are not tests; the limit is {MOST_LINES}");
            found.push(Finding::new(path, MOST_LINES + 1, what, "split it: one file per thing"));
        }
        if path.starts_with("crates/") {
            found.extend(forbidden(path, source));
        }
    }
}

/// Whether a line prevents a test from running.
fn ignores(code: &str) -> bool {
    code.contains("#[ignore") || (code.contains("cfg_attr(") && code.contains(", ignore"))
}

fn forbidden(path: &str, source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    for (word, remedy) in FORBIDDEN {
        for (at, _) in source.code().match_indices(word) {
            let Line { number, test, .. } = source.line(at);
            let (before, after) = source.code().split_at(at);
            let starts_a_word =
                word.starts_with('.') || !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            // Other types have an `expect` too; on results and options it takes a message.
            let is_it = !word.ends_with('(') || takes_a_message(&after[word.len()..]);
            if !test && starts_a_word && is_it {
                found.push(Finding::new(path, number, format!("`{word}` outside tests"), *remedy));
            }
        }
    }
    found
}

/// Whether the first argument is a string literal or a `format!`.
fn takes_a_message(arguments: &str) -> bool {
    let argument = arguments.trim_start().trim_start_matches('&');
    ["\"", "r\"", "r#", "format!"].iter().any(|start| argument.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::found as found_by;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = [("crates/a/Cargo.toml", "")].iter().chain(files).copied().collect();
        found_by(|repo, report| check(repo, &Modules::of(repo), report), &files)
    }

    #[test]
    fn a_correct_file_has_no_findings() {
        let text = "//! Says what it is for, `.unwrap()` and all.\n\n/// Never `todo!()`.\npub fn a() -> &'static str {\n    \
                    \"dbg!\"\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {\n        super::a().parse::<u8>()\
                    .unwrap();\n    }\n}\n";
        assert_eq!(found(&[("crates/a/src/lib.rs", text)]), Vec::<String>::new());
    }

    #[test]
    fn a_file_must_open_with_a_doc_comment() {
        let found =
            found(&[("crates/a/src/lib.rs", "// a\n//! b\n"), ("crates/a/tests/b.rs", "fn c() {}\n")]);
        assert_eq!(
            found,
            [
                "crates/a/src/lib.rs:1: does not open with `//!`",
                "crates/a/tests/b.rs:1: does not open with `//!`"
            ]
        );
    }

    #[test]
    fn a_file_with_more_than_400_lines_outside_tests_is_found() {
        let full = format!("//! Full.\n{}", "fn a() {}\n".repeat(399));
        let tests = "#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n".to_owned();
        assert_eq!(found(&[("crates/a/src/lib.rs", &(full.clone() + &tests))]), Vec::<String>::new());
        let over = full + "fn a() {}\n";
        assert_eq!(
            found(&[("crates/a/src/lib.rs", &over)]),
            ["crates/a/src/lib.rs:401: 401 lines that are not tests; the limit is 400"]
        );
        for exempt in ["crates/a/tests/b.rs", "crates/a/benches/b.rs", "crates/a/examples/b.rs"] {
            assert_eq!(found(&[(exempt, &over)]), Vec::<String>::new());
        }
    }

    #[test]
    fn panicking_code_is_found_outside_tests() {
        let text = "//! A.\nfn a() {\n    b.unwrap();\n    c.expect(\"d\");\n    e\n        .expect(\n            &format!(\"f\"),\n        );\n    \
                    todo!();\n    unimplemented!();\n    dbg!(g);\n    commit.expect(Expect::Agent(h));\n    not_dbg!();\n}\n";
        let lines: Vec<String> = [
            "3: `.unwrap()`",
            "4: `.expect(`",
            "6: `.expect(`",
            "9: `todo!`",
            "10: `unimplemented!`",
            "11: `dbg!`",
        ]
        .iter()
        .map(|line| format!("crates/a/src/lib.rs:{line} outside tests"))
        .collect();
        let mut found = found(&[("crates/a/src/lib.rs", text)]);
        found.sort_by_key(|line| lines.iter().position(|expected| expected == line));
        assert_eq!(found, lines);
    }

    #[test]
    fn a_test_that_does_not_run_is_found() {
        let text = "//! A.\n#[test]\n#[ignore = \"slow\"]\nfn a() {}\n#[test]\n#[cfg_attr(not(linux), ignore)]\nfn b() {}\n";
        assert_eq!(
            found(&[("crates/a/tests/b.rs", text)]),
            [
                "crates/a/tests/b.rs:3: a test that does not run",
                "crates/a/tests/b.rs:6: a test that does not run"
            ]
        );
    }

    #[test]
    fn a_file_that_no_module_declares_is_found() {
        assert_eq!(
            found(&[("crates/a/src/lib.rs", "//! A.\n"), ("crates/a/src/b.rs", "//! B.\n")]),
            ["crates/a/src/b.rs:1: no module declares this file, so it is never compiled"]
        );
    }
}
