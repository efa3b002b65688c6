//! Kinds are Markdown files: the built-in ones, and a directory of the user's that adds or overrides.

mod approval;
mod check;
mod file;
pub(crate) mod pattern;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use entourage_types::Kind;

use crate::{Error, Result};

pub use check::{Finding, Severity};
pub use file::parse;

/// The built-in kinds, as their files stand in `agents/`.
const BUILTIN: [(&str, &str); 4] = [
    ("agents/assistant.md", include_str!("../../../../agents/assistant.md")),
    ("agents/general.md", include_str!("../../../../agents/general.md")),
    ("agents/orchestrator.md", include_str!("../../../../agents/orchestrator.md")),
    ("agents/researcher.md", include_str!("../../../../agents/researcher.md")),
];

/// The kinds of a house, by name.
#[derive(Debug, Clone, Default)]
pub struct Kinds {
    kinds: BTreeMap<String, Arc<Kind>>,
}

impl Kinds {
    /// No kinds at all.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The kinds that come with the program.
    #[must_use]
    pub fn builtin() -> Self {
        let mut kinds = Self::none();
        for (path, text) in BUILTIN {
            // A test loads each of them; a mistake cannot reach a user.
            if let (Some(kind), _) = parse(path, text) {
                kinds.add(kind);
            }
        }
        kinds
    }

    /// Adds a kind; one of the same name is replaced. One that was not read from a file gets its
    /// version here.
    pub fn add(&mut self, mut kind: Kind) {
        if kind.version.is_empty() {
            kind.version = file::version(&serde_json::to_string(&kind).unwrap_or_default());
        }
        self.kinds.insert(kind.name.clone(), Arc::new(kind));
    }

    /// The kinds with one more.
    #[must_use]
    pub fn with(mut self, kind: Kind) -> Self {
        self.add(kind);
        self
    }

    /// Adds every `*.md` of a directory. Returns what was found wrong, mistakes and remarks.
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
        for path in paths {
            let shown = path.display().to_string();
            match std::fs::read_to_string(&path) {
                Ok(text) => {
                    let (kind, found) = parse(&shown, &text);
                    findings.extend(found);
                    if let Some(kind) = kind {
                        self.add(kind);
                    }
                }
                Err(error) => findings.push(Finding::mistake(&shown, 1, format!("cannot be read: {error}"))),
            }
        }
        Ok(findings)
    }

    /// Looks at what kinds say of each other and of tools.
    #[must_use]
    pub fn check(&self, tools: &[&str]) -> Vec<Finding> {
        check::references(self.kinds.values(), tools)
    }

    /// The kind of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<Kind>> {
        self.kinds.get(name).cloned()
    }

    /// The kind of this name, or an error that lists those there are.
    ///
    /// # Errors
    /// [`Error::UnknownKind`].
    pub fn named(&self, name: &str) -> Result<Arc<Kind>> {
        self.get(name).ok_or_else(|| Error::UnknownKind { name: name.to_owned(), known: self.names() })
    }

    /// All kinds in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.values()
    }

    /// All names, in one line for people.
    #[must_use]
    pub fn names(&self) -> String {
        self.kinds.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_file_loads_without_a_remark() {
        for (path, text) in BUILTIN {
            let (kind, findings) = parse(path, text);
            assert_eq!(findings, [], "{path}");
            assert!(kind.is_some_and(|kind| path.ends_with(&format!("/{}.md", kind.name))), "{path}");
        }
        assert_eq!(Kinds::builtin().names(), "assistant, general, orchestrator, researcher");
    }
}
