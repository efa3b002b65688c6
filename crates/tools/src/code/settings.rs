//! What runs code, and its limits.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{Error, Unexpected},
};

use crate::CodeCalls;

/// When the state of code that waits is kept. What the code does is the same in all cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Snapshots {
    /// If the code ran for long before it waits.
    #[default]
    Slow,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Whether agents run Python, and what their code may use. Each limit holds for one call of the tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PythonSettings {
    /// Whether there is the tool `python`, for kinds that list it.
    pub enabled: bool,
    /// What runs it.
    pub interpreter: PythonInterpreter,
    /// Which CPython that is, version 3.9 or newer: a path, or a name that is looked up in `PATH`.
    pub cpython: PathBuf,
    /// A directory of packages, as `pip install --target` makes it, that code in CPython may import from.
    pub packages: Option<PathBuf>,
    /// For how many seconds code may compute, from its top to its end, however often it waits in between.
    pub cpu_seconds: u64,
    /// After how many seconds without waiting for a call code is ended.
    pub seconds: u64,
    /// How much memory its values may take, in MiB.
    pub memory_mib: u64,
    /// How much of what it prints is kept, in KiB.
    pub output_kib: usize,
    /// How many calls it may make: forks, questions, tools, reports. At most 1,000.
    #[serde(deserialize_with = "at_most")]
    pub calls: u32,
    /// How many processes run code at once.
    pub concurrency: usize,
    /// When the state of code is kept while it waits, so that it need not run again from its top.
    pub snapshots: Snapshots,
}

/// As many calls as the engine makes for one code.
fn at_most<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let calls = u32::deserialize(from)?;
    if calls <= u32::from(CodeCalls::MOST) {
        return Ok(calls);
    }
    let expected = format!("at most {}", CodeCalls::MOST);
    Err(D::Error::invalid_value(Unexpected::Unsigned(calls.into()), &&*expected))
}

/// What runs Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PythonInterpreter {
    /// A small Python inside this program, without access to anything.
    #[default]
    BuiltIn,
    /// CPython, with its standard library, under bubblewrap. Only on Linux.
    Cpython,
}

impl PythonSettings {
    /// Its numbers by name, and whether each is greater than 0, as it must be.
    #[must_use]
    pub const fn numbers(&self) -> [(&'static str, bool); 6] {
        [
            ("cpu_seconds", self.cpu_seconds > 0),
            ("seconds", self.seconds > 0),
            ("memory_mib", self.memory_mib > 0),
            ("output_kib", self.output_kib > 0),
            ("calls", self.calls > 0),
            ("concurrency", self.concurrency > 0),
        ]
    }
}

impl Default for PythonSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            interpreter: PythonInterpreter::BuiltIn,
            cpython: "/usr/bin/python3".into(),
            packages: None,
            cpu_seconds: 10,
            seconds: 30,
            memory_mib: 128,
            output_kib: 64,
            calls: 200,
            concurrency: 4,
            snapshots: Snapshots::Slow,
        }
    }
}
