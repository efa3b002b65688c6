//! What nodes keep in a store that they share: which of them are alive, and which of them has an agent or a job.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use entourage_types::{AgentId, DispatchBy, NodeId, NodeRole, Wakeup};

pub use super::meeting::{InMemory, Meeting};
use super::{
    races::{ROUNDS, at_once},
    sample::{at, join, new_child, new_root, owner},
};
use crate::{Commit, Error, Held, NODE_LEASE, NodeInfo, NodeListener, Nodes, Result, Store, Write};

/// Half of the time for which a sign of life holds, so that what is to be alive is so on a slow machine, too.
const HALF: Duration = Duration::from_millis(NODE_LEASE.as_millis() as u64 / 2);

fn info() -> NodeInfo {
    NodeInfo {
        listener: None,
        version: "1.0.0".to_owned(),
        role: NodeRole::All,
        dispatch: None,
        draining: false,
    }
}

fn listener() -> NodeListener {
    NodeListener { address: "10.0.0.7:4300".to_owned(), token: "5e".repeat(32) }
}

/// Another node, which is alive.
async fn alive(place: &impl Meeting) -> Result<Arc<dyn Nodes>> {
    let node = place.node().await?;
    node.beat(&info()).await?;
    Ok(node)
}

async fn two(place: &impl Meeting) -> Result<[Arc<dyn Nodes>; 2]> {
    Ok([alive(place).await?, alive(place).await?])
}

fn agents<const N: usize>() -> [AgentId; N] {
    std::array::from_fn(|_| AgentId::new())
}

fn held(agent: AgentId, by: &Arc<dyn Nodes>) -> Held {
    Held { agent, by: by.id() }
}

/// The ids of the nodes that are alive.
async fn seen(by: &Arc<dyn Nodes>) -> Result<Vec<NodeId>> {
    Ok(by.beat(&info()).await?.nodes.iter().map(|node| node.id).collect())
}

fn sorted(nodes: &[&Arc<dyn Nodes>]) -> Vec<NodeId> {
    let ids: BTreeSet<NodeId> = nodes.iter().map(|node| node.id()).collect();
    ids.into_iter().collect()
}

/// What a node says of itself, all nodes read, as it said it last.
pub async fn a_node_is_seen_as_it_described_itself_last(place: impl Meeting) -> Result<()> {
    let (one, other) = (place.node().await?, alive(&place).await?);
    assert_ne!(one.id(), other.id());
    assert_eq!(one.database().await?, other.database().await?);
    let mut began = None;
    let told = [
        NodeInfo {
            listener: Some(listener()),
            role: NodeRole::Worker,
            dispatch: Some(DispatchBy::Restate),
            ..info()
        },
        NodeInfo {
            version: "1.1.0-\u{e9}".to_owned(),
            role: NodeRole::Api,
            dispatch: Some(DispatchBy::Database),
            ..info()
        },
        NodeInfo { draining: true, ..info() },
    ];
    for told in told {
        let own = one.beat(&told).await?;
        let seen = other.beat(&info()).await?;
        assert!(own.now <= seen.now);
        let nodes = own.nodes.iter().chain(&seen.nodes).filter(|node| node.id == one.id());
        let nodes: Vec<_> = nodes.collect();
        assert_eq!(nodes.iter().map(|node| &node.info).collect::<Vec<_>>(), [&told, &told]);
        let started = nodes[0].started;
        assert!(*began.get_or_insert(started) == started && started <= own.now, "a node starts once");
    }
    Ok(())
}

