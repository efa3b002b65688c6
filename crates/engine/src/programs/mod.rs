//! Programs drive runs: each is an ordinary async function over [`Run`], found by the name that the run's kind gives.
//! After a crash it runs again from its top and passes the steps that are on record.

mod act;
mod converse;
mod explore;
mod orchestrate;

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use entourage_types::{Kind, ProgramName};

use crate::{Engine, Interrupt, run::Run, toolset::ToolsOfPrograms};

pub use act::Act;
pub use converse::{React, converse};
pub use explore::Explore;
pub use orchestrate::Orchestrate;

/// Drives the runs of the kinds that name it.
///
/// Everything that must survive a crash is a step of the run: a turn of the model, a decision, calls, a join. A program
/// takes each under a name of its own. What it does between its steps it does again after a crash, with the same
/// results of the same steps, so it decides by these alone: not by the time, by chance, or by what it reads elsewhere.
#[async_trait]
pub trait Program: Send + Sync + 'static {
    /// Drives a run to its end, and returns the run's answer.
    ///
    /// # Errors
    /// An [`Interrupt`] when the run sleeps, is stopped or fails: pass it on.
    async fn run(&self, run: &mut Run<'_>) -> Result<String, Interrupt>;

    /// The tools that the program calls itself, beside those that its kind offers to the model.
    fn tools(&self) -> &[&str] {
        &[]
    }

    /// Checks what a kind's file gives the program, when the kind is loaded.
    ///
    /// # Errors
    /// Says what is wrong with it. The kind is refused.
    fn check(&self, kind: &Kind) -> Result<(), String> {
        match kind.program_settings {
            Some(_) => Err(format!(
                "kind `{}`: the program `{}` takes no `program_settings`",
                kind.name, kind.program
            )),
            None => Ok(()),
        }
    }

    /// Whether it handles one call of a turn, so that the user reads what that call returned.
    fn handles_one_call(&self) -> bool {
        false
    }
}

/// The programs of an engine, by name.
pub(crate) struct Programs(BTreeMap<String, Arc<dyn Program>>);

impl Default for Programs {
    fn default() -> Self {
        let mut programs = Self(BTreeMap::new());
        programs.add(ProgramName::REACT, Arc::new(React));
        programs.add(ProgramName::ORCHESTRATE, Arc::new(Orchestrate));
        programs.add(ProgramName::EXPLORE, Arc::new(Explore));
        programs.add(ProgramName::ACT, Arc::new(Act::default()));
        programs
    }
}

impl Programs {
    /// Adds a program; replaces one of the same name.
    pub(crate) fn add(&mut self, name: &str, program: Arc<dyn Program>) {
        self.0.insert(name.to_owned(), program);
    }

    /// The tools that each program calls itself.
    pub(crate) fn tools(&self) -> ToolsOfPrograms {
        let names =
            |program: &Arc<dyn Program>| program.tools().iter().map(|tool| (*tool).to_owned()).collect();
        self.0.iter().map(|(name, program)| (name.clone(), names(program))).collect()
    }

    /// Returns the program of this name.
    ///
    /// # Errors
    /// Says that there is none, and which there are.
    pub(crate) fn get(&self, name: &ProgramName) -> Result<&Arc<dyn Program>, String> {
        self.0.get(name.as_str()).ok_or_else(|| {
            let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
            format!("there is no program `{name}`; there are: {}", known.join(", "))
        })
    }
}

impl Engine {
    /// Checks that a kind's program exists and takes what the kind's file gives it.
    ///
    /// # Errors
    /// Says what is missing or wrong.
    pub fn check_program(&self, kind: &Kind) -> Result<(), String> {
        let program = self.inner.programs.get(&kind.program);
        program.map_err(|why| format!("kind `{}`: {why}", kind.name))?.check(kind)
    }

    /// Whether the program of a kind handles one call of a turn.
    ///
    /// # Errors
    /// Says that there is no such program, and which there are.
    pub(crate) fn handles_one_call(&self, kind: &Kind) -> Result<bool, String> {
        self.inner.programs.get(&kind.program).map(|program| program.handles_one_call())
    }
}
