//! The rule for SECURITY.md: existing tests that run must show what it promises.

use crate::{
    finding::{Finding, Report},
    repo::Repo,
    spec,
};

const PATH: &str = "SECURITY.md";
/// The heading above the promises.
const PROMISES: &str = "## What is promised";

/// Checks every test and every file that the page names, and that each promise names at least one.
pub(crate) fn check(repo: &Repo, report: &mut Report) {
    let Some(text) = repo.get(PATH) else { return };
    let named = named(text);
    let (tests, files): (Vec<_>, Vec<_>) = named.iter().partition(|(_, name)| name.contains('#'));
    let problems = spec::problems(repo, tests.iter().map(|(_, test)| test.as_str()));
    let wrong = tests.iter().zip(problems).filter_map(|((line, test), problem)| Some((line, test, problem?)));
    let lost = files.iter().filter(|(_, file)| repo.get(file).is_none());
    let lost = lost.map(|(line, file)| (line, file, "there is no such file"));
    for (line, name, problem) in wrong.chain(lost) {
        let what = format!("names `{name}`: {problem}");
        report.findings.push(Finding::new(PATH, *line, what, "name the test that shows it"));
    }
    let promises = text.lines().zip(1..).skip_while(|(line, _)| *line != PROMISES).skip(1);
    let promises = promises.take_while(|(line, _)| !line.starts_with("## "));
    for (_, number) in promises.filter(|(line, _)| line.starts_with("- ")) {
        if !named.iter().any(|(line, _)| *line == number) {
            let remedy = "write the test, or promise nothing";
            report.findings.push(Finding::new(PATH, number, "a promise that no test shows", remedy));
        }
    }
}

/// The tests and files that a text names between backticks, with their lines. A test without a file
/// belongs to the file named last.
fn named(text: &str) -> Vec<(usize, String)> {
    let (mut named, mut file) = (Vec::new(), "");
    for (line, number) in text.lines().zip(1..) {
        // Every second part is between two backticks.
        for word in line.split('`').skip(1).step_by(2) {
            if let Some(test) = word.strip_prefix('#') {
                named.push((number, format!("{file}#{test}")));
            } else if word.starts_with("crates/") || word.starts_with("tests/") {
                file = word.split('#').next().unwrap_or_default();
                named.push((number, word.to_owned()));
            }
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::found as found_by;

    fn found(page: &str) -> Vec<String> {
        let tests = "#[test]\nfn holds() { a() }\n#[test]\nfn keeps() { b() }\n";
        found_by(check, &[(PATH, page), ("tests/Cargo.toml", ""), ("tests/tests/a.rs", tests)])
    }

    #[test]
    fn every_promise_must_name_a_file_or_test_that_exists() {
        let page = "# Security\n\n- `.env` is a file.\n\n## What is promised\n\n### Here\n\n\
                    - It holds: `tests/tests/a.rs#holds`, `#keeps`.\n- It stays: `tests/tests/a.rs`.\n\n\
                    ## What is not\n\n- That it is nice.\n";
        assert_eq!(found(page), [""; 0]);
        assert_eq!(
            found(&page.replace("#keeps", "#lasts")),
            ["SECURITY.md:9: names `tests/tests/a.rs#lasts`: there is no such test in that file"]
        );
        assert_eq!(
            found(&page.replace("stays: `tests/tests/a.rs`", "stays: `tests/tests/b.rs`")),
            ["SECURITY.md:10: names `tests/tests/b.rs`: there is no such file"]
        );
        assert_eq!(
            found(&page.replace(": `tests/tests/a.rs`.", ".")),
            ["SECURITY.md:10: a promise that no test shows"]
        );
    }
}
