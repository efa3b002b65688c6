//! What a trigger brought to the program.

use entourage_types::{Author, ItemBody, Message, Payload, Trigger};

use crate::run::{Interrupt, Result, Run};

impl Run<'_> {
    /// The payload of the last trigger of this name that the run has read; none if it has read none.
    ///
    /// # Errors
    /// If a trigger of this name has another payload.
    pub fn trigger<P: Payload>(&self) -> Result<Option<P>> {
        let Some(last) = self.triggers().find(|trigger| trigger.name == P::NAME) else { return Ok(None) };
        last.read().map_err(|error| {
            Interrupt::failed(format!("the payload of the trigger `{}` cannot be read: {error}", P::NAME))
        })
    }

    /// The triggers that the run has read, the last one first.
    pub(in crate::run) fn triggers(&self) -> impl Iterator<Item = &Trigger> {
        let own = self.items().iter().rev().filter(|item| item.run == self.record.id);
        own.filter_map(|item| match &item.body {
            ItemBody::Message(Message { from: Author::Trigger { trigger }, .. }) => Some(&**trigger),
            _ => None,
        })
    }
}
