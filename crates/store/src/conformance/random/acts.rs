//! The acts of random histories.

use proptest::prelude::*;

use super::budgets::{self, RandomChange, RandomNeed};

/// One act of a history. Numbers select among what exists by then.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Claim(usize),
    Commit { by: Option<usize>, stale: bool, expect: Option<RandomExpect>, writes: Vec<RandomWrite> },
    Restart,
}

/// What a commit expects.
#[derive(Debug, Clone)]
pub(super) enum RandomExpect {
    Agent(usize),
    Absent(u8),
    Status(u8, bool),
    Version(u8, u64),
    Room(usize, u32),
    Children(usize, u32),
    /// In the tree of the first, at this time or later.
    Created(usize, u32, u64),
    /// That its inbox has fewer posts and bytes.
    Inbox(usize, u32, u64),
    NotDeleted(usize),
    ChildrenDeleted(usize),
    Ended(usize),
    Living(usize),
    /// That the second agent is the last one of the first one's tree.
    LastCreated(usize, usize),
    AtRest(usize, u64),
    /// That a budget has room, or lacks it.
    Budget(RandomNeed, bool),
}

/// What a commit writes.
#[derive(Debug, Clone)]
pub(super) enum RandomWrite {
    Root { stranger: bool },
    Child { of: usize, key: Option<u8> },
    Row { status: usize, waiting: bool, session: bool },
    Item { skip: bool },
    Run { new: bool, status: usize, calls: u8 },
    Step { key: u8, done: bool },
    Post { to: usize },
    Read { nth: usize },
    Wake { agent: usize, due: u64, again: bool },
    Woken { nth: usize },
    Task { from: usize, to: usize },
    Question { of: usize, open: bool },
    Record { id: u8, stranger: bool, open: bool, text: Option<u8>, name: Option<u8>, below: Option<u8> },
    Forget { id: u8 },
    Prune { of: usize },
    PruneEvents { of: usize, before: u64 },
    Tombstone { of: usize },
    Budget(RandomChange),
}

/// One of a few numbers, or none.
fn few(numbers: u8) -> impl Strategy<Value = Option<u8>> {
    prop::option::of(0..numbers)
}

fn deed() -> impl Strategy<Value = RandomWrite> {
    let any_agent = 0..64_usize;
    prop_oneof![
        1 => any::<bool>().prop_map(|stranger| RandomWrite::Root { stranger }),
        1 => (any_agent.clone(), prop::option::of(0..2_u8)).prop_map(|(of, key)| RandomWrite::Child { of, key }),
        4 => (0..5_usize, any::<bool>(), prop::bool::weighted(0.2))
            .prop_map(|(status, waiting, session)| RandomWrite::Row { status, waiting, session }),
        4 => prop::bool::weighted(0.1).prop_map(|skip| RandomWrite::Item { skip }),
        3 => (any::<bool>(), 0..4_usize, 0..6_u8)
            .prop_map(|(new, status, calls)| RandomWrite::Run { new, status, calls }),
        2 => (0..4_u8, any::<bool>()).prop_map(|(key, done)| RandomWrite::Step { key, done }),
        3 => any_agent.clone().prop_map(|to| RandomWrite::Post { to }),
        2 => (0..4_usize).prop_map(|nth| RandomWrite::Read { nth }),
        2 => (any_agent.clone(), 0..20_u64, any::<bool>())
            .prop_map(|(agent, due, again)| RandomWrite::Wake { agent, due, again }),
        2 => (0..4_usize).prop_map(|nth| RandomWrite::Woken { nth }),
        1 => (any_agent.clone(), any_agent.clone()).prop_map(|(from, to)| RandomWrite::Task { from, to }),
        1 => (any_agent.clone(), any::<bool>()).prop_map(|(of, open)| RandomWrite::Question { of, open }),
        1 => any_agent.clone().prop_map(|of| RandomWrite::Prune { of }),
        1 => any_agent.clone().prop_map(|of| RandomWrite::Tombstone { of }),
        1 => (any_agent, 0..20_u64).prop_map(|(of, before)| RandomWrite::PruneEvents { of, before }),
        4 => budgets::change().prop_map(RandomWrite::Budget),
        1 => (0..4_u8).prop_map(|id| RandomWrite::Forget { id }),
        3 => (0..4_u8, prop::bool::weighted(0.1), any::<bool>(), few(3), few(2), few(4))
            .prop_map(|(id, stranger, open, text, name, below)| {
                RandomWrite::Record { id, stranger, open, text, name, below }
            }),
    ]
}

pub(super) fn act() -> impl Strategy<Value = Act> {
    let hope = prop_oneof![
        (0..64_usize).prop_map(RandomExpect::Agent),
        (0..4_u8).prop_map(RandomExpect::Absent),
        (0..4_u8, any::<bool>()).prop_map(|(id, open)| RandomExpect::Status(id, open)),
        (0..4_u8, 0..4_u64).prop_map(|(id, version)| RandomExpect::Version(id, version)),
        (0..64_usize, 1..6_u32).prop_map(|(of, limit)| RandomExpect::Room(of, limit)),
        (0..64_usize, 0..4_u32).prop_map(|(of, limit)| RandomExpect::Children(of, limit)),
        (0..64_usize, 0..4_u32, 0..60_u64)
            .prop_map(|(of, limit, since)| RandomExpect::Created(of, limit, since)),
        (0..64_usize, 0..4_u32, 0..200_u64)
            .prop_map(|(of, posts, bytes)| RandomExpect::Inbox(of, posts, bytes)),
        (0..64_usize).prop_map(RandomExpect::NotDeleted),
        (0..64_usize).prop_map(RandomExpect::ChildrenDeleted),
        (0..64_usize).prop_map(RandomExpect::Ended),
        (0..64_usize).prop_map(RandomExpect::Living),
        (0..64_usize, 0..64_usize).prop_map(|(of, last)| RandomExpect::LastCreated(of, last)),
        (0..64_usize, 0..60_u64).prop_map(|(of, since)| RandomExpect::AtRest(of, since)),
        (budgets::need(), any::<bool>()).prop_map(|(need, lacks)| RandomExpect::Budget(need, lacks)),
        (budgets::need(), Just(false)).prop_map(|(need, lacks)| RandomExpect::Budget(need, lacks)),
    ];
    let commit = (
        prop::option::weighted(0.7, 0..64_usize),
        prop::bool::weighted(0.1),
        prop::option::weighted(0.3, hope),
        prop::collection::vec(deed(), 1..8),
    );
    prop_oneof![
        4 => (0..64_usize).prop_map(Act::Claim),
        20 => commit.prop_map(|(by, stale, expect, writes)| Act::Commit { by, stale, expect, writes }),
        1 => Just(Act::Restart),
    ]
}
