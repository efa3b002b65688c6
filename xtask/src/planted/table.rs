//! The table of bugs: where each is planted, and which test must catch it.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use crate::{finding::Finding, repo::Repo, spec};

/// The table.
pub(crate) const PATH: &str = "tests/planted.toml";

/// A bug that can be planted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bug {
    /// The line of its name in the table.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// What goes wrong.
    pub says: String,
    /// The file in which it is planted.
    pub file: String,
    /// An expression or a statement that occurs in the file exactly once.
    pub right: String,
    /// What replaces it while the bug is planted; empty if it is removed.
    pub wrong: String,
    /// The test that must then fail, in the specification's form: file, `#`, function.
    pub caught_by: String,
}

impl Bug {
    /// Creates a finding about this bug.
    pub(super) fn finding(&self, what: String, remedy: &str) -> Finding {
        Finding::new(PATH, self.line, what, remedy)
    }
}

/// The bugs, in the order of the table.
pub(super) fn read(repo: &Repo) -> Result<Vec<Bug>> {
    let text = repo.get(PATH).with_context(|| format!("{PATH} is not there"))?;
    let table: toml::Table = text.parse().with_context(|| format!("{PATH} is not TOML"))?;
    let bugs = table.get("bug").and_then(toml::Value::as_array).context("it has no [[bug]]")?;
    let bug = |value: &toml::Value| {
        let field = |key: &str| {
            let text = value.get(key).and_then(toml::Value::as_str);
            text.map(str::to_owned).with_context(|| format!("a bug of {PATH} has no `{key}`"))
        };
        let name = field("name")?;
        let line = text.lines().position(|line| line == format!("name = \"{name}\""));
        Ok(Bug {
            line: line.map_or(1, |above| above + 1),
            name,
            says: field("says")?,
            file: field("file")?,
            right: field("right")?,
            wrong: field("wrong")?,
            caught_by: field("caught_by")?,
        })
    };
    bugs.iter().map(bug).collect()
}

/// Returns what is wrong with the table: each place must exist exactly once, each test must run.
pub(crate) fn check(repo: &Repo) -> Vec<Finding> {
    if repo.get(PATH).is_none() {
        return Vec::new();
    }
    let bugs = match read(repo) {
        Ok(bugs) => bugs,
        Err(error) => {
            return vec![Finding::new(PATH, 1, format!("{error:#}"), "give each bug all its fields")];
        }
    };
    let problems = spec::problems(repo, bugs.iter().map(|bug| bug.caught_by.as_str()));
    let (mut findings, mut names) = (Vec::new(), BTreeSet::new());
    for (bug, problem) in bugs.iter().zip(problems) {
        let mut found = |what: String, remedy: &str| findings.push(bug.finding(what, remedy));
        if !names.insert(&bug.name) {
            found(format!("two bugs are called `{}`", bug.name), "rename one");
        }
        let places = repo.get(&bug.file).map_or(0, |text| text.matches(&bug.right).count());
        if places != 1 {
            let what = format!("what `{}` replaces stands {places} times in {}", bug.name, bug.file);
            found(what, "write more of it, or what stands there now");
        }
        if let Some(problem) = problem.filter(|_| !is_of_a_suite(repo, &bug.caught_by)) {
            found(
                format!("`{}` names `{}`: {problem}", bug.name, bug.caught_by),
                "name a test that catches it",
            );
        }
    }
    findings
}

/// Whether a test is a case of a conformance suite, which its file includes with a macro.
fn is_of_a_suite(repo: &Repo, named: &str) -> bool {
    let Some((path, case)) = named.split_once('#') else { return false };
    let takes_one = repo.get(path).is_some_and(|text| text.contains("conformance!("));
    let case = format!("pub async fn {case}(");
    takes_one && repo.ending(".rs").any(|(path, text)| path.contains("/conformance") && text.contains(&case))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUG: &str = "[[bug]]\nname = \"sum\"\nsays = \"it adds wrongly\"\nfile = \"crates/a/src/lib.rs\"\n\
                       right = \"1 + 1\"\nwrong = \"1 + 2\"\ncaught_by = \"tests/tests/a.rs#adds\"\n";

    fn found(table: &str, source: &str) -> Vec<String> {
        let repo = Repo::of(&[
            (PATH, table),
            ("crates/a/src/lib.rs", source),
            ("tests/Cargo.toml", ""),
            ("tests/tests/a.rs", "#[test]\nfn adds() { a() }\nconformance!(A);\n"),
            ("crates/b/src/conformance/sums.rs", "pub async fn sums_are_sums() {}\n"),
        ]);
        check(&repo).iter().map(|finding| format!("{}: {}", finding.line, finding.what)).collect()
    }

    #[test]
    fn a_bug_must_have_one_place_a_unique_name_and_a_test_that_runs() {
        let source = "fn a() { 1 + 1; }\n";
        assert_eq!(found(BUG, source), [""; 0]);
        assert_eq!(found(&BUG.replace("#adds", "#sums_are_sums"), source), [""; 0]);
        let places =
            |number: &str| format!("2: what `sum` replaces stands {number} times in crates/a/src/lib.rs");
        assert_eq!(found(BUG, "fn a() { 2 }\n"), [places("0")]);
        assert_eq!(found(BUG, "fn a() { 1 + 1; 1 + 1 }\n"), [places("2")]);
        assert_eq!(found(&BUG.repeat(2), source), ["2: two bugs are called `sum`"]);
        assert_eq!(
            found(&BUG.replace("#adds", "#lost"), source),
            ["2: `sum` names `tests/tests/a.rs#lost`: there is no such test in that file"]
        );
        assert!(
            found(&BUG.replace("says", "said"), source)[0]
                .starts_with("1: a bug of tests/planted.toml has no `says`")
        );
    }
}
