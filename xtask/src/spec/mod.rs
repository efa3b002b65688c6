//! `cargo xtask spec`: every requirement exists once, every test it names exists, runs and claims
//! to show it, and every test with such a claim is named.

mod requirement;
mod tests_of;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    finding::{Finding, Report},
    modules::{Modules, Reach},
    repo::Repo,
    source::Source,
    spec::{
        requirement::{Requirement, Status},
        tests_of::Test,
    },
};

/// Why each of these tests, named as `file#function`, proves nothing; none for a test that counts.
pub(crate) fn problems<'t>(repo: &Repo, named: impl Iterator<Item = &'t str>) -> Vec<Option<&'static str>> {
    let modules = Modules::of(repo);
    let tests = Tests::of(repo, &modules);
    named.map(|named| tests.running(named).err()).collect()
}

/// One document of requirements: its file, and the ids that it contains.
struct Document {
    name: &'static str,
    path: &'static str,
    /// The prefix before the number, and the number of its digits.
    prefix: &'static str,
    digits: usize,
    count: usize,
}

/// The five specification seeds, and the invariants across them. The numbers never change.
const DOCUMENTS: &[Document] = &[
    Document { name: "S1", path: "docs/spec/s1.md", prefix: "S1-R", digits: 3, count: 82 },
    Document { name: "S2", path: "docs/spec/s2.md", prefix: "S2-R", digits: 3, count: 89 },
    Document { name: "S3", path: "docs/spec/s3.md", prefix: "S3-R", digits: 3, count: 105 },
    Document { name: "S4", path: "docs/spec/s4.md", prefix: "S4-R", digits: 3, count: 156 },
    Document { name: "S5", path: "docs/spec/s5.md", prefix: "S5-R", digits: 3, count: 128 },
    Document { name: "INV", path: "docs/spec/invariants.md", prefix: "INV-", digits: 2, count: 10 },
];

impl Document {
    fn ids(&self) -> impl Iterator<Item = String> {
        (1..=self.count).map(|number| format!("{}{number:0digits$}", self.prefix, digits = self.digits))
    }
}

/// Checks every document and counts the met requirements.
pub(crate) fn check(repo: &Repo) -> Report {
    let modules = Modules::of(repo);
    let mut tests = Tests::of(repo, &modules);
    let mut report = Report::default();
    let mut rows = Vec::new();
    for document in DOCUMENTS {
        let text = repo.get(document.path).unwrap_or_default();
        rows.push((document.name, document.count, read(document, text, &mut tests, &mut report)));
    }
    report.findings.extend(tests.unnamed());
    report.notes = table(&rows);
    report
}

/// Reads one document; returns how many of its requirements are met.
fn read(document: &Document, text: &str, tests: &mut Tests<'_>, report: &mut Report) -> usize {
    let mut missing: BTreeSet<String> = document.ids().collect();
    let known = missing.clone();
    let mut met = 0;
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| line.starts_with("- **")) {
        let mut found = |what: String, remedy: &str| {
            report.findings.push(Finding::new(document.path, number, what, remedy));
        };
        let Requirement { id, status } = match Requirement::parse(line) {
            Ok(requirement) => requirement,
            Err(what) => {
                found(what.to_owned(), "write `- **id** text. [open]` or `[met: file#test, file#test]`");
                continue;
            }
        };
        if !known.contains(id) {
            found(format!("{id} does not belong here"), "ids are never added, moved or renumbered");
            continue;
        }
        if !missing.remove(id) {
            found(format!("{id} is here twice"), "keep one line per id");
            continue;
        }
        let Status::Met(named) = status else { continue };
        let wrong: Vec<_> = named.iter().filter_map(|test| Some((test, tests.problem(test, id)?))).collect();
        met += usize::from(wrong.is_empty());
        for (test, problem) in wrong {
            found(format!("{id} names `{test}`: {problem}"), "write the test, or mark the line [open]");
        }
    }
    let remedy = "put its line back; ids are never dropped";
    report
        .findings
        .extend(missing.iter().map(|id| Finding::new(document.path, 1, format!("{id} is missing"), remedy)));
    met
}

