//! Pages of a tree's events, forwards and backwards.

use entourage_store::EventQuery;
use entourage_types::{AgentId, Event, EventName};

use super::Client;
use crate::{Error, Result};

/// How many events a page scans that shows only some of them. Numbers have no gaps, so it knows where it ends.
pub(super) const SCANNED: u64 = 4_000;

/// Which events of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventFilter {
    /// The first events after this number.
    pub after: Option<u64>,
    /// The last events before this number, unless `after` is given too: then no event from this number on.
    pub before: Option<u64>,
    /// About this agent.
    pub agent: Option<AgentId>,
    /// With this name.
    pub name: Option<EventName>,
    /// At most this many.
    pub limit: u32,
}

/// A page of events, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPage {
    /// The events.
    pub events: Vec<Event>,
    /// The `before` of the page before this one; none if there is no earlier event.
    pub earlier: Option<u64>,
    /// The `after` of the page after this one; none if there is no later event so far.
    pub later: Option<u64>,
    /// The number of the first event that is kept, 0 if there is none.
    pub first: u64,
    /// The number of the last event, 0 if there is none.
    pub last: u64,
}

impl Client {
    /// A page of the events of the tree that an agent belongs to: by default its last events.
    ///
    /// # Errors
    /// As for [`Client::watch`]: [`Error::NotFound`]; [`Error::CursorGone`] if the events right after `after` were
    /// pruned, or the one with the number `before`; [`Error::CursorAhead`] if no event has the number `after` yet.
    pub async fn event_page(&self, of: AgentId, filter: EventFilter) -> Result<EventPage> {
        let (root, store) = (self.agent(of).await?.root, self.engine.store());
        let EventFilter { after, before, agent, name, limit } = filter;
        let last = store.last_event(&self.scope, root).await?;
        let first = store.events(&self.scope, root, 0, 1).await?.first().map_or(0, |event| event.seq);
        if let Some(after) = after.filter(|after| *after > last) {
            return Err(Error::CursorAhead { root, after });
        }
        // A page before pruned events would lead on from there to events that are not kept.
        let begins = after.or(before.map(|before| before.saturating_sub(1)));
        if let Some(after) = begins.filter(|after| first > after.saturating_add(1)) {
            return Err(Error::CursorGone { root, after, first });
        }
        let scanned = if agent.is_some() || name.is_some() { SCANNED } else { u64::from(limit) };
        let above = last.saturating_add(1);
        // The page covers the numbers above `low` and below `high`.
        let end = before.unwrap_or(above).min(above);
        let (low, high, latest) = match after {
            Some(after) => (after, end.min(after.saturating_add(scanned).saturating_add(1)), false),
            None => (end.saturating_sub(scanned.saturating_add(1)), end, true),
        };
        let select = |after, before, limit| {
            let query = EventQuery { after, before: Some(before), latest, agent, name, root, limit };
            store.select_events(&self.scope, query)
        };
        let events = select(low, high, limit).await?;
        // Where the page is full, or its events are large, it ends with its own events; otherwise with the numbers
        // that it looked at.
        let (mut from, mut to) = (low, high.saturating_sub(1));
        let (begins, ends) = (events.first().map(|begin| begin.seq), events.last().map(|end| end.seq));
        if let Some(begin) = begins.filter(|_| latest) {
            let is_cut = !select(low, begin, 1).await?.is_empty();
            from = if is_cut { begin - 1 } else { from };
        } else if let Some(end) = ends {
            let is_cut = !select(end, high, 1).await?.is_empty();
            to = if is_cut { end } else { to };
        }
        let earlier = (first > 0 && from >= first).then_some(from + 1);
        let end_of_later = if latest { last } else { end.saturating_sub(1) };
        let later = (to < end_of_later).then_some(to);
        Ok(EventPage { events, earlier, later, first, last })
    }
}
