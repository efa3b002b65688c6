//! What a trigger brought to the program.

use entourage_types::{Author, ItemBody, Payload};

use crate::run::{Interrupt, Result, Run};

impl Run<'_> {
    /// The payload of the last trigger of this name that the run has read; none if it has read none.
    ///
    /// # Errors
    /// If a trigger of this name has another payload.
    pub fn trigger<P: Payload>(&self) -> Result<Option<P>> {
        let own = self.items().iter().rev().filter(|item| item.run == self.record.id);
        let triggers = own.filter_map(|item| match &item.body {
            ItemBody::Message(message) => match &message.from {
                Author::Trigger { trigger } if trigger.name == P::NAME => Some(trigger),
                _ => None,
            },
            _ => None,
        });
        let Some(last) = triggers.into_iter().next() else { return Ok(None) };
        last.read().map_err(|error| {
            Interrupt::failed(format!("the payload of the trigger `{}` cannot be read: {error}", P::NAME))
        })
    }
}
