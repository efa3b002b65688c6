//! The queue of agents with something to do: owners take turns, and each agent is queued once.

use std::collections::{HashMap, HashSet, VecDeque};

use entourage_types::{AgentId, Owner};

/// Agents that are ready, fair between owners. An agent is queued at most once; one that is woken again while
/// it is at work goes to the back of its owner's line when it is done.
#[derive(Debug, Default)]
pub(super) struct Queue {
    lines: HashMap<Owner, VecDeque<AgentId>>,
    turn: VecDeque<Owner>,
    waiting: HashSet<AgentId>,
    working: HashMap<AgentId, Again>,
}

/// Whether an agent at work was woken meanwhile, and for whom.
type Again = Option<Owner>;

impl Queue {
    /// Queues an agent that has something to do.
    pub(super) fn wake(&mut self, agent: AgentId, owner: &Owner) {
        if let Some(again) = self.working.get_mut(&agent) {
            *again = Some(owner.clone());
            return;
        }
        if !self.waiting.insert(agent) {
            return;
        }
        let line = self.lines.entry(owner.clone()).or_default();
        if line.is_empty() {
            self.turn.push_back(owner.clone());
        }
        line.push_back(agent);
    }

    /// The next agent to work; it counts as at work until [`Queue::done`].
    pub(super) fn next(&mut self) -> Option<(AgentId, Owner)> {
        let owner = self.turn.pop_front()?;
        let line = self.lines.get_mut(&owner)?;
        let agent = line.pop_front()?;
        if line.is_empty() {
            self.lines.remove(&owner);
        } else {
            self.turn.push_back(owner.clone());
        }
        self.waiting.remove(&agent);
        self.working.insert(agent, None);
        Some((agent, owner))
    }

    /// Notes that an agent has stopped working; if it was woken meanwhile, it is queued again.
    pub(super) fn done(&mut self, agent: AgentId) {
        if let Some(Some(owner)) = self.working.remove(&agent) {
            self.wake(agent, &owner);
        }
    }

    /// The number of queued agents.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_take_turns_and_no_agent_works_twice_at_once() {
        let (busy, quiet) = (Owner::new("busy"), Owner::new("quiet"));
        let mut queue = Queue::default();
        let many: Vec<AgentId> = (0..100).map(|_| AgentId::new()).collect();
        for agent in &many {
            queue.wake(*agent, &busy);
            queue.wake(*agent, &busy);
        }
        let one = AgentId::new();
        queue.wake(one, &quiet);
        assert_eq!(queue.len(), 101);
        assert_eq!(queue.next().map(|next| next.0), Some(many[0]));
        assert_eq!(queue.next().map(|next| next.0), Some(one), "the quiet owner is second, not last");

        queue.wake(one, &quiet);
        let rest: Vec<_> = std::iter::from_fn(|| queue.next()).map(|next| next.0).collect();
        assert_eq!(rest, many[1..], "an agent at work is not handed out");
        queue.done(one);
        assert_eq!(queue.next().map(|next| next.0), Some(one), "but it is not forgotten");
        queue.done(one);
        assert_eq!(queue.next(), None);
    }
}
