//! Rules as tests, which a reviewer would otherwise have to repeat.
//!
//! `cargo xtask tidy` checks the structure of the repository, `cargo xtask spec` the claims of the
//! requirements. Both print one line per finding and exit with 1 if there is any; the tests of this
//! crate run both on the repository itself.

mod condition;
mod finding;
mod modules;
mod planted;
mod prices;
mod repo;
mod source;
mod spec;
mod tidy;

use std::{
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use anyhow::{Context, Result, bail};

use crate::{finding::Report, repo::Repo};

const USAGE: &str = "usage: cargo xtask <command>

  tidy   the rules of the engine: file sizes, imports, lints, kinds, leftovers
  spec   every requirement is there, every test it names exists; prints the coverage
  planted [--release] [--every=N] [<bug> ...]
         plants the bugs of tests/planted.toml in a copy, and runs the tests that must catch them;
         every Nth of them, another one with each commit
  prices writes crates/llm/data anew, from the `genai-prices` that is locked";

fn main() -> ExitCode {
    match run() {
        Ok(report) if report.findings.is_empty() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            // If even this fails, there is no way left to report it.
            let _ = writeln!(io::stderr(), "{error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<Report> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["prices"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the repository")?;
        let written = prices::write(root)?;
        write!(io::stdout(), "{written}")?;
        return Ok(Report { findings: Vec::new(), notes: Vec::new() });
    }
    if let Some(("planted", named)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        let named: Vec<&str> = named.iter().map(String::as_str).collect();
        let report = planted::run(&Repo::here()?, &repo::root()?, &named)?;
        write!(io::stdout(), "{report}")?;
        return Ok(report);
    }
    let check: fn(&Repo) -> Report = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy::check,
        ["spec"] => spec::check,
        _ => bail!(USAGE),
    };
    let report = check(&Repo::here()?);
    write!(io::stdout(), "{report}")?;
    Ok(report)
}