/// A node is alive until its last sign of life is too old, and again after the next one. All nodes see the same, in the
/// order of their ids.
pub async fn a_node_is_alive_for_some_time_after_each_sign_of_life(place: impl Meeting) -> Result<()> {
    let ([one, other], third) = (two(&place).await?, alive(&place).await?);
    for node in [&one, &other, &third] {
        assert_eq!(seen(node).await?, sorted(&[&one, &other, &third]));
    }
    place.pass(HALF).await?;
    assert_eq!(seen(&other).await?, sorted(&[&one, &other, &third]));
    assert_eq!(seen(&third).await?, sorted(&[&one, &other, &third]));
    place.pass(HALF).await?;
    assert_eq!(seen(&other).await?, sorted(&[&other, &third]));
    let before = other.beat(&info()).await?.now;
    assert_eq!(seen(&one).await?, sorted(&[&one, &other, &third]));
    place.pass(HALF).await?;
    assert!(one.beat(&info()).await?.now >= before, "the clock of the nodes never goes back");
    Ok(())
}

/// A node that has left is not alive, and what it had is free at once. It may come back.
pub async fn a_node_that_leaves_gives_everything_back(place: impl Meeting) -> Result<()> {
    let ([one, other], [first, second]) = (two(&place).await?, agents());
    assert_eq!(one.take(&[first, second]).await?, []);
    assert!(one.take_job("sweep").await?);
    one.leave().await?;
    assert_eq!(seen(&other).await?, sorted(&[&other]));
    assert_eq!(other.take(&[first]).await?, []);
    assert!(other.take_job("sweep").await?);
    one.beat(&info()).await?;
    assert_eq!(one.take(&[first, second]).await?, [held(first, &other)]);
    assert!(!one.take_job("sweep").await?);
    one.leave().await?;
    one.leave().await
}

/// The rows of a node that is gone for days hold nothing, and no node minds them.
pub async fn a_node_that_is_gone_for_days_holds_nothing(place: impl Meeting) -> Result<()> {
    let ([one, other], [agent]) = (two(&place).await?, agents());
    one.take(&[agent]).await?;
    one.take_job("sweep").await?;
    place.pass(Duration::from_secs(3 * 86_400)).await?;
    for _ in 0..2 {
        assert_eq!(seen(&other).await?, sorted(&[&other]));
    }
    assert_eq!(other.take(&[agent]).await?, []);
    assert!(other.take_job("sweep").await?);
    assert_eq!(seen(&one).await?, sorted(&[&one, &other]));
    Ok(())
}

/// Agents of a live node are refused to others, and each refusal names the holder. Taking what one has changes nothing.
pub async fn an_agent_is_of_the_node_that_took_it_first(place: impl Meeting) -> Result<()> {
    let ([one, other], [first, second, third]) = (two(&place).await?, agents());
    assert_eq!(one.take(&[]).await?, []);
    assert_eq!(one.take(&[second, first, second]).await?, []);
    assert_eq!(other.take(&[second, third]).await?, [held(second, &one)]);
    assert_eq!(one.take(&[first, second]).await?, []);
    let mut refused = one.take(&[third, first]).await?;
    assert_eq!(refused.pop(), Some(held(third, &other)));
    assert_eq!(refused, []);
    Ok(())
}

/// A node gives back what it has taken, and nothing of another node.
pub async fn an_agent_is_given_back_by_its_node_alone(place: impl Meeting) -> Result<()> {
    let ([one, other], [first, second]) = (two(&place).await?, agents());
    one.take(&[first, second]).await?;
    other.give_back(&[first, second]).await?;
    assert_eq!(other.take(&[first]).await?, [held(first, &one)]);
    one.give_back(&[first]).await?;
    assert_eq!(other.take(&[first]).await?, []);
    assert_eq!(one.take(&[first, second]).await?, [held(first, &other)]);
    one.give_back(&[first, second]).await?;
    assert_eq!(one.take(&[first]).await?, [held(first, &other)]);
    Ok(())
}

