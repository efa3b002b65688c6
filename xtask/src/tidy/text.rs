//! Rules for all text: no leftovers, no paths that exist on one machine only.

use crate::{
    finding::{Finding, Report},
    repo::Repo,
};

/// Words for deferred work. Split in two, so that this file does not break its own rule.
const MARKERS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME")];

/// The beginnings of machine-specific paths.
const MACHINE: &[&str] =
    &[concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

/// Checks every line of every text file.
pub(crate) fn check(repo: &Repo, report: &mut Report) {
    for (path, text) in repo.files() {
        for (line, number) in text.lines().zip(1..) {
            let mut found = |what: String, remedy: &str| {
                report.findings.push(Finding::new(path, number, what, remedy));
            };
            for marker in MARKERS.iter().filter(|marker| stands_alone(line, marker)) {
                found(format!("`{marker}`"), "do it now, or open an issue");
            }
            for start in MACHINE.iter().filter(|start| begins_a_path(line, start)) {
                found(
                    format!("a path of one machine, `{start}…`"),
                    "make it relative to the repository, or an argument",
                );
            }
            let written_by_hand = [".rs", ".md", ".toml"].iter().any(|end| path.ends_with(end));
            if written_by_hand && line.ends_with([' ', '\t']) {
                found("white space at the end of the line".to_owned(), "remove it");
            }
        }
    }
}

/// Whether a line contains a word that is not part of a longer one.
fn stands_alone(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(part) && !line[at + word.len()..].starts_with(part))
}

/// Whether an absolute path begins with this, rather than a relative one or a URL containing it.
fn begins_a_path(line: &str, start: &str) -> bool {
    let relative = |c: char| c.is_alphanumeric() || "_-.~})]*".contains(c);
    line.match_indices(start).any(|(at, _)| !line[..at].ends_with(relative))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::found as found_by;

    fn found(path: &str, line: &str) -> Vec<String> {
        found_by(check, &[(path, &format!("first\n{line}\n"))])
    }

    #[test]
    fn a_marker_of_postponed_work_is_found_in_any_file() {
        for marker in MARKERS {
            assert_eq!(found("a.sh", &format!("# {marker}: later")), [format!("a.sh:2: `{marker}`")]);
            assert_eq!(
                found("a.rs", &format!("{marker}S x_{marker} {}", marker.to_lowercase())),
                Vec::<String>::new()
            );
        }
    }

    #[test]
    fn a_machine_specific_path_is_found_in_any_file() {
        for start in MACHINE {
            for line in [
                format!("cd {start}me"),
                format!("\"{start}me\""),
                format!("file://{start}me"),
                start.to_string(),
            ] {
                assert_eq!(found("a.json", &line), [format!("a.json:2: a path of one machine, `{start}…`")]);
            }
            for line in [format!("web.example{start}me"), format!("$DIR{start}me"), format!("..{start}me")] {
                assert_eq!(found("a.json", &line), Vec::<String>::new(), "{line}");
            }
        }
    }

    #[test]
    fn trailing_white_space_is_found_in_handwritten_files() {
        for path in ["a.rs", "a.md", "a.toml"] {
            assert_eq!(found(path, "a "), [format!("{path}:2: white space at the end of the line")]);
            assert_eq!(found(path, "a\t").len(), 1);
            assert_eq!(found(path, " a"), Vec::<String>::new());
        }
        assert_eq!(found("a.snap", "a "), Vec::<String>::new());
    }
}
