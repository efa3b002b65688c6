//! Switches of MCP servers and of their tools: for all agents of an owner, and for a goal with its tasks.

use std::collections::BTreeSet;

use entourage_engine::{Clock as _, Error, Kinds, NewAgent, NewGoal, ToolServer};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{Commit, Write};
use entourage_testkit::{Faults, World, plain, quiet};
use entourage_tools::Effect;
use entourage_types::{AgentId, Answer, Kind, Owner, Switch, Switches, ToolSwitches};
use futures::future::join_all;
use serde_json::json;

use crate::kit::{Effects, TestTool, eventually, first_tools};

/// The tools of MCP servers that a request offers.
fn offered(request: &Request) -> BTreeSet<String> {
    request.tools.iter().map(|tool| tool.name.clone()).filter(|name| name.contains("__")).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// A world with two servers, whose tools are known.
async fn start(model: &ScriptedModel, effects: &Effects) -> World {
    start_with(model, effects, Kinds::builtin()).await
}

async fn start_with(model: &ScriptedModel, effects: &Effects, kinds: Kinds) -> World {
    let servers = || ["bank", "mail"].map(ToolServer::shared).to_vec();
    let tools = ["bank__pay", "bank__look", "mail__send"].iter().fold(first_tools(), |tools, name| {
        let effect = if *name == "bank__look" { Effect::Pure } else { Effect::Unsafe };
        tools.with(TestTool::new(name, effect, effects))
    });
    let builder = World::builder(model.clone()).tools(tools).kinds(quiet(kinds));
    let world = builder.engine(move |engine| engine.tool_servers(servers())).start().await;
    connected(&world);
    world
}

/// Both servers are there, in this process.
fn connected(world: &World) {
    for name in ["bank", "mail"] {
        world.engine().server_brings(name, Vec::new());
    }
}

/// Everybody answers at once; a goal gives a task first, if it is asked to.
fn mind() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        let is_task = request.system.starts_with("You work on one task");
        Some(Ok(match request.messages.last() {
            _ if is_task => Script::text("Done."),
            Some(Message::User(text)) if text.contains("Give") => {
                Script::call("create_task", json!({ "title": "It", "instructions": "Do it." }))
                    .and_call("send_message", json!({ "message": "It has begun." }))
            }
            _ => Script::call("send_message", json!({ "message": "Yes." })),
        }))
    })
}

async fn goal(world: &World, title: &str) -> AgentId {
    let new = NewGoal { title: title.into(), ..NewGoal::default() };
    world.engine().client(Owner::local()).create_goal(new, None).await.unwrap().agent
}

/// Writes to an agent, and returns the requests of the runs that this leads to.
async fn asked(
    world: &World,
    model: &ScriptedModel,
    agent: AgentId,
    text: &str,
    requests: usize,
) -> Vec<Request> {
    let before = model.requests().len();
    world.engine().client(Owner::local()).send(agent, text, None).await.unwrap();
    let all =
        eventually("all have answered", async || model.requests(), |all| all.len() >= before + requests)
            .await;
    world.ended(agent).await;
    all[before..].to_vec()
}

/// Shows: S4-R075, S4-R081, S4-R089.
#[tokio::test]
async fn what_is_switched_off_for_a_goal_is_off_for_its_tasks_and_for_no_one_else() {
    let (model, effects) = (mind(), Effects::default());
    let world = start(&model, &effects).await;
    let client = world.engine().client(Owner::local());
    let (rome, oslo) = (goal(&world, "Rome").await, goal(&world, "Oslo").await);
    let user_agent = client.user_agent().await.unwrap().id;
    let all = set(&["bank__pay", "bank__look", "mail__send"]);
    assert_eq!(offered(&asked(&world, &model, rome, "Hello", 1).await[0]), all, "on until switched off");

    client.switch(Some(rome), "bank", Some(Switch::Off)).await.unwrap();
    client.switch(Some(rome), "bank__look", Some(Switch::On)).await.unwrap();
    client.switch(None, "mail__send", Some(Switch::Off)).await.unwrap();
    for request in asked(&world, &model, rome, "Give it to someone", 2).await {
        assert_eq!(offered(&request), set(&["bank__look"]), "{}", request.system);
    }
    for agent in [oslo, user_agent] {
        let request = &asked(&world, &model, agent, "Hello", 1).await[0];
        assert_eq!(offered(request), set(&["bank__pay", "bank__look"]));
    }
    // What is switched for the goal takes precedence over what is switched for all.
    client.switch(Some(rome), "mail", Some(Switch::On)).await.unwrap();
    client.switch(Some(rome), "bank", None).await.unwrap();
    assert_eq!(offered(&asked(&world, &model, rome, "Hello", 1).await[0]), all);
    assert_eq!(world.audit().await, []);
}