/// What a node has is free once it is not alive, also if it never was.
pub async fn agents_of_a_dead_node_are_free(place: impl Meeting) -> Result<()> {
    let ([one, other], [first, second, third]) = (two(&place).await?, agents());
    one.take(&[first, second]).await?;
    place.pass(HALF).await?;
    other.beat(&info()).await?;
    assert_eq!(other.take(&[first]).await?, [held(first, &one)]);
    place.pass(HALF).await?;
    assert_eq!(other.take(&[first]).await?, []);
    // It is alive again, and has what nobody took meanwhile.
    one.beat(&info()).await?;
    assert_eq!(one.take(&[first, second]).await?, [held(first, &other)]);
    assert_eq!(other.take(&[second]).await?, [held(second, &one)]);
    let unborn = place.node().await?;
    assert_eq!(unborn.take(&[third]).await?, []);
    assert_eq!(other.take(&[third]).await?, []);
    Ok(())
}

/// A job is one node's, until that leaves or is no longer alive.
pub async fn a_job_is_done_by_one_node(place: impl Meeting) -> Result<()> {
    let [one, other] = two(&place).await?;
    for _ in 0..2 {
        assert!(one.take_job("sweep").await?);
        assert!(!other.take_job("sweep").await?);
        assert!(other.take_job("prune").await?);
    }
    place.pass(HALF).await?;
    other.beat(&info()).await?;
    assert!(!other.take_job("sweep").await?);
    place.pass(HALF).await?;
    assert!(other.take_job("sweep").await?);
    one.beat(&info()).await?;
    assert!(!one.take_job("sweep").await? && !one.take_job("prune").await?);
    Ok(())
}

/// Two nodes take the same agents and the same job at once, some of them free and some of a dead node: each is one node's,
/// and the other one learns whose.
pub async fn two_nodes_cannot_both_take_an_agent(place: impl Meeting) -> Result<()> {
    let (dead, [one, other]) = (alive(&place).await?, two(&place).await?);
    for round in 0..ROUNDS {
        let (agents, job) = (agents::<4>(), round.to_string());
        dead.take(&agents[..2]).await?;
        dead.take_job(&job).await?;
        if round == 0 {
            place.pass(NODE_LEASE).await?;
        }
        one.beat(&info()).await?;
        other.beat(&info()).await?;
        let all = |node: &Arc<dyn Nodes>, agents: Vec<AgentId>| {
            let (node, job) = (Arc::clone(node), job.clone());
            async move { (node.take(&agents).await, node.take_job(&job).await) }
        };
        let backwards = agents.iter().rev().copied().collect();
        let (first, second) = at_once(round, all(&one, agents.to_vec()), all(&other, backwards)).await?;
        let (to_one, to_other) = (first.0?, second.0?);
        for agent in agents {
            let refusals = (
                to_one.iter().find(|held| held.agent == agent),
                to_other.iter().find(|held| held.agent == agent),
            );
            match refusals {
                (None, Some(refusal)) => assert_eq!(refusal.by, one.id()),
                (Some(refusal), None) => assert_eq!(refusal.by, other.id()),
                both => panic!("not one of two: {both:?}"),
            }
        }
        assert_ne!(first.1?, second.1?, "a job is one node's");
    }
    Ok(())
}

/// A node that was taken for dead gives a sign of life and takes its agent again, while another node takes it: one of them
/// has it, and both know which.
pub async fn an_agent_is_either_kept_or_taken_over(place: impl Meeting) -> Result<()> {
    let [one, other] = two(&place).await?;
    for round in 0..ROUNDS {
        let [agent] = agents();
        one.beat(&info()).await?;
        one.take(&[agent]).await?;
        place.pass(NODE_LEASE).await?;
        other.beat(&info()).await?;
        let (keeper, taker) = (Arc::clone(&one), Arc::clone(&other));
        let keep = async move {
            keeper.beat(&info()).await?;
            keeper.take(&[agent]).await
        };
        let (kept, taken) = at_once(round, keep, async move { taker.take(&[agent]).await }).await?;
        let outcomes = (kept?, taken?);
        assert!(
            outcomes == (vec![], vec![held(agent, &one)]) || outcomes == (vec![held(agent, &other)], vec![]),
            "not one of two: {outcomes:?}"
        );
    }
    Ok(())
}

