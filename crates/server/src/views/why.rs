//! Why an agent does not go on.

use entourage_api::{Cause, Why, WhyLink};
use entourage_engine as engine;
use entourage_types::{Shortage, Time};

pub(crate) fn why(why: &engine::Why) -> Why {
    // A chain has at least one link.
    let since = why.since().unwrap_or(Time::from_micros(0));
    let chain = why.chain().iter().cloned().map(link).collect();
    let unread = why.unread().iter().map(|&word| word.to_owned()).collect();
    Why { cause: cause(why.cause().clone()), since, text: why.text(), chain, unread }
}

fn link(engine::Link { agent, kind, title, since, cause: of }: engine::Link) -> WhyLink {
    WhyLink { agent, kind, title, since, cause: cause(of) }
}

fn cause(cause: engine::Cause) -> Cause {
    match cause {
        engine::Cause::Question { question, about, asks, due } => {
            Cause::Question { question, about, asks, due }
        }
        engine::Cause::Retry { attempt, error, due } => Cause::Retry { attempt, error, due },
        engine::Cause::CodeRetry { failures, error, due } => Cause::CodeRetry { failures, error, due },
        engine::Cause::Gate { model, due } => Cause::Gate { model, due },
        engine::Cause::Budget { shortage: Shortage { budget, needs, left }, may_have_room, due } => {
            Cause::Budget { of: budget.into(), needs: needs.into(), left: left.into(), may_have_room, due }
        }
        engine::Cause::Room { due } => Cause::Room { due },
        engine::Cause::Timer { due } => Cause::Timer { due },
        engine::Cause::Task { task } => Cause::Task { task },
        engine::Cause::Pause { reason } => Cause::Pause { reason },
        engine::Cause::Place { busy, limit } => Cause::Place { busy, limit },
        engine::Cause::Elsewhere => Cause::Elsewhere,
        engine::Cause::Process => Cause::Process,
        engine::Cause::Crash { ends } => Cause::Crash { ends },
        engine::Cause::Work => Cause::Work,
        engine::Cause::Rest { failed, error, archived, below, more_below } => {
            Cause::Rest { failed, error, archived, below, more_below }
        }
        engine::Cause::Deleted => Cause::Deleted,
        engine::Cause::Nothing => Cause::Nothing,
    }
}
