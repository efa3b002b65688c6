//! How many tokens a text takes, estimated by what the model counted before.

use entourage_types::{Item, ItemBody, Kind};

use super::View;

/// Bytes of a token, where nothing better is known.
pub(crate) const BYTES: usize = 4;
/// The most by which a model's tokens may be more than that says, in percent.
pub(crate) const DENSEST: usize = 400;

/// How many tokens the model counts where [`BYTES`] says a hundred: by the last request that it
/// answered in this session, which had so many bytes beside the conversation.
pub(crate) fn density(items: &[Item], kind: &Kind, beside: usize) -> usize {
    let last = items.iter().enumerate().rev().find_map(|(index, item)| match &item.body {
        ItemBody::Turn(turn) => Some((index, turn.used.as_ref()?.usage.input)),
        _ => None,
    });
    let Some((index, counted)) = last else { return 100 };
    let seen = View::of(&items[..index], kind).weight() + beside;
    let counted = usize::try_from(counted).unwrap_or(usize::MAX).saturating_mul(BYTES);
    (counted.saturating_mul(100) / seen.max(1)).clamp(100, DENSEST)
}
