//! Loading the files of a directory: which kinds and agencies they add, and which files are left out.

use std::{path::Path, sync::Arc};

use entourage_types::Kind;

use super::{Finding, Kinds, Noun, Severity, name_of_file, parse, text};
use crate::{Error, Result, agencies};

impl Kinds {
    /// Adds every `*.md` of a directory: agencies if the name ends with `.agency.md`, kinds otherwise. A kind
    /// of the same name as a built-in one replaces it; of two files that define the same name, the second in
    /// the order of their paths is left out. A kind with a mistake is left out, also if it would have
    /// replaced one: asking for it is an error that names the mistake. Returns all findings, mistakes and
    /// remarks.
    ///
    /// # Errors
    /// [`Error::Kinds`] when the directory cannot be read.
    pub fn load(&mut self, directory: &Path) -> Result<Vec<Finding>> {
        let unreadable = |error: std::io::Error| Error::Kinds(format!("{}: {error}", directory.display()));
        let mut paths: Vec<_> = std::fs::read_dir(directory)
            .map_err(unreadable)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
            .collect();
        paths.sort();
        let mut findings = Vec::new();
        let mut found = Vec::new();
        for path in paths {
            let shown = path.display().to_string();
            let text = match text::read(&path) {
                Ok(text) => text,
                Err(error) => {
                    let wrong = vec![Finding::mistake(&shown, 1, format!("cannot be read: {error}"))];
                    let is_agency = shown.ends_with(agencies::ENDING);
                    findings.extend(match is_agency {
                        true => self.leave_out_file(name_of_file(&shown), wrong),
                        false => self.leave_out(&shown, wrong),
                    });
                    continue;
                }
            };
            if shown.ends_with(agencies::ENDING) {
                let (agency, wrong) = agencies::parse(&shown, &text);
                let Some(agency) = agency else {
                    findings.extend(self.leave_out_file(name_of_file(&shown), wrong));
                    continue;
                };
                findings.extend(wrong);
                match self.defined(Noun::Agency, &agency.name, &path) {
                    Ok(()) => found.push(agency),
                    Err(why) => {
                        let wrong = vec![Finding::mistake(&shown, 1, why)];
                        findings.extend(self.leave_out_file(&agency.name, wrong));
                    }
                }
            } else {
                let (kind, wrong) = parse(&shown, &text);
                let Some(kind) = kind else {
                    findings.extend(self.leave_out(&shown, wrong));
                    continue;
                };
                findings.extend(wrong);
                match self.defined(Noun::Kind, &kind.name, &path) {
                    Ok(()) => self.add(kind),
                    Err(why) => {
                        let wrong = vec![Finding::mistake(&shown, 1, why)];
                        findings.extend(self.leave_out_file(&kind.name, wrong));
                    }
                }
            }
        }
        // All kinds are known by now.
        for agency in found {
            let (name, file) = (agency.name.clone(), agency.file.clone());
            if let Err(why) = self.join(agency) {
                findings.extend(self.leave_out_file(&name, vec![Finding::mistake(&file, 1, why)]));
            }
        }
        Ok(findings)
    }

    /// Notes that a file defines this name; an error if another file does.
    fn defined(&mut self, noun: Noun, name: &str, path: &Path) -> std::result::Result<(), String> {
        match self.files.get(&(noun, name.to_owned())) {
            Some(first) if !is_same_file(first, path) => Err(format!(
                "`{name}` is defined in {} already, and this file is left out; give one of the two another name, \
                 or remove it",
                first.display()
            )),
            _ => {
                self.files.insert((noun, name.to_owned()), path.to_owned());
                Ok(())
            }
        }
    }

    fn leave_out(&mut self, file: &str, wrong: Vec<Finding>) -> Vec<Finding> {
        let name = name_of_file(file).to_owned();
        self.kinds.remove(&name);
        let mistakes = wrong.iter().filter(|finding| finding.severity == Severity::Mistake);
        self.left_out.insert(name, mistakes.cloned().collect());
        wrong
    }

    /// Leaves out a file without hiding a kind of the name that it defines.
    fn leave_out_file(&mut self, name: &str, wrong: Vec<Finding>) -> Vec<Finding> {
        let mistakes = wrong.iter().filter(|finding| finding.severity == Severity::Mistake);
        self.others_left_out.extend(mistakes.map(|mistake| (name.to_owned(), mistake.clone())));
        wrong
    }

