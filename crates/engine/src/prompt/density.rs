//! Estimates how many tokens a text takes, from what the model counted before.

use entourage_types::{Item, ItemBody, Kind};

use super::View;

/// Bytes per token, if nothing better is known.
pub(crate) const BYTES: usize = 4;
/// The highest density that is assumed, in percent: tokens that a model counts for a hundred estimated with
/// [`BYTES`].
pub(crate) const DENSEST: usize = 400;

/// Returns how many tokens the model counts for a hundred estimated with [`BYTES`], between 100 and
/// [`DENSEST`]: according to the last request that it answered in this session, which had `beside` bytes
/// beside the conversation.
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
