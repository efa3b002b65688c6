//! Agencies: groups of kinds with a chart of who may write to whom, and shared instructions.
//!
//! An agency does nothing while its agents work (S2-R002). Its file is read once: what it defines for a kind,
//! the peers and the shared instructions, becomes part of that kind.

mod chart;
mod draw;
mod file;

use entourage_types::{Kind, tool_names};
use serde::Serialize;

use crate::kinds::pattern;

pub use chart::{Chart, ChartError, Flow};
pub use file::parse;

/// The ending of an agency's file name; all other `*.md` files beside it are kinds.
pub const ENDING: &str = ".agency.md";

/// A group of kinds with a communication chart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Agency {
    /// Its name.
    pub name: String,
    /// What it is for, in one line.
    pub description: String,
    /// Its agents, by the names of their kinds, and who may write to whom.
    #[serde(flatten)]
    pub chart: Chart,
    /// The instructions of all its agents, which precede their own.
    pub shared_instructions: String,
    /// The file it was read from; empty if there is none.
    #[serde(skip)]
    pub file: String,
}

impl Agency {
    /// The kind as it works in this agency: its peers are those of the chart, and its instructions
    /// begin with the shared ones (S2-R023, R024). One with peers can write to them, whatever tools its
    /// own file lists.
    #[must_use]
    pub fn member(&self, mut kind: Kind) -> Kind {
        kind.peers = self.chart.peers(&kind.name);
        if let Some(tools) = &mut kind.tools
            && !kind.peers.is_empty()
            && !tools.iter().any(|name| pattern::names(name, tool_names::SEND_MESSAGE))
        {
            tools.push(tool_names::SEND_MESSAGE.to_owned());
        }
        let parts = [self.shared_instructions.as_str(), kind.instructions.as_str()];
        kind.instructions =
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        // The version must cover the agency's part: `Kinds::add` computes it again.
        kind.version.clear();
        kind
    }
}