/// The file of the kind says which servers there are for it; switches choose among these.
///
/// Shows: S4-R089, S4-R149.
#[tokio::test]
async fn a_user_agent_whose_kind_lists_one_server_has_no_tool_of_another() {
    let (model, effects) = (mind(), Effects::default());
    let builtin = Kinds::builtin();
    let mut own = Kind::clone(&builtin.get("user_agent").unwrap());
    let tools = own.tools.get_or_insert_default();
    tools.retain(|tool| tool != "mcp");
    tools.push("mcp__bank".into());
    own.version.clear();
    let world = start_with(&model, &effects, builtin.with(own)).await;
    let client = world.engine().client(Owner::local());
    let user_agent = client.user_agent().await.unwrap().id;
    let request = &asked(&world, &model, user_agent, "Hello", 1).await[0];
    assert_eq!(offered(request), set(&["bank__pay", "bank__look"]));
    let rome = goal(&world, "Rome").await;
    let request = &asked(&world, &model, rome, "Hello", 1).await[0];
    assert_eq!(offered(request), set(&["bank__pay", "bank__look", "mail__send"]), "another kind has all");
    client.switch(None, "mail", Some(Switch::On)).await.unwrap();
    client.switch(None, "bank__pay", Some(Switch::Off)).await.unwrap();
    let request = &asked(&world, &model, user_agent, "Hello again", 1).await[0];
    assert_eq!(offered(request), set(&["bank__look"]), "no switch adds what the kind leaves out");
}

/// A run keeps the tools with which it began, over a restart, so that its prompt begins with the same bytes; what is
/// switched meanwhile counts from the next run on, and says so to a model that insists.
///
/// Shows: S4-R075.
#[tokio::test]
async fn a_switch_takes_effect_in_the_next_run() {
    let pay = || Script::call("bank__pay", json!({ "n": 1 }));
    let model = ScriptedModel::new([
        pay(),
        Script::call("send_message", json!({ "message": "Paid." })),
        pay(),
        Script::call("send_message", json!({ "message": "I cannot." })),
    ]);
    let effects = Effects::default();
    let world = start(&model, &effects).await;
    let rome = goal(&world, "Rome").await;
    let client = world.engine().client(Owner::local());
    client.send(rome, "Pay.", None).await.unwrap();
    let held = world.question(rome).await;
    client.switch(Some(rome), "bank", Some(Switch::Off)).await.unwrap();
    let world = world.restart(Faults::default()).await;
    connected(&world);
    let client = world.engine().client(Owner::local());
    client.answer(held.id, Answer::Approve { arguments: None, always: false, digest: None }).await.unwrap();
    world.ended(rome).await;
    client.send(rome, "Again.", None).await.unwrap();
    eventually("both runs have ended", async || model.requests().len(), |requests| *requests == 4).await;
    world.ended(rome).await;
    let pays: Vec<bool> =
        model.requests().iter().map(|request| offered(request).contains("bank__pay")).collect();
    assert_eq!(pays, [true, true, false, false]);
    assert_eq!(effects.per_call(), [1]);
    let refused = "output!: not allowed: `bank__pay` is switched off: go on without it";
    let lines = plain(&client.items(rome, 0, 100).await.unwrap());
    assert!(lines.iter().any(|line| line == refused), "{lines:#?}");
    assert_eq!(world.audit().await, []);
}

