//! Tests of one task from beginning to end, with the rehearsal as its model unless another is named.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use serde_json::{Value, json};

use super::{
    data_dir::{DataDir, Ended, Patience, id},
    model::{Asked, Model},
    provider::{KEY, Provider},
};

/// No other text sends its reader to the log for it.
#[test]
fn a_refused_request_is_shown_once_with_its_cause() {
    let (place, provider) = (DataDir::new(), Provider::start());
    let settings = provider.settings("another", KEY).replace("openai", "compatible");
    place.write("data/entourage.toml", &settings);
    let failed = Ended::of(place.command(&["run", "Refuse this"]).env_remove("ENTOURAGE_MODEL"));
    assert_eq!((failed.code, failed.stderr.matches("It makes no sense").count()), (1, 1), "{failed:?}");
    assert!(!failed.stderr.contains("finds the cause in the log"), "{failed:?}");
}

#[test]
fn a_task_is_answered_from_the_files_it_may_read() {
    let place = DataDir::new();
    place.write("papers/README.md", "The keyword is marzipan.");
    let ended = place.entourage(&["run", "What is the keyword?", "--files", "papers"]).good();
    assert!(ended.stdout.contains("The keyword is marzipan."), "{ended:?}");
    assert!(ended.stdout.contains("rehearsal model, not a language model"), "{ended:?}");
    assert!(ended.stderr.starts_with("note: This is the rehearsal model"), "said before anything: {ended:?}");
    assert!(ended.stderr.contains("researcher calls read_file README.md"), "{ended:?}");
    assert!(!ended.stderr.contains('\u{1b}'), "no colours where no terminal is");

    let tree = place.entourage(&["tree"]).good().stdout;
    assert!(tree.contains("✓ assistant succeeded") && tree.contains("└─ ✓ researcher succeeded"), "{tree}");
    let agents = place.entourage(&["agents", "--json"]).good().json();
    assert_eq!(agents.len(), 1);
    assert_eq!(agents[0]["title"], "What is the keyword?");
}

/// A new user sees the requested note, and three commands that work as written.
#[test]
fn a_rehearsal_run_suggests_three_commands_that_work() {
    let place = DataDir::new();
    let ended = place.entourage(&["run", "Look around, and note what is there"]).good();
    assert!(ended.stderr.starts_with("note: This is the rehearsal model"), "{ended:?}");
    assert!(ended.stdout.contains("Noted in this conversation: Rehearsal: "), "{ended:?}");
    let (said, next) = ended.stderr.split_once("Try next:\n").expect("what to try");
    assert!(said.contains("entourage.db"), "where it all is: {said}");
    let next: Vec<Vec<&str>> = next
        .lines()
        .map(|line| line.trim().split("  ").next().unwrap_or_default().split(' ').collect())
        .collect();
    assert_eq!(next.iter().map(|words| words[..2].join(" ")).collect::<Vec<_>>(), TO_TRY);
    for words in next {
        let shown = place.entourage(&words[1..]).good();
        assert!(!shown.stdout.is_empty(), "{words:?}: {shown:?}");
    }
}

/// If its agent has ended and another has not, `run` says which agents it waits for.
#[test]
fn a_run_names_the_agents_still_at_work_after_its_own_has_ended() {
    let (place, model) = (DataDir::new(), Model::new());
    let mut command = place.process(&["run", "Look into it"]);
    model.ask(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let _patience = Patience::with(&child);
    model.next().call("spawn_agent", &json!({ "kind": "researcher", "task": "Count the sheep" })).end();
    // Both are at work; either may ask first.
    let (one, other) = (model.next(), model.next());
    let researches = |asked: &Asked| asked.body.to_string().contains("You are the Researcher");
    let (researcher, assistant) = if researches(&one) { (one, other) } else { (other, one) };
    assistant.text("It is being looked into.").end();
    let mut notes = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let told = notes.find(|line| line.contains("still to end")).expect("it is told");
    let wanted = "assistant has ended; still to end: researcher (thinks). Ctrl-C leaves, nothing is lost";
    assert_eq!(told, wanted);
    researcher.text("Twelve.").end();
    model.next().text("Twelve sheep.").end();
    let again = notes.filter(|line| line.contains("still to end")).count();
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8(ended.stdout).expect("UTF-8");
    assert!(ended.status.success() && said.ends_with("Twelve sheep.\n") && again == 0, "{again}: {said}");
}

/// The first example of the README shows at a glance which agent worked for which, and the result.
#[test]
fn the_first_example_of_the_readme_prints_few_lines() {
    let place = DataDir::new();
    place.write("papers/README.md", "The keyword is marzipan.\nIt is sweet.\nIt is brown.\n");
    let task = "What is in these files? Keep a note of it.";
    let ended = place.entourage(&["run", task, "--files", "papers"]).good();
    let is_step = |line: &&str| line.starts_with("assistant ") || line.starts_with("researcher ");
    assert_eq!(ended.stderr.lines().filter(is_step).count(), 6, "{ended:?}");
    assert!(ended.stderr.lines().count() <= 13 && ended.stdout.lines().count() <= 13, "{ended:?}");
}

const TO_TRY: [&str; 3] = ["entourage tree", "entourage tail", "entourage doctor"];

#[test]
fn quiet_prints_only_the_answer() {
    let place = DataDir::new();
    let ended = place.entourage(&["run", "Say something", "--quiet"]).good();
    assert_eq!(ended.stderr, "");
    assert!(ended.stdout.contains("Say something"));
}

#[test]
fn json_output_is_numbered_events_and_one_result() {
    let place = DataDir::new();
    let task = "Count to three";
    let mut command = place.command(&["run", "-", "--json"]);
    let mut lines = Ended::of(command.write_stdin(task)).good().json();
    let result = lines.pop().expect("a result");
    let numbers: Vec<u64> = lines.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=lines.len() as u64).collect::<Vec<_>>(), "without gaps, from the first on");
    assert_eq!(lines[0]["event"], "agent_created");
    assert_eq!(result["agent"], lines[0]["agent"]);
    assert_eq!(result["status"], "succeeded");
    assert!(result["answer"].as_str().is_some_and(|answer| answer.contains(task)), "{result}");
    assert_eq!(result["usage"]["input"], 0);
    assert_eq!(result["cost"], 0);

    let tail = place.entourage(&["tail", "--json"]).good().json();
    assert_eq!(tail, lines, "the events can be read again");
    let rest = place.entourage(&["tail", "--json", "--after", "5"]).good().json();
    assert_eq!(rest, lines[5..]);
}

