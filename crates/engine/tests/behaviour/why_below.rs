//! Why an agent at rest does not go on, if many are below it.

use entourage_engine::{
    Cause, Why,
    dispatch::{Advance as _, Places},
};
use entourage_store::Write;
use entourage_types::{Agent, Author, Owner, Post, PostBody, Wait, WaitingOn};

use crate::why::{Rows, asked, open};

/// An agent with a message that nobody has read yet.
fn begins(rows: &Rows, agent: Agent) -> [Write; 2] {
    let (from, text) = (Author::User, "Go.".into());
    let body = PostBody::Message { from, text, task: None, queued: false, options: None };
    let post = Post::new(agent.id, rows.now, body);
    [Write::NewAgent(agent), Write::Post(post)]
}

fn below(rows: &Rows, top: &Agent) -> Agent {
    top.child("researcher", "begins".to_owned(), None, rows.now)
}

async fn why(rows: &Rows, top: &Agent) -> Why {
    rows.engine.client(Owner::local()).why(top.id).await.unwrap()
}

/// However many agents are below it, the one that needs a person is named.
#[tokio::test]
async fn who_needs_a_person_is_named_also_below_more_agents_than_are_looked_at() {
    let rows = Rows::new();
    let top = rows.agent("rests");
    rows.write(vec![Write::NewAgent(top.clone())]).await;
    rows.write((0..1_000).flat_map(|_| begins(&rows, below(&rows, &top))).collect()).await;
    let asks = below(&rows, &top);
    let question = rows.question(&asks);
    rows.waits(&asks, WaitingOn::User, Some(open(Wait::Question(asked(question.id))))).await;
    rows.write(vec![Write::record(&question).unwrap()]).await;
    assert!(matches!(rows.cause(&top).await, Cause::Question { .. }));
}

/// What is at work is counted exactly, or said to be at least so much.
#[tokio::test]
async fn more_agents_at_work_than_are_looked_at_are_counted_as_at_least_that_many() {
    let rows = Rows::new();
    rows.engine.occupied(Some(Places { busy: 1, limit: 4, ready: 0 }));
    let top = rows.agent("rests");
    rows.write(vec![Write::NewAgent(top.clone())]).await;
    rows.write((0..1_000).flat_map(|_| begins(&rows, below(&rows, &top))).collect()).await;
    assert_eq!(why(&rows, &top).await.text(), "has nothing to do itself; 1000 agents below it are at work");
    rows.write(begins(&rows, below(&rows, &top)).into()).await;
    let why = why(&rows, &top).await;
    assert!(matches!(why.cause(), Cause::Rest { below: 1_000, more_below: true, .. }), "{why:?}");
    assert_eq!(why.text(), "has nothing to do itself; at least 1000 agents below it are at work");
}

/// However deep the tree is: each agent above another one is read once for all of them.
#[tokio::test]
async fn each_agent_below_costs_as_many_reads() {
    let mut reads = Vec::new();
    for depth in [10, 20, 30] {
        let rows = Rows::new();
        let root = rows.agent("root");
        let top = below(&rows, &root);
        rows.write(vec![Write::NewAgent(root), Write::NewAgent(top.clone())]).await;
        let mut last = top.clone();
        for _ in 0..depth {
            last = below(&rows, &last);
            rows.write(begins(&rows, last.clone()).into()).await;
        }
        let before = rows.calls();
        assert!(matches!(why(&rows, &top).await.cause(), Cause::Process));
        reads.push(rows.calls() - before);
    }
    assert_eq!(reads[2] - reads[1], reads[1] - reads[0], "{reads:?}");
}

/// However many agents of its tree are at work, who has none below is not said to have some.
#[tokio::test]
async fn an_agent_that_has_none_below_it_says_so_in_a_large_tree_too() {
    let rows = Rows::new();
    rows.engine.occupied(Some(Places { busy: 1, limit: 4, ready: 0 }));
    let root = rows.agent("root");
    let leaf = below(&rows, &root);
    rows.write(vec![Write::NewAgent(root.clone()), Write::NewAgent(leaf.clone())]).await;
    rows.write((0..1_001).flat_map(|_| begins(&rows, below(&rows, &root))).collect()).await;
    let why = why(&rows, &leaf).await;
    assert!(matches!(why.cause(), Cause::Rest { below: 0, more_below: false, .. }), "{why:?}");
}
