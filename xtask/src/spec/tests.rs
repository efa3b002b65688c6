//! Mistakes planted in an otherwise correct specification.

use super::*;

const TESTS: &str = "#[test]\nfn shows_it() { helps() }\nfn helps() {}\n#[test]\nfn is_empty() {}\n";

/// A target that is built only with a feature.
const MANIFEST: &str = "[features]\nx = []\n[[test]]\nname = \"asked\"\nrequired-features = [\"x\"]\n";

/// These tests, the first of which claims to show a requirement.
fn showing(id: &str) -> String {
    format!("/// Shows: {id}.\n{TESTS}")
}

/// The report on the whole specification with all requirements open, except for one replaced line.
fn report(id: &str, line: &str, tests: &str) -> Report {
    let texts: Vec<(&str, String)> = DOCUMENTS
        .iter()
        .map(|document| {
            let lines = document.ids().map(|known| if known == id { line.to_owned() } else { open(&known) });
            (document.path, lines.collect::<Vec<_>>().join("\n"))
        })
        .collect();
    let mut files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (*path, text.as_str())).collect();
    files.extend([
        ("tests/Cargo.toml", MANIFEST),
        ("tests/tests/a.rs", tests),
        ("tests/tests/lost/b.rs", tests),
    ]);
    files.extend([("tests/tests/asked.rs", TESTS), ("tests/tests/off/main.rs", "#[cfg(any())] mod c;")]);
    files.push(("tests/tests/off/c.rs", TESTS));
    check(&Repo::of(&files))
}

fn open(id: &str) -> String {
    format!("- **{id}** It happens. [open]")
}

fn found(id: &str, line: &str) -> Vec<String> {
    report(id, line, TESTS)
        .findings
        .iter()
        .map(|finding| format!("{}: {}", finding.line, finding.what))
        .collect()
}

#[test]
fn a_correct_specification_is_counted_without_findings() {
    let line = "- **S2-R003** It happens. [met: tests/tests/a.rs#shows_it]";
    let report = report("S2-R003", line, &showing("S2-R003"));
    assert_eq!(report.findings, []);
    let expected = [
        "         all   met  open covered",
        "S1        82     0    82     0 %",
        "S2        89     1    88     1 %",
        "S3       105     0   105     0 %",
        "S4       156     0   156     0 %",
        "S5       128     0   128     0 %",
        "S1-S5    560     1   559     0 %",
        "INV       10     0    10     0 %",
    ];
    assert_eq!(report.notes, expected);
}

#[test]
fn missing_duplicate_and_foreign_ids_are_found() {
    assert_eq!(found("S3-R105", ""), ["1: S3-R105 is missing"]);
    assert_eq!(found("INV-02", &open("INV-01")), ["2: INV-01 is here twice", "1: INV-02 is missing"]);
    let twice = format!("{}\n{}", open("S1-R082"), open("S1-R083"));
    assert_eq!(found("S1-R082", &twice), ["83: S1-R083 does not belong here"]);
}

#[test]
fn a_line_with_an_unknown_status_is_found() {
    assert_eq!(
        found("S4-R002", "- **S4-R002** It happens. [maybe]"),
        ["2: an unknown status", "1: S4-R002 is missing"]
    );
}

#[test]
fn a_requirement_cannot_name_a_test_that_does_not_run() {
    const CONDITIONAL: &str = "that file is compiled only under a condition, or for a feature that is off";
    for (named, problem) in [
        ("tests/tests/a.rs", "not of the form `file#function`"),
        ("tests/tests/c.rs#shows_it", "there is no such file"),
        ("tests/tests/a.rs#shows_nothing", "there is no such test in that file"),
        ("tests/tests/a.rs#helps", "there is no such test in that file"),
        ("tests/tests/a.rs#is_empty", "its body is empty, or asserts what is always so"),
        ("tests/tests/lost/b.rs#shows_it", "no module declares that file, so it never runs"),
        ("tests/tests/asked.rs#shows_it", CONDITIONAL),
        ("tests/tests/off/c.rs#shows_it", CONDITIONAL),
    ] {
        let line = format!("- **S5-R007** It happens. [met: tests/tests/a.rs#shows_it, {named}]");
        let report = report("S5-R007", &line, &showing("S5-R007"));
        assert_eq!(report.findings.len(), 1, "{report}");
        assert_eq!(report.findings[0].what, format!("S5-R007 names `{named}`: {problem}"));
        assert_eq!(report.findings[0].line, 7);
        assert!(report.notes.iter().any(|row| row.starts_with("S5 ") && row.ends_with(" 0 %")), "{report}");
    }
}

#[test]
fn a_test_and_its_requirement_must_name_each_other() {
    let line = "- **S5-R007** It happens. [met: tests/tests/a.rs#shows_it]";
    let silent = "S5-R007 names `tests/tests/a.rs#shows_it`: it does not say so; write `/// Shows: ` and the id above it";
    assert_eq!(report("S5-R007", line, TESTS).findings[0].what, silent);
    let both = report("S5-R007", line, &showing("S5-R007, S1-R001")).findings;
    let unnamed = "`shows_it` says that it shows S1-R001, which does not name it";
    assert_eq!(both.iter().map(|finding| finding.what.as_str()).collect::<Vec<_>>(), [unnamed]);
    assert_eq!((both[0].path.as_str(), both[0].line), ("tests/tests/a.rs", 3));
}
