//! Keeps the conversation within the model's context window: before a call that would fill the window, and
//! after one that was refused as too long, a digest replaces the oldest turns of the session. It replaces
//! whole turns only, so that no call is separated from its output. The digest is an item of its own, and what
//! the model had read beside the replaced items is appended again behind it: every later request, also after a
//! crash, sees the same.

use std::sync::Arc;

use entourage_types::{Digest, Item, ItemBody, Status};

use crate::prompt::{BYTES, DENSEST, SummaryOf, View, density};
use crate::run::{
    Interrupt, Result, Run,
    model::summarize::{Summary, SummaryRequest},
};

/// A request of this many bytes fits into any window.
const FITS: usize = 8 * 1024;
/// The percentage of the room that the remaining turns may take, so that the next digest is not needed soon.
const STAYS: usize = 50;
/// A digest has at most this many characters, and at most a `DIGEST_PART`th as many as the window has tokens.
const DIGEST: usize = 4_000;
const DIGEST_PART: usize = 5;
/// The characters of a message or output that the model reads, however little room there is.
const LEAST: usize = 200;

/// What a digest replaces, and how much the model reads of what remains.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    /// The index of the first item of the view that remains.
    cut: usize,
    max_chars: Option<usize>,
}

impl Run<'_> {
    /// Compacts the conversation if the next request would leave no room in the model's window for the
    /// answer. Does nothing if the size of the window is unknown.
    pub(in crate::run) async fn make_room(&mut self) -> Result<()> {
        let weight = View::of(self.items(), &self.kind).weight();
        let beside = self.system().await?.0.len() + self.offered.tools().weight;
        let Some(window) = self.window(weight + beside).await? else { return Ok(()) };
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share of a window, in bytes"
        )]
        let share = (window as f64 * self.kind.context.compact_at) as usize * BYTES;
        // Far from full: what the model is to know beside the conversation need not be weighed.
        if (weight + beside) * DENSEST / 100 + share / 4 <= share {
            return Ok(());
        }
        let room = (share * 100 / density(self.items(), &self.kind, beside)).saturating_sub(beside);
        // Behind a digest all of it is appended again.
        let anew = self.whole_context().await?;
        let read = View::of(self.items(), &self.kind).weight_of_contexts();
        if weight + anew.saturating_sub(read) > room {
            Box::pin(self.compact(room.saturating_sub(anew), DIGEST.min(window / DIGEST_PART))).await?;
        }
        Ok(())
    }

    /// Shortens the conversation to about half of what it was in a request that was refused as too long.
    /// Returns whether anything could be shortened.
    pub(in crate::run) async fn shorten(&mut self) -> Result<bool> {
        let weight = View::of(self.items(), &self.kind).weight();
        Box::pin(self.compact(weight / 2, DIGEST.min(weight / 2 / DIGEST_PART))).await
    }

    /// Writes a digest so that the conversation fits into `room` bytes. Returns whether anything could be
    /// shortened.
    async fn compact(&mut self, room: usize, digest_chars: usize) -> Result<bool> {
        let (items, kind) = (self.transcript.lend(), Arc::clone(&self.kind));
        let view = View::of(&items, &kind);
        let plan = plan(view, room.saturating_sub(digest_chars));
        let digest = match &plan {
            Some(plan) => self.digest(view, plan, digest_chars).await,
            None => Ok(None),
        };
        self.transcript.give_back(items);
        let Some(digest) = digest? else { return Ok(false) };
        let at = self.engine.now();
        let mut writes = vec![self.append(ItemBody::Digest(digest), at)];
        writes.extend(self.append_context(0).await?);
        writes.push(self.record.write(Status::Running, None));
        self.commit(writes).await?;
        Ok(true)
    }

    async fn digest(&mut self, view: View<'_>, plan: &Plan, max_chars: usize) -> Result<Option<Digest>> {
        let Some(first) = view.items.get(plan.cut) else { return Ok(None) };
        let Summary { text, used, asked } = if plan.cut == 0 {
            let text = view.digest.map(|digest| digest.text.clone()).unwrap_or_default();
            Summary { text, used: None, asked: None }
        } else {
            let gone = View { items: &view.items[..plan.cut], ..view };
            self.summarize(gone, SummaryRequest { of: SummaryOf::Beginning, max_chars }).await?
        };
        Ok(Some(Digest { from: first.seq, text, max_chars: plan.max_chars, used, asked }))
    }

    /// Returns the smallest known window of the models that may be asked, in tokens. Asks a model's server
    /// for it only if the request has more than `FITS` bytes.
    async fn window(&self, bytes: usize) -> Result<Option<usize>> {
        let model = self.engine.model();
        let mut smallest = None;
        for name in self.engine.models_of(&self.kind) {
            if bytes > FITS {
                tokio::select! {
                    biased;
                    () = self.control.cancel().cancelled() => return Err(Interrupt::Stopping),
                    () = model.learn(name.as_deref()) => {}
                }
            }
            let window = model.profile(name.as_deref()).context_window;
            smallest = window.into_iter().chain(smallest).min();
        }
        Ok(smallest.map(|window| window as usize))
    }
}

/// Plans a digest with which the rest fits into `room` bytes; none if nothing can be shortened.
fn plan(view: View<'_>, room: usize) -> Option<Plan> {
    let weighs =
        |cut: usize| -> usize { view.items[cut..].iter().map(|item: &Item| view.weight_of(item)).sum() };
    let target = room * STAYS / 100;
    let mut beginnings = view.beginnings().filter(|index| *index > 0).peekable();
    let mut cut = 0;
    while weighs(cut) > target
        && let Some(next) = beginnings.next()
    {
        cut = next;
    }
    let mut bound = None;
    let mut chars = view.max_output;
    let stays = View { items: &view.items[cut..], ..view };
    while stays.bounded(bound).weight_of_items() > room && chars > LEAST {
        chars = (chars / 2).max(LEAST);
        bound = Some(chars);
    }
    let before = view.digest.and_then(|digest| digest.max_chars);
    let max_chars = bound.or(before);
    let shorter = || stays.bounded(bound).weight_of_items() < stays.weight_of_items();
    (cut > 0 || max_chars != before && shorter()).then_some(Plan { cut, max_chars })
}
