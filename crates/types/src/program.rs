//! The program that drives the runs of a kind, by its name.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The name of a program. The engine has `react`, `orchestrate`, `explore` and `act`; an application adds its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProgramName(String);

impl ProgramName {
    /// Model, tools, results, until the model asks for no more tools: the program of a kind that names none.
    pub const REACT: &str = "react";
    /// One message or result of the inbox in each run: one decision on a message, one reply to a result.
    pub const ORCHESTRATE: &str = "orchestrate";
    /// An exploration in six steps: questions to the user, children that explore parts, a summary.
    pub const EXPLORE: &str = "explore";
    /// A message about the documents of a project: one decision, one change, one answer.
    pub const ACT: &str = "act";

    /// The program of this name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ProgramName {
    fn default() -> Self {
        Self::new(Self::REACT)
    }
}

impl fmt::Display for ProgramName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for ProgramName {
    type Err = std::convert::Infallible;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(Self::new(name))
    }
}