#[test]
fn a_question_without_a_user_waits_on_disk_until_it_is_answered() {
    let place = DataDir::new();
    let asked = place.entourage(&["run", "Please ask me first, then plan a trip"]);
    assert_eq!(asked.code, 3, "{asked:?}");
    assert_eq!(asked.stdout, "");
    let question = id(&asked.stderr, "qst_");
    assert!(asked.stderr.contains(&format!("entourage answer {question} \"…\"")), "{asked:?}");
    let agent = id(&asked.stderr, "agt_");
    assert!(asked.stderr.contains(&format!("entourage run --resume {agent}")), "{asked:?}");

    let again = place.entourage(&["run", "--resume", "--json"]);
    assert_eq!(again.code, 3, "it still waits");
    let result = again.json().pop().expect("a result");
    assert_eq!(result["questions"][0]["id"], Value::from(question));
    assert_eq!(result["status"], "waiting");
    assert!(place.entourage(&["tree"]).good().stdout.contains(question));

    let answered = place.entourage(&["answer", question, "By train only"]).good();
    assert!(answered.stderr.contains(&format!("entourage run --resume {agent}")), "{answered:?}");
    let twice = place.entourage(&["answer", question, "By plane"]);
    assert!(twice.error(2).contains("answered already"), "{twice:?}");

    let ended = place.entourage(&["run", "--resume", agent]).good();
    assert!(ended.stdout.contains("By train only"), "{ended:?}");
    assert!(place.entourage(&["run", "--resume"]).error(2).contains("nothing to resume"));
}

#[test]
fn a_chat_continues_with_its_earlier_messages() {
    let place = DataDir::new();
    let mut chat = place.command(&["chat"]);
    let first = Ended::of(chat.write_stdin("First thing\nSecond thing\n/tree\n")).good();
    assert!(first.stdout.contains("First thing") && first.stdout.contains("Second thing"), "{first:?}");
    assert!(first.stdout.contains("✓ assistant succeeded"), "{first:?}");
    let agent = id(&first.stderr, "agt_");

    let mut chat = place.command(&["chat", agent]);
    let second = Ended::of(chat.write_stdin("Third thing\n/quit\n")).good();
    assert!(second.stdout.contains("> First thing"), "what was said is shown: {second:?}");
    assert!(second.stdout.contains("Third thing"), "{second:?}");
    let finished = place.entourage(&["run", "--resume", agent, "Fourth thing"]).good();
    assert!(finished.stdout.contains("Fourth thing") && !finished.stdout.contains("Third"), "{finished:?}");
    assert_eq!(place.entourage(&["agents", "--json"]).good().json().len(), 1, "all in one agent");
}

#[test]
fn usage_sums_calls_and_cost_by_model_and_kind() {
    let place = DataDir::new();
    place.entourage(&["run", "Count to three", "--quiet"]).good();
    let report = place.entourage(&["usage", "--by", "model,kind", "--json"]).good().json().remove(0);
    let row = &report["data"][0];
    assert_eq!((&row["model"], &row["kind"]), (&"rehearsal".into(), &"assistant".into()), "{report}");
    assert!(row["calls"].as_u64().is_some_and(|calls| calls > 0), "{report}");
    let table = place.entourage(&["usage", "--by", "model"]).good().stdout;
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["model", "calls", "in", "cached", "out", "reasoning", "cost"]);
    assert_eq!((lines[1][0], lines[1][6]), ("rehearsal", "$0.000000"), "{table}");
    assert_eq!((lines.last().unwrap()[0], lines.len()), ("total", 3), "{table}");

    let wrong = place.entourage(&["usage", "--from", "2026-02-02", "--to", "2026-02-01"]);
    assert_eq!((wrong.code, wrong.stderr.lines().count()), (2, 1), "{wrong:?}");
}
