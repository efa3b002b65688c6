//! The copy that contains the bugs.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::table::Bug;
use crate::repo::{Repo, listed};

/// The crate on which all others depend, which gets the switch.
const SWITCHED_IN: &str = "crates/types/src/lib.rs";

/// The manifest that contains the version of all crates.
const VERSIONED_IN: &str = "Cargo.toml";

/// The version of the copy's crates, by which cargo separates their build artefacts.
const VERSION: &str = "version = \"0.0.0-planted\"";

/// The switch, which the repository itself does not contain.
const SWITCH: &str = r#"
extern crate self as entourage_types;

/// Whether the bug of this name is planted in this process.
#[must_use]
pub fn is_planted(bug: &str) -> bool {
    static PLANTED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    PLANTED.get_or_init(|| std::env::var("PLANTED").ok()).as_deref() == Some(bug)
}
"#;

/// Copies the files that git lists, with their modification times, so that only changed files are
/// recompiled.
pub(super) fn copy(root: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    for path in listed(root)? {
        let (from, to) = (root.join(&path), to.join(&path));
        if !from.is_file() {
            continue;
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(&from, &to).with_context(|| format!("cannot copy {path}"))?;
        fs::File::options().write(true).open(&to)?.set_modified(from.metadata()?.modified()?)?;
    }
    Ok(())
}

/// Writes a file with the newest modification time of its sources.
pub(super) fn write(path: &Path, text: &str, made_from: &[PathBuf]) -> Result<()> {
    fs::write(path, text)?;
    let ages = made_from.iter().map(|path| path.metadata()?.modified()).collect::<io::Result<Vec<_>>>()?;
    if let Some(newest) = ages.into_iter().max() {
        fs::File::options().write(true).open(path)?.set_modified(newest)?;
    }
    Ok(())
}

/// The files that contain bugs, each bug behind its switch.
pub(super) fn planted(repo: &Repo, bugs: &[Bug]) -> Result<BTreeMap<String, String>> {
    let text = |path: &str| repo.get(path).map(str::to_owned).with_context(|| format!("{path} is not there"));
    let versioned = text(VERSIONED_IN)?;
    let version = versioned.lines().find(|line| line.starts_with("version = ")).context("no version")?;
    let mut files = BTreeMap::from([
        (SWITCHED_IN.to_owned(), text(SWITCHED_IN)? + SWITCH),
        (VERSIONED_IN.to_owned(), versioned.replacen(version, VERSION, 1) + &unoptimised(repo)),
    ]);
    for Bug { name, file, right, wrong, .. } in bugs {
        if !files.contains_key(file) {
            files.insert(file.clone(), text(file)?);
        }
        let either =
            format!("{{ if entourage_types::is_planted(\"{name}\") {{ {wrong} }} else {{ {right} }} }}");
        files.entry(file.clone()).and_modify(|text| *text = text.replacen(right, &either, 1));
    }
    Ok(files)
}

/// Profiles that compile the workspace's crates quickly: they are compiled for this run alone,
/// which takes seconds. Dependencies are used as compiled for the repository.
fn unoptimised(repo: &Repo) -> String {
    let manifests = repo.ending("/Cargo.toml").filter_map(|(_, text)| text.parse::<toml::Table>().ok());
    let packages = manifests.filter_map(|manifest| {
        let package = manifest.get("package")?;
        // Only crates of this workspace, not programs beside it.
        package.get("version")?.get("workspace")?;
        Some(package.get("name")?.as_str()?.to_owned())
    });
    let own = repo.get(VERSIONED_IN).unwrap_or_default();
    packages
        // A package with its own profile in the manifest keeps that.
        .filter(|name| !own.contains(&format!("[profile.release.package.{name}]")))
        .map(|name| format!("\n[profile.release.package.{name}]\nopt-level = 0\ncodegen-units = 16\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bug_is_planted_behind_a_switch_beside_the_correct_code() {
        let repo = Repo::of(&[
            (SWITCHED_IN, "//! Nouns.\n"),
            (VERSIONED_IN, "[workspace.package]\nversion = \"1.2.3\"\n[profile.release.package.own]\n"),
            ("crates/own/Cargo.toml", "[package]\nname = \"own\"\nversion.workspace = true\n"),
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\nversion.workspace = true\n"),
            ("tests/beside/Cargo.toml", "[package]\nname = \"beside\"\nversion = \"0.0.0\"\n"),
            ("a.rs", "fn a() { let b = 1 + 1; c(); }\n"),
        ]);
        let bug = |name: &str, right: &str, wrong: &str| Bug {
            line: 1,
            name: name.into(),
            says: String::new(),
            file: "a.rs".into(),
            right: right.into(),
            wrong: wrong.into(),
            caught_by: String::new(),
        };
        let files = planted(&repo, &[bug("sum", "1 + 1", "1 + 2"), bug("gone", "c();", "")]).unwrap();
        assert_eq!(
            files["a.rs"],
            "fn a() { let b = { if entourage_types::is_planted(\"sum\") { 1 + 2 } else { 1 + 1 } }; \
             { if entourage_types::is_planted(\"gone\") {  } else { c(); } } }\n"
        );
        assert!(files[SWITCHED_IN].contains("pub fn is_planted"));
        assert_eq!(
            files[VERSIONED_IN],
            "[workspace.package]\nversion = \"0.0.0-planted\"\n[profile.release.package.own]\n\
             \n[profile.release.package.a]\nopt-level = 0\ncodegen-units = 16\n"
        );
    }
}
