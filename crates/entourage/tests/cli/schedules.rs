//! Tests of the commands about schedules.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{
    data_dir::{DataDir, Ended, id},
    server::Server,
};

/// A place with a goal, and the id of its agent.
fn rome() -> (DataDir, String) {
    let place = DataDir::new();
    let created = place.entourage(&["goals", "create", "See Rome"]).good();
    let agent = id(&created.stdout, "agt_").to_owned();
    (place, agent)
}

/// Creates a schedule with these options, and returns its id.
fn create(place: &DataDir, agent: &str, options: &[&str]) -> String {
    let created = place.entourage(&[&["schedules", "create", agent], options].concat()).good();
    assert!(created.stdout.starts_with("created schedule sch_"), "{created:?}");
    id(&created.stdout, "sch_").to_owned()
}

const CHECK_IN: [&str; 6] =
    ["--trigger", "agent_check_in", "--cron", "30 7 * * 1-5", "--zone", "Europe/Berlin"];
const LOOK: [&str; 6] = ["--trigger", "look", "--text", "What is new?", "--every", "2h"];

#[test]
fn a_schedule_is_created_listed_and_shown() {
    let (place, agent) = rome();
    let said = |arguments: &[&str]| place.entourage(arguments).good().stdout;
    let check_in = create(&place, &agent, &CHECK_IN);
    let look = create(&place, &agent, &LOOK);
    let once = create(&place, &agent, &["--trigger", "agent_check_in", "--at", "2999-03-01T09:00:00Z"]);
    let listed = said(&["schedules"]);
    let lines: Vec<&str> = listed.lines().collect();
    // By the clock of this machine, in columns.
    let recurs = |how: &str| format!("{how:<31}");
    assert!(lines[0].starts_with(&format!("{once}  active  agent_check_in  {}  due 2999-0", recurs("once"))));
    assert!(lines[0].ends_with(&format!("  {agent}")) && !lines[0].contains('Z'), "{listed}");
    let every = format!("{look}  active  look            {}  due 20", recurs("every 2h"));
    assert!(lines[1].starts_with(&every), "{listed}");
    let cron = format!("{check_in}  active  agent_check_in  `30 7 * * 1-5` in Europe/Berlin  due 20");
    assert!(lines[2].starts_with(&cron), "{listed}");
    let shown = said(&["schedules", "show", &check_in]);
    for words in [&*agent, "Check in on this goal", "`30 7 * * 1-5` in Europe/Berlin", "left out 0"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let zoned = ["--trigger", "agent_check_in", "--at", "2099-06-01T09:00[Europe/Berlin]"];
    let zoned = create(&place, &agent, &zoned);
    let shown = place.entourage(&["schedules", "show", &zoned, "--json"]).good().json();
    assert_eq!(shown[0]["due"], "2099-06-01T07:00:00Z", "by the clock of that place");
    place.entourage(&["schedules", "end", &zoned]).good();
    let daily = ["schedules", "create", &agent, "--trigger", "look", "--text", "Look.", "--every", "1d"];
    let refused = place.entourage(&[&daily[..], &["--zone", "Europe/Berlin"]].concat());
    assert!(refused.error(2).contains("cannot be used with '--zone <ZONE>'"), "{refused:?}");
    let whole = place.entourage(&["schedules", "show", &once, "--json"]).good().json();
    assert_eq!((&whole[0]["id"], &whole[0]["recurrence"]), (&json!(once), &json!({ "repeat": "once" })));
    assert_eq!(said(&["schedules", "list", &agent, "--status", "paused"]), "");
    assert_eq!(said(&["schedules", "--json"]).lines().count(), 4);
}

/// Times are read and shown by the clock of the machine, with its distance from UTC.
#[test]
fn times_are_by_the_clock_of_the_machine() {
    let (place, agent) = rome();
    let in_tokyo = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        Ended::of(command.env("TZ", "Asia/Tokyo")).good().stdout
    };
    let new = ["schedules", "create", &agent, "--trigger", "agent_check_in", "--at", "2999-03-01T18:00"];
    let created = in_tokyo(&new);
    assert!(created.contains("due 2999-03-01 18:00 +09:00"), "{created}");
    let shown = place.entourage(&["schedules", "show", "@last", "--json"]).good().json();
    assert_eq!(shown[0]["due"], "2999-03-01T09:00:00Z");
}

/// With `--every` or `--cron`, `--at` says from when on.
#[test]
fn a_schedule_that_recurs_may_begin_later() {
    let (place, agent) = rome();
    for (options, recurrence, due) in [
        (
            &["--cron", "30 7 * * 1-5", "--zone", "Europe/Berlin", "--at", "2999-03-01T09:00:00Z"][..],
            json!({ "repeat": "cron", "expression": "30 7 * * 1-5", "zone": "Europe/Berlin" }),
            "2999-03-04T06:30:00Z",
        ),
        (
            &["--every", "2h", "--at", "2999-03-01T09:00:00Z"],
            json!({ "repeat": "every", "seconds": 7_200 }),
            "2999-03-01T09:00:00Z",
        ),
    ] {
        let made = create(&place, &agent, &[&["--trigger", "agent_check_in"], options].concat());
        let shown = place.entourage(&["schedules", "show", &made, "--json"]).good().json();
        assert_eq!((&shown[0]["recurrence"], &shown[0]["due"]), (&recurrence, &json!(due)), "{options:?}");
    }
}

