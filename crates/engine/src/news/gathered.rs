//! The hints of one owner since its last news.

use std::collections::{BTreeMap, BTreeSet};

use entourage_types::AgentId;

use super::{News, ServerNews, TreeNews};

/// The most trees that news name, and the most agents of each.
const TREES: usize = 256;
const AGENTS: usize = 64;

/// The hints of one owner since its last news.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    trees: BTreeMap<AgentId, Tree>,
    server: Vec<ServerNews>,
    documents: bool,
    /// Whether hints were lost, or are too many to be named.
    lost: bool,
    asked: bool,
}

#[derive(Debug, Default)]
struct Tree {
    seq: u64,
    agents: BTreeSet<AgentId>,
    too_many: bool,
}

impl Gathered {
    /// An event happened; `asks` if a question was asked or closed.
    pub(super) fn event(&mut self, root: AgentId, seq: u64, agent: AgentId, asks: bool) {
        self.asked |= asks;
        if self.lost || (self.trees.len() >= TREES && !self.trees.contains_key(&root)) {
            self.lose();
            return;
        }
        let tree = self.trees.entry(root).or_default();
        tree.seq = tree.seq.max(seq);
        if !tree.too_many && tree.agents.insert(agent) && tree.agents.len() > AGENTS {
            tree.too_many = true;
            tree.agents.clear();
        }
    }

    /// Something in the server itself changed.
    pub(super) fn server(&mut self, news: ServerNews) {
        if !self.server.contains(&news) {
            self.server.push(news);
        }
    }

    /// Projects or documents changed.
    pub(super) const fn documents(&mut self) {
        self.documents = true;
    }

    /// Hints were lost.
    pub(super) fn lose(&mut self) {
        self.lost = true;
        self.trees.clear();
        self.asked = true;
    }

    /// Whether questions may have been asked or closed.
    pub(super) const fn has_questions(&self) -> bool {
        self.asked
    }

    /// Takes all hints, without the open questions; none if there are none.
    pub(super) fn take(&mut self) -> Option<News> {
        let Self { trees, server, documents, lost, .. } = std::mem::take(self);
        if trees.is_empty() && server.is_empty() && !documents && !lost {
            return None;
        }
        let named = trees.into_iter().map(|(root, Tree { seq, agents, too_many })| TreeNews {
            root,
            seq,
            agents: (!too_many).then(|| agents.into_iter().collect()),
        });
        let trees = (!lost).then(|| named.collect());
        Some(News { trees, server, documents, ..News::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_of_a_tree_are_one_and_name_each_agent_once_until_there_are_too_many() {
        let (mut gathered, root, agent) = (Gathered::default(), AgentId::new(), AgentId::new());
        assert!(gathered.take().is_none());
        for seq in [1, 2, 3] {
            gathered.event(root, seq, agent, false);
        }
        let of_tree = TreeNews { root, seq: 3, agents: Some(vec![agent]) };
        assert_eq!(gathered.take().unwrap().trees, Some(vec![of_tree]));
        assert!(gathered.take().is_none(), "each hint is sent once");
        for seq in 0..=AGENTS as u64 {
            gathered.event(root, seq, AgentId::new(), false);
        }
        assert_eq!(gathered.take().unwrap().trees.unwrap()[0].agents, None);
    }

    #[test]
    fn hints_that_were_lost_or_are_too_many_say_to_read_everything() {
        let mut gathered = Gathered::default();
        for seq in 0..=TREES as u64 {
            gathered.event(AgentId::new(), seq, AgentId::new(), false);
        }
        assert_eq!(gathered.take().unwrap().trees, None);
        gathered.server(ServerNews::Kinds);
        gathered.server(ServerNews::Kinds);
        gathered.documents();
        let news = gathered.take().unwrap();
        assert_eq!((news.trees, news.server, news.documents), (Some(vec![]), vec![ServerNews::Kinds], true));
    }
}