/// The tests of the repository that run, by file.
struct Tests<'a> {
    modules: &'a Modules<'a>,
    known: BTreeMap<&'a str, BTreeMap<String, Test>>,
    /// The claims of tests that no requirement has named yet: file, test, id.
    unnamed: BTreeSet<(&'a str, String, String)>,
}

impl<'a> Tests<'a> {
    fn of(repo: &'a Repo, modules: &'a Modules<'a>) -> Self {
        let read = |(path, source, reach): (&'a str, &Source, Reach)| {
            (reach != Reach::Nothing)
                .then(|| (path, tests_of::tests_of(source, repo.get(path).unwrap_or_default())))
        };
        let known: BTreeMap<_, _> = modules.iter().filter_map(read).collect();
        let mut unnamed = BTreeSet::new();
        for (path, tests) in &known {
            for (name, test) in tests {
                unnamed.extend(test.shows.iter().map(|id| (*path, name.clone(), id.clone())));
            }
        }
        Self { modules, known, unnamed }
    }

    /// The file and the function of a test named as `file#function`, or why it proves nothing.
    fn running(&self, named: &str) -> Result<(&'a str, String), &'static str> {
        let (path, function) = named.split_once('#').ok_or("not of the form `file#function`")?;
        self.modules.get(path).ok_or("there is no such file")?;
        let known = self.known.get_key_value(path);
        let (path, tests) = known.ok_or("no module declares that file, so it never runs")?;
        if !self.modules.is_always_compiled(path) {
            return Err("that file is compiled only under a condition, or for a feature that is off");
        }
        let test = tests.get(function).ok_or("there is no such test in that file")?;
        test.idle.map_or_else(|| Ok((*path, function.to_owned())), Err)
    }

    /// Why a test named as `file#function` does not count for this requirement; none if it counts.
    fn problem(&mut self, named: &str, id: &str) -> Option<&'static str> {
        let (path, function) = match self.running(named) {
            Ok(found) => found,
            Err(problem) => return Some(problem),
        };
        let says_so = self.unnamed.remove(&(path, function, id.to_owned()));
        (!says_so).then_some("it does not say so; write `/// Shows: ` and the id above it")
    }

    /// Findings for tests that claim a requirement which does not name them.
    fn unnamed(&self) -> impl Iterator<Item = Finding> {
        self.unnamed.iter().map(|(path, function, id)| {
            let line = self.known[path][function].line;
            let remedy = "name the test in the requirement's line, or take the id away";
            Finding::new(
                path,
                line,
                format!("`{function}` says that it shows {id}, which does not name it"),
                remedy,
            )
        })
    }
}

/// The coverage, a line per document.
fn table(rows: &[(&str, usize, usize)]) -> Vec<String> {
    let row = |name: &str, count: usize, met: usize| {
        let percent = 100 * met / count.max(1);
        format!("{name:<6}{count:>6}{met:>6}{:>6}{percent:>6} %", count - met)
    };
    let (designs, invariants): (Vec<_>, Vec<_>) = rows.iter().partition(|(name, ..)| name.starts_with('S'));
    let mut lines = vec![format!("{:<6}{:>6}{:>6}{:>6}{:>8}", "", "all", "met", "open", "covered")];
    lines.extend(designs.iter().map(|(name, count, met)| row(name, *count, *met)));
    let sum = |of: fn(&(&str, usize, usize)) -> usize| designs.iter().map(of).sum();
    lines.push(row("S1-S5", sum(|row| row.1), sum(|row| row.2)));
    lines.extend(invariants.iter().map(|(name, count, met)| row(name, *count, *met)));
    lines
}

#[cfg(test)]
mod tests;
