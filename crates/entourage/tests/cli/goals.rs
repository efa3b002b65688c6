//! Tests of the commands about goals.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use serde_json::{Value, json};

use super::{
    data_dir::{DataDir, Ended, Patience, id},
    model::{Asked, Model},
    server::Server,
    terminal::Terminal,
};

/// A place with the goals `See Rome` and `Learn Italian`, and the id of the first.
fn rome() -> (DataDir, String) {
    let place = DataDir::new();
    let create = ["goals", "create", "See Rome", "--description", "In May", "--instructions", "By train"];
    let created = place.entourage(&create).good();
    assert!(created.stdout.starts_with("created goal See Rome, agent agt_"), "{created:?}");
    let agent = id(&created.stdout, "agt_").to_owned();
    assert_eq!(created.stderr, format!("talk to it: entourage chat {agent}\n"));
    place.entourage(&["goals", "create", "Learn Italian"]).good();
    (place, agent)
}

#[test]
fn a_goal_is_created_shown_changed_put_away_and_deleted() {
    let (place, agent) = rome();
    let said = |arguments: &[&str]| place.entourage(arguments).good().stdout;
    let listed = said(&["goals"]);
    let [italian, rome] = listed.lines().collect::<Vec<_>>()[..] else { panic!("{listed}") };
    assert!(italian.starts_with("Learn Italian  agt_") && italian.ends_with("  at rest"), "{listed}");
    assert_eq!(rome, format!("See Rome       {agent}  at rest  In May"));

    assert_eq!(said(&["goals", "change", "see rome", "--title", "Rome"]), "changed goal Rome\n");
    let part = &agent[agent.len() - 8..];
    let shown = said(&["goals", "show", part]);
    assert!(shown.starts_with(&format!("Rome  {agent}  open\ncreated 20")), "{shown}");
    assert!(shown.ends_with("\ndescription  In May\ninstructions  By train\n"), "{shown}");

    let away = place.entourage(&["goals", "archive", "Rome"]).good();
    assert_eq!(away.stdout, "archived goal Rome\n");
    assert!(away.stderr.contains(&format!("entourage goals unarchive {agent}")), "{away:?}");
    assert_eq!(
        said(&["goals", "list", "--status", "archived"]),
        format!("Rome  {agent}  archived  In May\n")
    );
    let why = place.entourage(&["why", "rome"]).good();
    assert!(why.stdout.ends_with("\ntakes nothing up, because its goal is archived\n"), "{why:?}");
    assert_eq!(why.stderr, format!("take it up again with: entourage goals unarchive {agent}\n"));
    let refused = place.entourage(&["steer", "Rome", "Go on."]);
    assert!(refused.error(2).contains("its goal is archived; unarchive it first"), "{refused:?}");
    assert_eq!(said(&["goals", "unarchive", "rome"]), "unarchived goal Rome\n");
    place.entourage(&["steer", &agent, "Go on."]).good();

    assert_eq!(said(&["goals", "delete", "Rome"]), "deleted goal Rome with its agents\n");
    assert!(said(&["goals"]).starts_with("Learn Italian"));
    assert_eq!(said(&["goals", "--json"]).lines().count(), 1);
}

/// What `create` says next is how its agent is talked to.
#[test]
fn a_goal_is_talked_about_and_its_tasks_are_listed() {
    let (place, agent) = rome();
    let none = place.entourage(&["goals", "tasks", "See Rome"]).good();
    assert!(none.stdout.is_empty() && none.stderr.contains(&format!("entourage chat {agent}")), "{none:?}");
    let task = json!({ "title": "Trains", "instructions": "Find the trains." });
    let model = Model::calling_once("create_task", &task);
    let mut chat = place.command(&["chat", &agent]);
    let chat = Ended::of(model.asked_by(&mut chat).write_stdin("Look for trains.\n")).good();
    assert!(chat.stderr.contains("calls create_task Trains"), "{chat:?}");
    let tasks = place.entourage(&["goals", "tasks", "See Rome"]).good().stdout;
    assert!(tasks.contains("Trains  agt_"), "{tasks}");
    let listed = place.entourage(&["goals", "tasks", &agent, "--json"]).good().json();
    assert_eq!((&listed[0]["from"], &listed[0]["title"]), (&json!(agent), &json!("Trains")));
    // The agent of the task is not talked to, and nobody else gets what it was told.
    let worker = listed[0]["to"].as_str().expect("an id");
    let refused = place.entourage(&["run", "--resume", worker, "More."]);
    assert!(refused.error(2).contains(&format!("entourage steer {worker}")), "{refused:?}");
    assert!(!place.entourage(&["show", &agent]).good().stdout.contains("More."));
}

