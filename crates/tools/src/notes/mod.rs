//! Tools that write something down for later and find it again.

mod create_note;
mod search_notes;

pub use create_note::CreateNote;
pub use search_notes::SearchNotes;