    /// Leaves out the kinds for which `wrong` returns a reason, and returns the reasons as findings.
    pub fn leave_out_where(&mut self, wrong: impl Fn(&Kind) -> Option<String>) -> Vec<Finding> {
        let refused = |kind: &Arc<Kind>| Some((kind.name.clone(), wrong(kind)?));
        let refused: Vec<(String, String)> = self.kinds.values().filter_map(refused).collect();
        let mut findings = Vec::with_capacity(refused.len());
        for (name, why) in refused {
            let file = self.files.get(&(Noun::Kind, name.clone()));
            let file = file.map_or_else(|| name.clone(), |path| path.display().to_string());
            let finding = Finding::mistake(&file, 0, why);
            self.kinds.remove(&name);
            self.left_out.insert(name, vec![finding.clone()]);
            findings.push(finding);
        }
        findings
    }
}

/// Whether two paths lead to one file: a directory may be named in more than one way.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two files that define one name the second is left out, in one directory and across two, with
    /// both paths; a directory that is read twice, and a built-in kind that is replaced, are not.
    #[test]
    fn a_second_file_that_defines_a_name_is_left_out() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let put = |at: &tempfile::TempDir, name: &str, text: &str| {
            std::fs::write(at.path().join(name), text).unwrap();
        };
        put(&one, "dev.md", "---\nname: dev\n---\nFirst.");
        put(&one, "assistant.md", "---\nname: assistant\n---\nOurs.");
        put(&one, "a.agency.md", "---\nname: studio\nentry_points: dev\n---\n");
        let mut kinds = Kinds::builtin();
        assert_eq!(kinds.load(one.path()).unwrap(), []);
        assert_eq!(kinds.load(&one.path().join(".")).unwrap(), [], "it is the same directory");
        assert_eq!(kinds.named("assistant").unwrap().instructions, "Ours.");

        put(&one, "copy.md", "---\nname: dev\n---\nSecond.");
        put(
            &one,
            "b.agency.md",
            "---\nname: studio\nentry_points: assistant\nflows: [assistant > dev]\n---\n",
        );
        put(&other, "dev.md", "---\nname: dev\n---\nThird.");
        let mut kinds = Kinds::builtin();
        let findings = [kinds.load(one.path()).unwrap(), kinds.load(other.path()).unwrap()].concat();
        let said: Vec<String> = findings.iter().map(ToString::to_string).collect();
        let at =
            |directory: &tempfile::TempDir, name: &str| directory.path().join(name).display().to_string();
        let twice = |file: String, name: &str, first: String| {
            format!(
                "{file}:1: error: `{name}` is defined in {first} already, and this file is left out; give one of the \
                 two another name, or remove it"
            )
        };
        let expected = [
            twice(at(&one, "b.agency.md"), "studio", at(&one, "a.agency.md")),
            twice(at(&one, "dev.md"), "dev", at(&one, "copy.md")),
            twice(at(&other, "dev.md"), "dev", at(&one, "copy.md")),
        ];
        assert_eq!(said, expected);
        assert_eq!(kinds.agency("studio").unwrap().chart.agents(), ["dev"]);
        assert_eq!(kinds.named("dev").unwrap().instructions, "Second.", "the first by its path stays");
        let peers = |name: &str| kinds.named(name).unwrap().peers.clone();
        assert!(!peers("assistant").contains(&"dev".to_owned()), "of a file that is left out no flow stays");
        assert!(findings.iter().all(|finding| kinds.leaves_out(&finding.file)), "no start is refused");
    }

    #[test]
    fn a_kind_whose_file_has_a_mistake_is_refused_with_the_mistake() {
        let directory = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
        put("clerk.md", "---\nname: clerk\n---\nYou file.");
        put("cook.md", "---\nname: cook\nlimits: {max_stepz: 1}\n---\nYou cook.");
        put("general.md", "no front matter");
        let mut kinds = Kinds::builtin();
        let findings = kinds.load(directory.path()).unwrap();
        assert!(
            findings.len() == 2 && findings.iter().all(|found| kinds.leaves_out(&found.file)),
            "{findings:?}"
        );
        assert_eq!(
            kinds.names(),
            "assistant, clerk, documents, explorer, goal, orchestrator, researcher, task, user_agent"
        );
        let told = kinds.named("cook").unwrap_err().to_string();
        assert!(told.contains("cook.md:3: error: ") && told.contains("max_stepz"), "{told}");
        assert!(kinds.named("general").is_err(), "the file was to replace the built-in kind");
        put("kitchen.agency.md", "---\nname: kitchen\nentry_points: cook\n---\n");
        let findings = Kinds::builtin().load(directory.path()).unwrap();
        let agency = findings.last().unwrap();
        assert!(
            agency.text.contains("`cook` does not load") && agency.text.contains("max_stepz"),
            "{agency}"
        );
    }
}
