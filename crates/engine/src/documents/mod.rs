//! What each change of a document writes, by any editor: the row, its version and its number belong to one commit,
//! and the same rules hold for a person's request, a tool's call and a program.
//!
//! Each function adds to a commit; who calls it commits, and asks [`Refused`] what a refusal means.

mod create;
mod edit;
mod pages;
mod refused;
mod revise;

use entourage_store::Store;
use entourage_types::{Editor, Owner};

pub use revise::DocumentChange;

pub(crate) use edit::check_seen;
pub(crate) use pages::DocumentPages;
pub(crate) use refused::Refused;

/// The documents of one owner, as one editor writes them.
pub(crate) struct Documents<'a> {
    store: &'a dyn Store,
    owner: &'a Owner,
    editor: Editor,
}

impl<'a> Documents<'a> {
    pub(crate) const fn of(store: &'a dyn Store, owner: &'a Owner, editor: Editor) -> Self {
        Self { store, owner, editor }
    }
}
