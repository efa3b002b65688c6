//! `cargo xtask tidy`: the rules of the repository. There is no list of exceptions.

mod documents;
mod engine;
mod loops;
mod manifests;
mod rust;
mod security;
mod templates;
mod text;

use crate::{finding::Report, modules::Modules, planted, repo::Repo};

/// Checks every rule on every file.
pub(crate) fn check(repo: &Repo) -> Report {
    let modules = Modules::of(repo);
    let mut report = Report::default();
    rust::check(repo, &modules, &mut report);
    engine::check(&modules, &mut report);
    loops::check(repo, &modules, &mut report);
    manifests::check(repo, &mut report);
    documents::check(repo, &mut report);
    security::check(repo, &mut report);
    templates::check(repo, &mut report);
    text::check(repo, &mut report);
    report.findings.extend(planted::check(repo));
    report.findings.sort();
    let (files, found) = (repo.files().count(), report.findings.len());
    report.notes.push(format!("tidy: {files} files, {found} findings"));
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings of a check in these files, each as `path:line: what`.
    pub(super) fn found(check: impl Fn(&Repo, &mut Report), files: &[(&str, &str)]) -> Vec<String> {
        let mut report = Report::default();
        check(&Repo::of(files), &mut report);
        report.findings.iter().map(|f| format!("{}:{}: {}", f.path, f.line, f.what)).collect()
    }

    #[test]
    fn every_group_of_rules_is_run() {
        let report = check(&Repo::of(&[
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("crates/a/src/lib.rs", "fn a() {}\n"),
            ("agents/a.md", "no front matter\n"),
            ("README.md", "space at the end \n"),
            ("crates/a/templates/a.html", "<p style=\"x\">\n"),
            ("SECURITY.md", "`tests/lost.rs` shows it\n"),
        ]));
        let paths: Vec<&str> = report.findings.iter().map(|finding| finding.path.as_str()).collect();
        for path in [
            "crates/a/templates/a.html",
            "crates/a/Cargo.toml",
            "crates/a/src/lib.rs",
            "agents/a.md",
            "README.md",
            "SECURITY.md",
        ] {
            assert!(paths.contains(&path), "nothing found in {path}: {report}");
        }
        assert!(paths.is_sorted(), "{report}");
    }
}