/// Many calls through one node at once: each is answered by what it asked for, and one that follows another finds what
/// that has left.
pub async fn many_calls_of_a_node_are_answered_each(place: impl Meeting) -> Result<()> {
    let [one, other] = two(&place).await?;
    let foreign: [AgentId; 8] = agents();
    other.take(&foreign).await?;
    let calls: Vec<_> = (0..100)
        .map(|nth| {
            let (one, other, foreign) = (Arc::clone(&one), Arc::clone(&other), foreign[nth % foreign.len()]);
            tokio::spawn(async move {
                let [own] = agents();
                for _ in 0..3 {
                    assert_eq!(one.take(&[own, foreign]).await?, [held(foreign, &other)]);
                    assert_eq!(other.take(&[own]).await?, [held(own, &one)]);
                    one.give_back(&[own, foreign]).await?;
                    assert_eq!(other.take(&[own]).await?, []);
                    other.give_back(&[own]).await?;
                }
                Ok(())
            })
        })
        .collect();
    for call in calls {
        join(call).await?;
    }
    Ok(())
}

/// The last events of many trees are read at once; those without events, and agents that are no trees, are left out.
pub async fn the_last_events_of_trees_are_read_at_once(place: impl Meeting) -> Result<()> {
    let (store, node) = (place.store().await?, place.node().await?);
    assert_eq!(node.last_events(&[]).await?, []);
    let (one, other) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let child = new_child(&store, &other).await?;
    let mut found = node.last_events(&[one.id, AgentId::new(), other.id, child.id]).await?;
    found.sort_unstable();
    let mut expected = [(one.id, 1), (other.id, 2)];
    expected.sort_unstable();
    assert_eq!(found, expected);
    let grandchild = child.child("digger", "digs", None, at(1));
    store.commit(Commit::new(at(1)).write(Write::NewAgent(grandchild))).await?;
    assert_eq!(node.last_events(&[other.id]).await?, [(other.id, 3)]);
    Ok(())
}

/// What is due of agents that another live node serves is due for that one alone; what one has taken stays due for itself.
pub async fn what_others_serve_is_due_for_them_alone(place: impl Meeting) -> Result<()> {
    let store = place.store().await?;
    let [one, other] = two(&place).await?;
    let mut agents = Vec::new();
    for _ in 0..5 {
        agents.push(new_root(&store, owner()).await?);
    }
    let mut commit = Commit::new(at(1));
    for (due, agent) in (1..).zip(&agents) {
        commit.push(Write::ScheduleWakeup(Wakeup::new(agent.id, agent.owner.clone(), at(due))));
    }
    store.commit(commit).await?;
    let due = |node: &Arc<dyn Nodes>, limit| {
        let node = Arc::clone(node);
        async move {
            let found = node.due(at(4), None, limit).await?;
            let last = found.last().map(|last| (last.due, last.id));
            let rest = node.due(at(4), last, 10).await?;
            Ok::<_, Error>(found.into_iter().chain(rest).map(|wakeup| wakeup.agent).collect::<Vec<_>>())
        }
    };
    let ids: Vec<AgentId> = agents.iter().map(|agent| agent.id).collect();
    one.take(&ids[1..3]).await?;
    assert_eq!(due(&one, 2).await?, ids[..4], "in order, page by page, up to the time");
    assert_eq!(due(&other, 1).await?, [ids[0], ids[3]]);
    one.give_back(&ids[1..2]).await?;
    assert_eq!(due(&other, 1).await?, [ids[0], ids[1], ids[3]]);
    place.pass(NODE_LEASE).await?;
    other.beat(&info()).await?;
    assert_eq!(due(&other, 3).await?, ids[..4], "what a dead node held is due for all");
    Ok(())
}
