//! The document agent (S5): what the model decides about a message, what comes of it, and what the user reads. All of
//! it is a function of its arguments.

mod decision;
mod excerpt;
mod intent;
mod naming;
mod outcome;
mod prompt;
mod proposal;
mod reply;
mod rewrite;
mod settings;

#[cfg(test)]
mod tests {
    use entourage_types::{Document, DocumentHead, DocumentId, Owner, ProjectId, Time};

    /// A document with this number and name.
    pub(super) fn document(number: u64, name: &str) -> Document {
        let head = DocumentHead {
            id: DocumentId::new(),
            owner: Owner::local(),
            project: ProjectId::new(),
            number,
            name: name.to_owned(),
            standing_instruction: String::new(),
            version: 1,
            created: Time::from_micros(1),
            updated: Time::from_micros(1),
        };
        Document { head, content: String::new() }
    }
}
