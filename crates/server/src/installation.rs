//! What the operator may ask about the program that a server is part of. Only that program knows: its settings, the
//! providers and tools that it set up, the machine.

use async_trait::async_trait;
use entourage_api::{Finding, HeldSettings};

/// The program that a server is part of.
#[async_trait]
pub trait Installation: Send + Sync {
    /// Checks everything that agents need; unless `offline`, asks providers whether their models exist. Changes nothing.
    async fn examine(&self, offline: bool) -> Vec<Finding>;

    /// The settings that it started with, without any value that may be a secret.
    fn settings(&self) -> HeldSettings;
}
