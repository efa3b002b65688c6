//! Runs the tests that must catch the bugs: first all of them without a bug, then each with its bug.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Write},
    iter,
    panic::resume_unwind,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::table::Bug;
use crate::finding::Report;

/// A test program of a package: its executable, and where it runs.
struct Program {
    executable: String,
    folder: String,
}

/// How many tests run at once: most of those that catch a bug wait for something that never happens.
const AT_ONCE: usize = 4;
/// How long a test may take at most, in whole seconds.
const LIMIT: Duration = Duration::from_secs(120);
/// With a bug, a test may take so many times as long as without, and so much more: one that waits for something that
/// never happens holds up the others no longer than that. A bug that makes its test slower than this is caught, too.
const SLOWER: u32 = 5;
const LEAST: Duration = Duration::from_secs(15);

/// Tries all of these bugs.
pub(super) fn all(copy: &Path, target: &Path, bugs: &[&Bug], release: bool) -> Result<Report> {
    let programs = build(copy, target, bugs, release)?;
    let passes = |test: &str, bug: Option<&str>, limit: Duration| -> Result<bool> {
        let (program, test) = place_of(copy, test)?;
        let program = programs.get(&program).with_context(|| format!("no test program {program:?}"))?;
        Ok(passed(program, test, bug, limit)? == Some(true))
    };
    let tests: BTreeSet<&str> = bugs.iter().map(|bug| bug.caught_by.as_str()).collect();
    let tests: Vec<&str> = tests.into_iter().collect();
    // How long each test takes without a bug; none if it does not pass.
    let sound = side_by_side(&tests, |test| {
        let began = Instant::now();
        Ok(passes(test, None, LIMIT)?.then(|| began.elapsed()))
    })?;
    let sound: BTreeMap<&str, Option<Duration>> = tests.iter().copied().zip(sound).collect();
    let found = side_by_side(bugs, |bug| {
        let Some(took) = sound[bug.caught_by.as_str()] else {
            let what = format!("{} does not pass without `{}`", bug.caught_by, bug.name);
            return Ok(Some(bug.finding(what, "it must, to catch anything")));
        };
        let limit = (took * SLOWER + LEAST).min(LIMIT);
        let is_caught = !passes(&bug.caught_by, Some(&bug.name), limit)?;
        let word = if is_caught { "caught" } else { "MISSED" };
        writeln!(io::stdout(), "{word}: {} ({}), by {}", bug.name, bug.says, bug.caught_by)?;
        let what = || format!("`{}` is not caught by {}: {}", bug.name, bug.caught_by, bug.says);
        Ok((!is_caught).then(|| bug.finding(what(), "write the test that is missing")))
    })?;
    let mut report = Report::default();
    report.findings.extend(found.into_iter().flatten());
    let caught = bugs.len() - report.findings.len();
    report.notes.push(format!("planted: {caught} of {} bugs are caught", bugs.len()));
    Ok(report)
}

/// Calls `each` with every one of `all`, several at once. Returns the results in the order of `all`.
fn side_by_side<T: Sync, R: Send>(all: &[T], each: impl Fn(&T) -> Result<R> + Sync) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let taken = iter::from_fn(|| {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            all.get(nth).map(|one| Ok((nth, each(one)?)))
        });
        taken.collect::<Result<Vec<_>>>()
    };
    let done = thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let joined =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.collect::<Result<Vec<_>>>()
    })?;
    let mut done: Vec<_> = done.into_iter().flatten().collect();
    done.sort_unstable_by_key(|(nth, _)| *nth);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// The test program that contains a test of the specification's form, as (package, target), and the
