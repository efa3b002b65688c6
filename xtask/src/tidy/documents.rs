//! Rules for files that the program or its users read: the built-in kinds, the API description, the vocabulary.

use serde_json::Value;

use crate::{
    finding::{Finding, Report},
    repo::Repo,
};

const OPENAPI: &str = "docs/openapi.json";
const VOCABULARY: &str = "docs/vocabulary.md";
/// The most words that a reader must learn.
const MOST_WORDS: usize = 40;

/// Checks the kinds, the API description and the vocabulary.
pub(crate) fn check(repo: &Repo, report: &mut Report) {
    let kinds: Vec<_> =
        repo.ending(".md").filter_map(|(path, text)| Some((path, stem(path)?, text))).collect();
    if kinds.is_empty() {
        let remedy = "an engine needs at least one kind to start with";
        report.findings.push(Finding::new("agents", 1, "there is no kind", remedy));
    }
    for (path, stem, text) in kinds {
        let remedy = format!("open the file with front matter between `---` lines that has `name: {stem}`");
        let (line, what) = match name(text) {
            Some((_, name)) if name == stem => continue,
            Some((line, name)) => (line, format!("the kind calls itself `{name}`")),
            None => (1, "the kind has no name".to_owned()),
        };
        report.findings.push(Finding::new(path, line, what, remedy));
    }
    match repo.get(OPENAPI) {
        None => report.notes.push(format!("tidy: {OPENAPI} is not there yet, so it is not checked")),
        Some(text) => report.findings.extend(openapi(text)),
    }
    report.findings.extend(repo.get(VOCABULARY).and_then(vocabulary));
}

/// A finding if the vocabulary has too many rows.
fn vocabulary(text: &str) -> Option<Finding> {
    let is_row = |line: &str| {
        ["| ", "| word |", "| --- |"].map(|start| line.starts_with(start)) == [true, false, false]
    };
    let rows: Vec<usize> =
        (1..).zip(text.lines()).filter(|(_, line)| is_row(line)).map(|(at, _)| at).collect();
    let what = || format!("has {} words, and may have {MOST_WORDS}", rows.len());
    let remedy = "leave out words that mean here what they mean everywhere";
    rows.get(MOST_WORDS).map(|line| Finding::new(VOCABULARY, *line, what(), remedy))
}

/// The name that a kind's file must have, if it is one.
fn stem(path: &str) -> Option<&str> {
    path.strip_prefix("agents/")?.strip_suffix(".md").filter(|stem| !stem.contains('/'))
}

/// The line and the value of `name` in a kind's front matter.
fn name(text: &str) -> Option<(usize, &str)> {
    let (front, _) = text.strip_prefix("---\n")?.split_once("\n---\n")?;
    let (number, value) =
        front.lines().zip(2..).find_map(|(line, number)| Some((number, line.strip_prefix("name:")?)))?;
    Some((number, value.trim().trim_matches(['"', '\''])))
}

fn openapi(text: &str) -> Option<Finding> {
    let remedy = "write it anew with the test that compares it with the routes";
    match serde_json::from_str::<Value>(text) {
        Err(error) => {
            Some(Finding::new(OPENAPI, error.line().max(1), format!("is not JSON ({error})"), remedy))
        }
        Ok(value) if value["openapi"].as_str().is_some_and(|version| version.starts_with("3.1")) => None,
        Ok(_) => Some(Finding::new(OPENAPI, 1, "is not an OpenAPI 3.1 document", remedy)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::found as found_by;

    const KIND: (&str, &str) = ("agents/writer.md", "---\nname: writer\n---\nWrite.\n");

    #[test]
    fn a_kind_must_have_the_name_of_its_file() {
        let found = |text: &str| found_by(check, &[("agents/writer.md", text)]);
        assert_eq!(found(KIND.1), Vec::<String>::new());
        assert_eq!(found("---\ndescription: d\nname: \"writer\"\n---\n"), Vec::<String>::new());
        assert_eq!(
            found("---\ndescription: d\nname: reader\n---\n"),
            ["agents/writer.md:3: the kind calls itself `reader`"]
        );
        for nameless in ["Write.\n", "---\nmodel: m\n---\nname: writer\n", ""] {
            assert_eq!(found(nameless), ["agents/writer.md:1: the kind has no name"]);
        }
    }

    #[test]
    fn the_vocabulary_has_at_most_forty_words() {
        let table = |words: usize| {
            format!("| word | what it is |\n| --- | --- |\n{}", "| Run | Work |\n".repeat(words))
        };
        let found = |words: usize| found_by(check, &[KIND, (VOCABULARY, &table(words))]);
        assert_eq!(found(40), Vec::<String>::new());
        assert_eq!(found(41), ["docs/vocabulary.md:43: has 41 words, and may have 40"]);
    }

    #[test]
    fn a_repository_without_a_kind_is_found() {
        assert_eq!(found_by(check, &[("agents/drafts/a.md", "")]), ["agents:1: there is no kind"]);
    }

    #[test]
    fn the_api_description_must_be_openapi_3_1() {
        let found = |text: &str| found_by(check, &[KIND, (OPENAPI, text)]);
        assert_eq!(found("{\"openapi\": \"3.1.0\"}"), Vec::<String>::new());
        assert_eq!(
            found("{\"openapi\": \"3.0.3\"}"),
            ["docs/openapi.json:1: is not an OpenAPI 3.1 document"]
        );
        assert!(found("{\n\"openapi\": }")[0].starts_with("docs/openapi.json:2: is not JSON"));
        let mut report = Report::default();
        check(&Repo::of(&[KIND]), &mut report);
        assert!(report.findings.is_empty() && report.notes.len() == 1, "{report}");
    }
}
