//! What a call of a weak model can use at most: a wrapper asks its provider twice and tells it more than the request
//! holds, and the provider counts each byte as a token and asks more for what it writes to its cache.

use entourage_engine::{Cause, NewAgent};
use entourage_llm::{Message, NextAction, Price, Request, Script, ScriptedModel};
use entourage_testkit::World;
use entourage_types::{Agent, Amount, Cost, Limits, Owner, Status, Tally, Usage, WaitingOn};
use serde_json::json;

use crate::kit::{first_tools, one_kind};

/// How many tokens, of a byte each, an answer has.
const ANSWER: u32 = 50_000;

const PRICE: Price = Price { input: 1.0, output: 1.0, cached: Some(0.1), cache_written: Some(2.5) };

/// How many bytes of texts a provider receives of a request.
fn received(request: &Request) -> u64 {
    let texts = request.messages.iter().map(|message| match message {
        Message::User(text) | Message::Notice(text) | Message::Context(text) => text.len(),
        Message::Assistant { text, calls } => {
            assert!(calls.is_empty(), "a weak model reads calls as texts");
            text.len()
        }
        Message::Output { .. } => panic!("a weak model reads outputs as notices"),
    });
    assert!(request.tools.is_empty());
    let schema = request.output_schema.as_ref().map_or(0, |schema| schema.to_string().len());
    (request.system.len() + texts.sum::<usize>() + schema) as u64
}

/// A model that uses as much as it may: it repeats its example first, and its texts take more bytes where they are put
/// into an action.
fn greedy() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        let odd = "\"\n\u{1}".repeat(4_000);
        let last = match request.messages.last() {
            Some(Message::User(text) | Message::Notice(text)) => text.as_str(),
            other => panic!("{other:?}"),
        };
        let is_noted =
            |message: &Message| matches!(message, Message::Notice(text) if text.starts_with("Result of"));
        let is_told = last.starts_with("That is the example");
        let action = match request.messages.iter().any(is_noted) {
            _ if !is_told => json!({"action": "final_answer", "text": "the answer"}),
            true => json!({"action": "final_answer", "text": odd}),
            false => json!({"action": "create_note", "arguments": {"title": "t", "content": odd}}),
        };
        let action = format!("{action:<width$}", action = action.to_string(), width = ANSWER as usize);
        assert_eq!(action.len(), ANSWER as usize);
        let input = received(request);
        let used = Usage { input, output: ANSWER.into(), cache_written: input, ..Usage::default() };
        Some(Ok(Script::text(action).using(used)))
    })
    .priced(PRICE)
}

/// A tree whose budget is this, and whose model is weak.
async fn tree(budget: Limits) -> (World, Agent) {
    let limits = Limits { max_answer_tokens: Some(ANSWER), ..budget };
    let world = World::builder(NextAction::new(greedy())).tools(first_tools());
    let world = world.kinds(one_kind(|kind| kind.limits = limits)).dispatchers([]).start().await;
    let root = world.client().create(NewAgent::default(), None).await.unwrap();
    (world, root)
}

async fn used(world: &World, root: &Agent) -> Tally {
    world.client().tree_usage(root.id).await.unwrap().total()
}

/// Sends these messages, each of which takes two calls; after each of them it is as the agent is then.
async fn talk(world: &World, root: &Agent, texts: &[&str]) -> Agent {
    for text in texts {
        world.engine().client(Owner::local()).send(root.id, text, None).await.unwrap();
        world.engine().advance(root.id).await.unwrap();
    }
    world.client().agent(root.id).await.unwrap()
}

/// What the last call uses is a token, or a billionth of a dollar, more than the budget leaves it: it is not made. Once
/// exactly what it lacks is granted, it is.
#[tokio::test]
async fn a_weak_model_that_is_asked_twice_and_writes_to_its_cache_spends_nothing_beyond_a_budget() {
    const TEXTS: [&str; 2] = ["Note it.", "Is it <noted> & \"done\"?"];
    let (world, root) = tree(Limits::default()).await;
    assert_eq!(talk(&world, &root, &TEXTS).await.status, Status::Succeeded);
    let whole = used(&world, &root).await;
    assert_eq!(whole.calls, 6, "each of three calls is two requests");
    let less = |cost: Cost| Cost::from_nanos(cost.nanos() - 1);
    let in_money = Limits { max_tree_cost: Some(less(whole.cost)), ..Limits::default() };
    let in_tokens = Limits { max_tree_tokens: Some(whole.usage.tokens() - 1), ..Limits::default() };
    for budget in [in_money, in_tokens] {
        let (world, root) = tree(budget.clone()).await;
        let waiting = talk(&world, &root, &TEXTS).await;
        assert_eq!(
            (waiting.status, waiting.waiting_on),
            (Status::Waiting, Some(WaitingOn::Retry)),
            "{budget:?}"
        );
        let before = used(&world, &root).await;
        assert_eq!(before.calls, 4, "the calls before are made");
        let why = world.client().why(root.id).await.unwrap();
        let Cause::Budget { shortage, .. } = why.cause() else { panic!("{why:?}") };
        let lacking =
            |needs: Option<u64>, left: Option<u64>| needs.zip(left).map_or(0, |(needs, left)| needs - left);
        let nanos = |cost: Option<Cost>| cost.map(Cost::nanos);
        let more = Amount {
            cost: Cost::from_nanos(lacking(nanos(shortage.needs.cost), nanos(shortage.left.cost))),
            tokens: lacking(shortage.needs.tokens, shortage.left.tokens),
        };
        world.engine().client(Owner::local()).grant_budget(root.id, more, None).await.unwrap();
        world.engine().advance(root.id).await.unwrap();
        let state = world.client().budgets(root.id).await.unwrap().remove(0);
        assert_eq!(world.client().agent(root.id).await.unwrap().status, Status::Succeeded);
        assert_eq!((state.budget.spent.cost, state.budget.spent.tokens), (whole.cost, whole.usage.tokens()));
        let allowed =
            |allowance: Option<u64>, granted: u64| allowance.map_or(u64::MAX, |most| most + granted);
        assert!(whole.cost.nanos() <= allowed(nanos(state.allowance.cost), more.cost.nanos()), "{state:?}");
        assert!(whole.usage.tokens() <= allowed(state.allowance.tokens, more.tokens), "{state:?}");
    }
}
