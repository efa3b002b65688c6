//! Rules for the console's templates and scripts: nothing that its content security policy forbids, and no text that is
//! written without being escaped.

use crate::{
    finding::{Finding, Report},
    repo::Repo,
};

/// What does nothing under the policy, or needs `eval`.
const FORBIDDEN: [(&str, &str); 6] = [
    (" style=", "write a class"),
    ("hx-on", "listen in a module of `assets/`"),
    ("js:", "listen in a module of `assets/`"),
    ("javascript:", "write a path"),
    (" onclick=", "listen in a module of `assets/`"),
    ("|safe", "let it be escaped; only what another template has rendered is not"),
];
/// The templates that hold what another template has rendered.
const SURROUND: [&str; 3] = ["main.html", "shell.html", "problem_page.html"];
/// What writes markup from text.
const MARKUP: [&str; 4] = ["innerHTML", "outerHTML", "insertAdjacentHTML", "eval("];

/// Checks every template and every script that is ours.
pub(crate) fn check(repo: &Repo, report: &mut Report) {
    for (path, text) in repo.files() {
        let name = path.rsplit('/').next().unwrap_or(path);
        let lines = || text.lines().zip(1..);
        if path.contains("/templates/") && path.ends_with(".html") {
            for (line, number) in lines() {
                let may = |word: &str| word == "|safe" && SURROUND.contains(&name);
                for (word, remedy) in FORBIDDEN.iter().filter(|(word, _)| line.contains(word) && !may(word)) {
                    report.findings.push(Finding::new(path, number, format!("`{}`", word.trim()), *remedy));
                }
                if line
                    .split("hx-trigger=\"")
                    .skip(1)
                    .any(|rest| rest.split('"').next().is_some_and(|on| on.contains('[')))
                {
                    report.findings.push(Finding::new(
                        path,
                        number,
                        "a filter of a trigger",
                        "it needs `eval`",
                    ));
                }
            }
        }
        if path.contains("/assets/") && path.ends_with(".js") && !path.contains("/vendor/") {
            for (line, number) in lines() {
                for word in MARKUP.iter().filter(|word| line.contains(*word)) {
                    report.findings.push(Finding::new(path, number, format!("`{word}`"), "write text nodes"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::found;

    #[test]
    fn what_the_policy_forbids_and_what_is_not_escaped_is_found() {
        let files = [
            ("a/templates/page.html", "<p style=\"x\">\n{{ text|safe }}\n<p hx-trigger=\"click[x]\">\n"),
            ("a/templates/shell.html", "{{ main|safe }}\n"),
            ("a/assets/own.js", "node.innerHTML = text;\n"),
            ("a/assets/vendor/other.js", "node.innerHTML = text;\n"),
        ];
        let found = found(check, &files);
        let places: Vec<&str> = found.iter().filter_map(|found| Some(found.split_once(": ")?.0)).collect();
        let pages = [1, 2, 3].map(|line| format!("a/templates/page.html:{line}"));
        assert_eq!(places, ["a/assets/own.js:1", &pages[0], &pages[1], &pages[2]], "{found:#?}");
    }
}
