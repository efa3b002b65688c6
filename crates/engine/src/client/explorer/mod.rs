//! Explorations as S3 knows them: agents with names, a tree of those that are active, overrides and answers.

mod active;
mod answer;
mod names;
mod overrides;
mod start;
mod token;

pub use active::{ActiveAgent, ActiveNode, ActiveTree};
pub use overrides::Overrides;
pub use start::{EarlierMessage, ExplorationInput, NewExploration, Speaker};