/// name to run it by.
fn place_of<'t>(copy: &Path, test: &'t str) -> Result<((String, String), &'t str)> {
    let (file, name) = test.split_once('#').with_context(|| format!("`{test}` names no test"))?;
    let parts: Vec<&str> = file.split('/').collect();
    let (folder, rest) = match parts[..] {
        ["crates", _, ..] => (parts[..2].join("/"), &parts[2..]),
        _ => (parts[0].to_owned(), &parts[..]),
    };
    let manifest = fs::read_to_string(copy.join(&folder).join("Cargo.toml"))?;
    let manifest: toml::Table = manifest.parse().with_context(|| format!("{folder}/Cargo.toml"))?;
    let text = |value: Option<&toml::Value>| value.and_then(toml::Value::as_str).map(str::to_owned);
    let package = text(manifest.get("package").and_then(|package| package.get("name")));
    let own = manifest.get("test").and_then(toml::Value::as_array).and_then(|tests| tests.first());
    let target = match rest {
        ["src", ..] => Some("lib".to_owned()),
        // A folder of its own, unless it is a part of the one test of its crate.
        ["tests", target, _, ..]
            if copy.join(&folder).join("tests").join(target).join("main.rs").exists() =>
        {
            Some((*target).to_owned())
        }
        _ => text(own.and_then(|test| test.get("name"))),
    };
    Ok(((package.context("no package")?, target.with_context(|| format!("no target of {test}"))?), name))
}

/// Compiles the test programs that are needed, with the whole workspace's features, and finds them.
fn build(
    copy: &Path,
    target: &Path,
    bugs: &[&Bug],
    release: bool,
) -> Result<BTreeMap<(String, String), Program>> {
    let mut targets = BTreeSet::new();
    for bug in bugs {
        targets.insert(place_of(copy, &bug.caught_by)?.0.1);
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--no-run", "--workspace", "--message-format=json", "--quiet"]);
    for target in &targets {
        match target.as_str() {
            "lib" => cargo.arg("--lib"),
            target => cargo.args(["--test", target]),
        };
    }
    if release {
        cargo.arg("--release");
    }
    // Dependencies are compiled once for both; the repository's own programs are not overwritten.
    cargo.env("CARGO_BUILD_BUILD_DIR", target).env("CARGO_TARGET_DIR", copy.join("target"));
    cargo.current_dir(copy).stderr(Stdio::inherit());
    let output = cargo.output().context("cannot run cargo")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let messages: Vec<Value> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    // Warnings come from the planted code.
    let is_error = |message: &&Value| message["message"]["level"] == "error";
    let errors =
        messages.iter().filter(is_error).filter_map(|message| message["message"]["rendered"].as_str());
    ensure!(output.status.success(), "what was planted does not compile:\n{}", errors.collect::<String>());
    let mut programs = BTreeMap::new();
    for message in &messages {
        let (Some(executable), Some(manifest)) =
            (message["executable"].as_str(), message["manifest_path"].as_str())
        else {
            continue;
        };
        let folder = manifest.trim_end_matches("/Cargo.toml").to_owned();
        let package: toml::Table = fs::read_to_string(manifest)?.parse()?;
        let package = package["package"]["name"].as_str().unwrap_or_default().to_owned();
        let is_lib = message["target"]["kind"] == serde_json::json!(["lib"]);
        let target = if is_lib { "lib" } else { message["target"]["name"].as_str().unwrap_or_default() };
        programs.insert((package, target.to_owned()), Program { executable: executable.to_owned(), folder });
    }
    Ok(programs)
}

/// Whether a test passes; none if there is no such test. A test that does not end within the limit fails.
fn passed(program: &Program, test: &str, bug: Option<&str>, limit: Duration) -> Result<Option<bool>> {
    let mut command = Command::new("timeout");
    let seconds = limit.as_secs().to_string();
    command.args([&seconds, &program.executable, test]).current_dir(&program.folder);
    command.env_remove("PLANTED").envs(bug.map(|bug| ("PLANTED", bug)));
    let output = command.output().with_context(|| format!("cannot run {}", program.executable))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let ran = !said.lines().any(|line| line == "running 0 tests");
    Ok(ran.then_some(output.status.success()))
}