/// What the agent says is shown before its tasks end, and then what they came to; what the engine says to the model is not.
#[test]
fn a_run_for_a_goal_says_what_its_agent_sends_as_it_comes_and_then_how_its_task_ended() {
    let (place, _) = rome();
    let model = Model::new();
    let mut command = place.process(&["run", "--resume", "see rome", "Look for trains."]);
    model.ask(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().expect("it starts");
    let _patience = Patience::with(&running);
    model.next().text("I write without sending.").end();
    let task = json!({ "title": "Trains", "instructions": "Find the trains." });
    model.next().call("create_task", &task).end();
    let is_of_task = |asked: &Asked| asked.body.to_string().contains("You work on one task");
    let (of_task, of_goal) = match (model.next(), model.next()) {
        (first, second) if is_of_task(&first) => (first, second),
        (first, second) => (second, first),
    };
    of_goal.call("send_message", &json!({ "message": "It has begun." })).end();
    let mut stdout = BufReader::new(running.stdout.take().expect("piped"));
    let mut said = String::new();
    stdout.read_line(&mut said).expect("UTF-8");
    assert_eq!(said, "It has begun.\n", "while the task is worked on");
    of_task.text("Six a day.").end();
    let ended = running.wait_with_output().expect("it ends");
    stdout.read_line(&mut said).expect("UTF-8");
    let told = String::from_utf8(ended.stderr).expect("UTF-8");
    assert_eq!((ended.status.code(), said.as_str()), (Some(0), "It has begun.\n"), "{told}");
    assert!(told.contains("\ntask “Trains” succeeded: Six a day.\n"), "{told}");
    assert!(!told.contains("reads only what you send"), "{told}");
    let tail = place.entourage(&["tail", "See Rome"]).good().stdout;
    assert!(tail.contains("reads only what you send"), "{tail}");
}

#[test]
fn the_list_says_what_each_agent_does_in_columns_also_beside_long_titles() {
    let (place, agent) = rome();
    let long = "A title of a goal that nobody would ever want to read whole in a list";
    place.entourage(&["goals", "create", long, "--description", "Some day"]).good();
    place.entourage(&["steer", "See Rome", "Go on."]).good();
    let listed = place.entourage(&["goals"]).good().stdout;
    let [long, italian, rome] = listed.lines().collect::<Vec<_>>()[..] else { panic!("{listed}") };
    assert!(long.starts_with("A title of a goal that nobody would ever…  agt_"), "{listed}");
    assert!(long.ends_with("  at rest    Some day") && italian.ends_with("  at rest"), "{listed}");
    assert!(rome.ends_with(&format!("  {agent}  suspended  In May")), "nobody works here: {listed}");
}

#[test]
fn a_goal_is_deleted_on_a_terminal_once_the_user_agrees() {
    let (place, agent) = rome();
    for (typed, exit, left) in [("", 130, 2), ("y", 0, 1)] {
        let mut terminal = Terminal::start(&place, &["goals", "delete", &agent]);
        terminal.shows("delete goal See Rome for good, with its agents, tasks and schedules? [y/N] ");
        terminal.types(typed);
        assert_eq!(terminal.ended().0, Some(exit), "{typed}");
        let goals = place.entourage(&["goals", "--json"]).good().stdout;
        assert_eq!(goals.lines().count(), left, "{typed}: {goals}");
    }
    let terminal = Terminal::start(&place, &["goals", "delete", "Learn Italian", "--yes"]);
    assert_eq!(terminal.ended().0, Some(0));
}

#[test]
fn a_user_has_one_agent_of_their_own() {
    let place = DataDir::new();
    let first = place.entourage(&["goals", "user-agent"]).good();
    let agent = id(&first.stdout, "agt_");
    assert_eq!(first.stdout, format!("your agent {agent}  idle\n"));
    assert_eq!(first.stderr, format!("talk to it: entourage chat {agent}\n"));
    let again = place.entourage(&["goals", "user-agent", "--json"]).good().json();
    assert_eq!((&again[0]["id"], &again[0]["kind"]), (&json!(agent), &json!("user_agent")));
}

#[test]
fn a_mistake_about_a_goal_is_one_line_that_names_the_next_step() {
    let (place, _) = rome();
    place.entourage(&["goals", "create", "See Rome"]).good();
    for (arguments, words) in [
        (&["goals", "show", "Paris"][..], "or the title of its goal; `entourage agents` lists them"),
        (&["goals", "archive", "See Rome"], "`See Rome` may be 2 goals: agt_"),
        (&["why", "see rome"], "`see rome` may be 2 goals: agt_"),
        (&["schedules", "list", "See Paris"], "no agent has the id `See Paris`"),
        (&["goals", "create", " "], "is empty"),
        (&["goals", "change", "Learn Italian", "--title", "a\nb"], "control character"),
        (&["goals", "change", "Learn Italian"], "--title <TITLE>|--description <TEXT>|--instructions <TEXT>"),
        (&["goals", "list", "--status", "done"], "one of open, archived"),
    ] {
        let ended = place.entourage(arguments);
        assert!(
            ended.error(2).starts_with("error: ") && ended.stderr.contains(words),
            "{arguments:?}: {ended:?}"
        );
        assert!(ended.stdout.is_empty(), "{arguments:?}: {ended:?}");
    }
    let none = place.entourage(&["goals", "list", "--status", "archived"]).good();
    assert!(none.stderr.contains("no goal is archived"), "{none:?}");
    let missing = place.entourage(&["goals", "--data", "missing"]).good();
    assert!(missing.stderr.contains("`entourage goals create TITLE` creates one"), "{missing:?}");
}

/// Where a goal is meant, its title comes before the name of an agent; elsewhere the name comes first. A title may begin as
/// `@last` does.
#[test]
fn a_goal_is_found_by_its_title_also_if_an_agent_has_that_name() {
    let place = DataDir::new();
    place.entourage(&["explore", "What is new?", "--id", "winter"]).good();
    let title = |shown: &str| {
        let shown = place.entourage(&["goals", "show", shown, "--json"]).good().json();
        shown[0]["title"].clone()
    };
    for goal in ["winter", "@home"] {
        place.entourage(&["goals", "create", goal]).good();
        assert_eq!(title(goal), goal);
    }
    assert!(place.entourage(&["tree", "winter"]).good().stdout.contains("explorer"));
    place.entourage(&["goals", "archive", "winter"]).good();
    assert!(place.entourage(&["why", "@home"]).good().stdout.contains("nothing to do"));
    let none = place.entourage(&["goals", "show", "@hone"]);
    assert!(none.error(2).contains("or the title of its goal"), "{none:?}");
}

/// A server does the same for the commands as the engine within them, with the objects of the API.
#[test]
fn the_commands_about_goals_do_the_same_with_a_server() {
    let (place, agent) = rome();
    let server = Server::start(&place);
    let of = |arguments: &[&str]| place.entourage(&[arguments, &["--json"]].concat()).good().json();
    assert_eq!(of(&["goals", "show", "See Rome"])[0], server.body(&format!("/v1/goals/{agent}")));
    assert_eq!(of(&["goals", "archive", "See Rome"])[0]["status"], "archived");
    let listed: Vec<Value> = of(&["goals", "list", "--status", "open"]);
    assert_eq!((listed.len(), &listed[0]["title"]), (1, &json!("Learn Italian")));
    let created = place.entourage(&["goals", "create", "See Paris"]).good();
    assert!(created.stdout.starts_with("created goal See Paris"), "{created:?}");
    assert_eq!(of(&["goals", "delete", "See Paris"])[0]["title"], "See Paris");
    assert!(
        place
            .entourage(&["goals", "show", "See Paris"])
            .error(2)
            .contains("`entourage goals` those of goals")
    );
}
