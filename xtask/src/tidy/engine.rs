//! Rules for the modules of the engine.

use crate::{
    finding::{Finding, Report},
    modules::{Modules, Reach},
};

/// Where the files of a run are, and the one of them that calls the store's commit.
const RUN: &str = "crates/engine/src/run/";
const COMMITS: &str = "crates/engine/src/run/commit.rs";

/// Checks the engine's files.
pub(crate) fn check(modules: &Modules<'_>, report: &mut Report) {
    commits(modules, report);
}

/// Only one file of a run calls the commit of anything but the run itself: what a commit changes in memory is brought up
/// to date in one place.
fn commits(modules: &Modules<'_>, report: &mut Report) {
    let of_run = |(path, _, reach): &(&str, _, Reach)| {
        path.starts_with(RUN) && *path != COMMITS && *reach != Reach::Test
    };
    for (path, source, _) in modules.iter().filter(of_run) {
        for (at, _) in source.code().match_indices(".commit(") {
            let line = source.line(at);
            if !line.test && !source.code()[..at].trim_end().ends_with("self") {
                let remedy = format!("call a method of {COMMITS}");
                report.findings.push(Finding::new(path, line.number, "a commit of its own", remedy));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::found as found_by;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let crates = [("crates/engine/Cargo.toml", "")];
        let files: Vec<_> = crates.iter().chain(files).copied().collect();
        found_by(|repo, report| check(&Modules::of(repo), report), &files)
    }

    #[test]
    fn only_one_file_of_a_run_commits() {
        let run = "mod close;\nmod commit;\n";
        let commit = "fn a() { self.engine.store().commit(b).await }\n";
        let found = found(&[
            ("crates/engine/src/lib.rs", "mod advance;\nmod run;\n"),
            ("crates/engine/src/advance.rs", commit),
            ("crates/engine/src/run/mod.rs", run),
            ("crates/engine/src/run/commit.rs", commit),
            (
                "crates/engine/src/run/close.rs",
                "fn a() {\n    self.commit(b).await;\n    self\n        .commit(b);\n    store\n        .commit(b);\n}\n\
                 #[cfg(test)]\nmod tests {\n    fn b() { store.commit(c); }\n}\n",
            ),
        ]);
        assert_eq!(found, ["crates/engine/src/run/close.rs:6: a commit of its own"]);
    }
}