/// Shows: S4-R075, INV-09.
#[tokio::test]
async fn the_servers_are_listed_with_their_switches_and_what_does_not_exist_is_refused() {
    let (model, effects) = (mind(), Effects::default());
    let world = start(&model, &effects).await;
    let client = world.engine().client(Owner::local());
    let rome = goal(&world, "Rome").await;
    client.switch(None, "bank", Some(Switch::Off)).await.unwrap();
    client.switch(Some(rome), "bank__pay", Some(Switch::On)).await.unwrap();
    let [bank, mail] = &client.servers(Some(rome)).await.unwrap()[..] else { panic!("there are two") };
    assert_eq!(
        (bank.name.as_str(), bank.is_connected, bank.switch, bank.effective),
        ("bank", true, None, Switch::Off)
    );
    let tools: Vec<_> =
        bank.tools.iter().map(|tool| (tool.name.as_str(), tool.switch, tool.effective)).collect();
    let on = Some(Switch::On);
    assert_eq!(tools, [("bank__look", None, Switch::Off), ("bank__pay", on, Switch::On)]);
    assert_eq!((mail.switch, mail.effective, mail.tools.len()), (None, Switch::On, 1));

    for name in ["bonk", "bank__fly", "bank_", "", "mail__send\n"] {
        let refused = client.switch(Some(rome), name, Some(Switch::Off)).await;
        assert!(matches!(refused, Err(Error::NotFound { .. })), "{name}: {refused:?}");
    }
    let below = NewAgent { parent: Some(rome), kind: Some("task".into()), ..NewAgent::default() };
    let below = client.create(below, None).await.unwrap().id;
    let refused = client.switch(Some(below), "bank", Some(Switch::Off)).await;
    assert!(matches!(&refused, Err(Error::Invalid(text)) if text.contains(&rome.to_string())), "{refused:?}");
    let eve = world.engine().client(Owner::new("eve"));
    for refused in
        [eve.switch(Some(rome), "bank", None).await.map(drop), eve.servers(Some(rome)).await.map(drop)]
    {
        assert!(matches!(refused, Err(Error::NotFound { .. })), "{refused:?}");
    }
    assert_eq!(
        eve.servers(None).await.unwrap()[0].effective,
        Switch::On,
        "each owner has switches of their own"
    );
    // Why a server is away is said to the operator, and to others that it is.
    let why = "the MCP server `mail` cannot be reached (sh /srv/mail): it does not start";
    world.engine().server_is_away("mail", why);
    for (client, told) in [(client, why), (eve, "the MCP server `mail` cannot be reached now")] {
        let servers = client.servers(None).await.unwrap();
        assert_eq!((servers[1].is_connected, servers[1].problem.as_deref()), (false, Some(told)));
    }
}

#[tokio::test]
async fn an_owner_has_a_thousand_switches_and_not_one_more() {
    let (model, effects) = (mind(), Effects::default());
    let world = start(&model, &effects).await;
    let (client, now) = (world.engine().client(Owner::local()), world.clock().now());
    let mut switches = Switches::default();
    for number in 0..999 {
        switches.set(&format!("bank__{number}"), Some(Switch::Off));
    }
    let owner = Owner::local();
    let kept = ToolSwitches { owner, root: None, switches, created: now, updated: now };
    let commit = Commit::new(now).write(Write::record(&kept).unwrap());
    world.store().commit(commit).await.unwrap();
    client.switch(None, "bank", Some(Switch::Off)).await.unwrap();
    let refused = client.switch(None, "mail", Some(Switch::Off)).await;
    assert!(matches!(refused, Err(Error::LimitReached { most: 1_000, .. })), "{refused:?}");
    let told = refused.unwrap_err().to_string();
    assert!(told.starts_with("1000 switches for all agents, or for one tree, are the most"), "{told}");
    // One that is there may be changed; one that is reset makes room; and a tree has its own.
    client.switch(None, "bank", Some(Switch::On)).await.unwrap();
    client.switch(Some(goal(&world, "Rome").await), "mail", Some(Switch::Off)).await.unwrap();
    client.switch(None, "bank", None).await.unwrap();
    client.switch(None, "mail", Some(Switch::Off)).await.unwrap();
}

/// Shows: S4-R075.
#[tokio::test]
async fn switches_that_are_set_at_once_are_all_kept() {
    let (model, effects) = (mind(), Effects::default());
    let world = start(&model, &effects).await;
    let client = world.engine().client(Owner::local());
    let rome = goal(&world, "Rome").await;
    let names = ["bank", "mail", "bank__pay", "bank__look", "mail__send"];
    let switched = names.map(|name| client.switch(Some(rome), name, Some(Switch::Off)));
    for done in join_all(switched).await {
        done.unwrap();
    }
    let servers = client.servers(Some(rome)).await.unwrap();
    let tools = servers.iter().flat_map(|server| &server.tools).map(|tool| tool.switch);
    let all: Vec<_> = servers.iter().map(|server| server.switch).chain(tools).collect();
    assert_eq!(all, [Some(Switch::Off); 5]);
}
