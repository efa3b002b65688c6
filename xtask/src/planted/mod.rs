//! `cargo xtask planted`: small bugs planted in the code, one at a time, each of which the test
//! named beside it must catch.
//!
//! The sources stay clean: a table lists the places, and the bugs are planted in a copy of the
//! repository behind a switch that an environment variable sets, so that one build contains all of
//! them.

mod plant;
mod table;
mod try_out;

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::{
    finding::Report,
    repo::{Repo, commits},
};

pub(crate) use table::check;

/// Plants the bugs with these names, or all of them, and reports which are caught. With `--every=N` it is every Nth bug
/// of the table, another one with each commit, so that N commits in a row try all.
///
/// # Errors
/// If the table is wrong, or the copy cannot be created or does not compile.
pub(crate) fn run(repo: &Repo, root: &Path, arguments: &[&str]) -> Result<Report> {
    let (options, names): (Vec<&str>, Vec<&str>) =
        arguments.iter().copied().partition(|argument| argument.starts_with("--"));
    let every = options.iter().find_map(|option| option.strip_prefix("--every=")).map_or(Ok(1), str::parse);
    let every: usize = every.ok().filter(|every| *every > 0).context("--every takes a number from 1")?;
    let is_known = |option: &&str| *option == "--release" || option.starts_with("--every=");
    ensure!(options.iter().all(is_known), "planted knows no options but --release and --every=N");
    let found = check(repo);
    ensure!(found.is_empty(), "{}", found.iter().map(|finding| format!("{finding}\n")).collect::<String>());
    let bugs = table::read(repo)?;
    for name in &names {
        ensure!(bugs.iter().any(|bug| bug.name == *name), "there is no bug `{name}` in {}", table::PATH);
    }
    let named: Vec<_> =
        bugs.iter().filter(|bug| names.is_empty() || names.contains(&bug.name.as_str())).collect();
    let first = if every == 1 { 0 } else { commits(root)? % every };
    let chosen: Vec<_> = named.into_iter().skip(first).step_by(every).collect();
    let copy = root.join("target/planted");
    plant::copy(root, &copy).with_context(|| format!("cannot copy the repository to {}", copy.display()))?;
    for (path, text) in plant::planted(repo, &bugs)? {
        let newest = [path.as_str(), table::PATH].map(|path| root.join(path));
        plant::write(&copy.join(&path), &text, &newest).with_context(|| format!("cannot write {path}"))?;
    }
    try_out::all(&copy, &root.join("target"), &chosen, options.contains(&"--release"))
}