#[test]
fn a_schedule_is_paused_resumed_fired_and_ended() {
    let (place, agent) = rome();
    let schedule = create(&place, &agent, &LOOK);
    let said = |arguments: &[&str]| place.entourage(arguments).good().stdout;
    let paused = said(&["schedules", "pause", &schedule]);
    assert!(paused.contains("  paused  look  every 2h  due once it is resumed"), "{paused}");
    assert!(said(&["schedules", "resume", "@last"]).contains("  active  look  every 2h  due 20"));

    let fired = place.entourage(&["schedules", "fire", &schedule]).good();
    assert_eq!(fired.stdout, format!("fired {schedule} for {agent}\n"));
    assert!(fired.stderr.contains(&format!("entourage run --resume {agent}")), "{fired:?}");
    let unread = place.entourage(&["schedules", "fire", &schedule]);
    assert!(unread.error(2).contains("has not read what the schedule gave it last"), "{unread:?}");
    let read = place.entourage(&["run", "--resume", &agent]).good();
    assert!(read.stdout.contains("Asked: What is new?"), "{read:?}");
    place.entourage(&["schedules", "fire", &schedule]).good();

    let ended = said(&["schedules", "end", &schedule]);
    assert!(ended.contains("  ended  look  every 2h  never again"), "{ended}");
    for command in ["fire", "pause", "resume"] {
        let over = place.entourage(&["schedules", command, &schedule]);
        assert!(over.error(2).contains("the schedule has ended"), "{over:?}");
    }
}

#[test]
fn a_mistake_about_a_schedule_is_one_line_that_names_the_next_step() {
    let (place, agent) = rome();
    let new = |options: &[&'static str]| {
        let create = ["schedules", "create", &*agent, "--trigger", "look", "--text", "What is new?"];
        place.entourage(&[&create, options].concat())
    };
    for (ended, words) in [
        (
            new(&["--cron", "61 * * * *", "--zone", "UTC"]),
            "minute, hour, day of month, month and day of week",
        ),
        (new(&["--cron", "0 7 * * *", "--zone", "Mars/North"]), "one is named like `Europe/Berlin` or `UTC`"),
        (new(&["--cron", "0 7 * * *"]), "--zone <ZONE>"),
        (new(&["--every", "30s"]), "every 60 seconds or less often"),
        (new(&["--every", "often"]), "write a number and a unit"),
        (new(&["--at", "soon"]), "or a moment, such as 2027-03-01T09:00"),
        (
            new(&["--at", "2020-01-01T00:00:00Z"]),
            "the first time, 2020-01-01T00:00:00Z, has passed: it is 20",
        ),
        (
            new(&["--cron", "@daily", "--zone", "UTC"]),
            "it has 1 field, not 5. It has the fields minute, hour",
        ),
        (new(&["--cron", "0 0 L * *", "--zone", "UTC"]), "the day of month `L` is no number from 1 to 31"),
        (new(&["--every", "2h", "--cron", "0 7 * * *", "--zone", "UTC"]), "cannot be used with"),
        (new(&[]), "--cron <FIELDS>|--every <TIME>|--at <TIME>"),
        (
            place.entourage(&["schedules", "create", &agent, "--trigger", "look", "--every", "2h"]),
            "it needs a text (its triggers: agent_check_in)",
        ),
        (place.entourage(&["schedules", "show", "@last"]), "`entourage schedules create AGENT` creates one"),
        (place.entourage(&["schedules", "show", "sch_0000"]), "`entourage schedules` lists them"),
        (place.entourage(&["schedules", "pause", "Rome"]), "sch_…"),
    ] {
        assert!(ended.error(2).starts_with("error: ") && ended.stderr.contains(words), "{words}: {ended:?}");
        assert!(ended.stdout.is_empty(), "{ended:?}");
    }
    let none = place.entourage(&["schedules"]).good();
    assert!(none.stderr.contains("`entourage schedules create AGENT` creates one"), "{none:?}");
}

/// A server fires what is due, and what it is told to fire.
#[test]
fn a_server_fires_schedules_by_itself() {
    let (place, agent) = rome();
    let server = Server::start(&place);
    let at_once =
        place.entourage(&["schedules", "create", &agent, "--trigger", "agent_check_in", "--at", "5s"]).good();
    assert!(at_once.stderr.is_empty(), "a process is at work: {at_once:?}");
    let path = format!("/v1/schedules/{}", id(&at_once.stdout, "sch_"));
    let since = Instant::now();
    while server.body(&path)["status"] != "ended" {
        assert!(since.elapsed() < Duration::from_secs(60), "{}", server.body(&path));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(server.body(&path)["fired"], 1);
    let unknown = place.entourage(&["schedules", "fire", &format!("sch_{}", "0".repeat(32))]);
    assert!(unknown.error(2).contains("there is no schedule"), "{unknown:?}");
}
