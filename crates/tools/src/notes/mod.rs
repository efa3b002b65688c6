//! Tools that write notes and find them again.

mod create_note;
mod search_notes;

pub use create_note::CreateNote;
pub use search_notes::SearchNotes;
