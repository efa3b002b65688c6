//! The repository's text files, in memory, so that a check is a function of their content.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

/// The text files of a repository by their path from its root.
#[derive(Debug, Default)]
pub(crate) struct Repo {
    files: BTreeMap<String, String>,
}

impl Repo {
    /// The repository around the current directory: all files that git tracks or would add.
    ///
    /// # Errors
    /// If git fails or a file cannot be read.
    pub(crate) fn here() -> Result<Self> {
        let root = root()?;
        let mut files = BTreeMap::new();
        for path in listed(&root)? {
            match fs::read(root.join(&path)) {
                // A file that is not UTF-8 is not text, and no rule applies to it.
                Ok(bytes) => {
                    String::from_utf8(bytes).ok().and_then(|text| files.insert(path, text));
                }
                // Listed, but removed since; or a link to a folder.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::IsADirectory) => {}
                Err(error) => return Err(error).with_context(|| format!("cannot read {path}")),
            }
        }
        Ok(Self { files })
    }

    /// The text of one file.
    pub(crate) fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Every file and its text, in path order.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The files whose path has this suffix.
    pub(crate) fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files().filter(move |(path, _)| path.ends_with(end))
    }
}

#[cfg(test)]
impl Repo {
    /// A repository of these files only.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        Self { files: files.iter().map(owned).collect() }
    }
}

/// The root of the repository around the current directory.
pub(crate) fn root() -> Result<PathBuf> {
    Ok(git(&["rev-parse", "--show-toplevel"])?.trim_end().into())
}

/// All files that git tracks or would add, relative to the root.
pub(crate) fn listed(root: &Path) -> Result<Vec<String>> {
    let root = root.to_str().context("the path of the repository is not UTF-8")?;
    let listed = git(&["-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
    Ok(listed.split_terminator('\0').map(str::to_owned).collect())
}

/// How many commits the present one has before it, itself included.
pub(crate) fn commits(root: &Path) -> Result<usize> {
    let root = root.to_str().context("the path of the repository is not UTF-8")?;
    git(&["-C", root, "rev-list", "--count", "HEAD"])?.trim().parse().context("git did not say a number")
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").args(arguments).output().context("cannot run git; is it installed?")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {} failed: {}", arguments.join(" "), said.trim());
    String::from_utf8(output.stdout).context("git listed a path that is not UTF-8")
}
