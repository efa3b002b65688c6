//! Tests of kinds, which are files: listing, checking and showing them.

use rustix::process::Signal;

use super::{
    data_dir::{DataDir, id},
    server::Server,
};

#[test]
fn a_kind_file_is_listed_shown_and_run() {
    let place = DataDir::new();
    place.write(
        "data/kinds/clerk.md",
        "---\nname: clerk\ndescription: Files papers.\ntools: []\n---\nYou file papers.\n",
    );
    let list = place.entourage(&["kinds", "list"]).good().stdout;
    assert!(
        list.contains("clerk") && list.contains("Files papers.") && list.contains("researcher"),
        "{list}"
    );
    let shown = place.entourage(&["kinds", "show", "clerk"]).good().stdout;
    assert!(shown.contains("You file papers.") && shown.contains("max_steps 25, "), "{shown}");
    let kind = place.entourage(&["kinds", "show", "clerk", "--json"]).good().json();
    assert_eq!(kind[0]["instructions"], "You file papers.");
    let ended = place.entourage(&["run", "File this", "--kind", "clerk", "--json"]).good().json();
    assert_eq!(ended[0]["kind"], "clerk");
}

#[test]
fn kinds_show_prints_what_the_file_of_a_kind_can_say() {
    let place = DataDir::new();
    let shown = |front: &str| {
        let file = format!("---\nname: clerk\n{front}---\nYou file papers.\n");
        place.write("data/kinds/clerk.md", &file);
        place.entourage(&["kinds", "show", "clerk"]).good().stdout
    };
    let has = |shown: String, lines: &[&str]| {
        for line in lines {
            assert!(shown.lines().any(|shown| shown.trim() == *line), "`{line}` is not in\n{shown}");
        }
    };
    has(
        shown(""),
        &[
            "reply      final_text",
            "permanent  no",
            "triggers   none",
            "input      steer",
            "guardrails none",
            "sampling   the default",
            "schema     any answer",
            "context    time (again after 10 minutes), learnings; all messages; sessions are kept; 5 summaries; summed up from 75 % of the window on",
            "in doubt   a person is asked; give up only after a deadline, and none is set",
        ],
    );
    let context =
        "{sections: [], messages: 3, sessions: idle, idle_minutes: 7, summaries: 2, compact_at: 0.5}";
    has(
        shown(&format!(
            "input: queue\nin_doubt: {{answer_seconds: 60, otherwise: retry}}\ncontext: {context}\n\
             conversational: true\nreply: send_message\ntemperature: 0.2\noutput_schema: {{type: string}}\n\
             guardrails: {{input: [polite], output: [short, kind], attempts: 2}}\npermanent: true\n\
             limits: {{max_same_tool: 5, max_history: 20, max_cost: $0.50}}\n\
             triggers: {{feed: {{text: \"Write\\nit.\", ends_session: true}}, look: {{text: Look around.}}}}\n"
        )),
        &[
            "reply      send_message; a run ends after it sends the user a message",
            "guardrails input: polite; output: short, kind, 2 more attempts",
            "sampling   temperature 0.2",
            "schema     {\"type\":\"string\"}",
            "input      queue",
            "context    no sections; 3 messages; sessions end after 7 idle minutes; 2 summaries; summed up from 50 % of the window on",
            "in doubt   a person is asked; retry after 60 s",
            "permanent  yes: its trees are kept until they are deleted",
            "triggers   feed (ends the session): Write it.",
            "look: Look around.",
        ],
    );
    let limits = place.entourage(&["kinds", "show", "clerk"]).good().stdout;
    let limits = limits.lines().find(|line| line.trim().starts_with("limits ")).expect("a line");
    for limit in ["max_steps 25, max_same_tool 5,", "max_history 20,", "max_cost $0.5", "max_attempts 8,"] {
        assert!(limits.contains(limit), "{limit}: {limits}");
    }
}

#[test]
fn kinds_check_prints_each_mistake_with_its_file_and_line() {
    let place = DataDir::new();
    let clean = place.entourage(&["kinds", "check"]).good();
    assert_eq!(clean.stdout, "", "the built-in kinds are right");

    let clerk = place
        .write("data/kinds/clerk.md", "---\nname: clerk\npeers: [nobody]\ncolour: red\n---\nYou file.\n");
    let remarks = place.entourage(&["kinds", "check"]).good().stdout;
    assert!(remarks.contains(&format!("{}:4: note: `colour`", clerk.display())), "{remarks}");
    assert!(remarks.contains("peer `nobody`"), "{remarks}");

    place.write("data/kinds/clerk.md", "---\nname: clerk\npeers: [porter, researcher]\n---\nYou file.\n");
    place.write("data/kinds/porter.md", "---\nname: porter\n---\nYou carry.\n");
    let remarks = place.entourage(&["kinds", "check"]).good().stdout;
    assert!(remarks.contains("peer `porter` has no `description`"), "{remarks}");
    assert!(!remarks.contains("peer `researcher`"), "{remarks}");

    place.write("data/kinds/cook.md", "---\nname: cook\nlimits:\n  max_stepz: 3\n---\nYou cook.\n");
    let checked = place.entourage(&["kinds", "check"]);
    assert_eq!(checked.code, 1, "{checked:?}");
    assert!(
        checked.stdout.contains("cook.md:4: error: ") && checked.stdout.contains("max_stepz"),
        "{checked:?}"
    );
    assert!(checked.stderr.contains("1 mistake ("), "{checked:?}");
}

#[test]
fn a_kind_with_an_unknown_guardrail_is_reported_and_left_out() {
    let place = DataDir::new();
    place.write(
        "data/kinds/clerk.md",
        "---\nname: clerk\nguardrails: { output: [nosuch] }\n---\nYou file papers.\n",
    );
    let why = "kind `clerk`: there is no guardrail `nosuch` in this program";
    let checked = place.entourage(&["kinds", "check"]);
    assert!(checked.code == 1 && checked.stdout.contains(&format!("error: {why}")), "{checked:?}");
    let refused = place.entourage(&["run", "-q", "File this", "--kind", "clerk"]);
    assert!(refused.error(2).contains(why) && refused.stdout.is_empty(), "{refused:?}");
    let other = place.entourage(&["run", "Hello"]).good();
    assert!(other.stderr.contains(why), "the start says so: {other:?}");
}

#[test]
fn kinds_check_finds_a_missing_program_and_settings_that_a_program_refuses() {
    for (front, why) in [
        ("program: explode", "there is no program `explode`; there are: act, explore, orchestrate, react"),
        ("program_settings: { a: 1 }", "the program `react` takes no `program_settings`"),
        ("program: explore", "missing field `max_questions`"),
        (
            "program: explore\nprogram_settings: { max_questions: 1, max_subquestions: 4, clarify: a, missing: b, \
             subquestions: c, summary: d }",
            "add `clerk` to `peers`",
        ),
    ] {
        let place = DataDir::new();
        place.write("data/kinds/clerk.md", &format!("---\nname: clerk\n{front}\n---\nYou file papers.\n"));
        let checked = place.entourage(&["kinds", "check"]);
        assert!(checked.code == 1 && checked.stdout.contains(why), "{checked:?}");
        let refused = place.entourage(&["run", "-q", "File this", "--kind", "clerk"]);
        assert!(refused.error(2).contains(why), "{refused:?}");
    }
}

#[test]
fn kinds_import_reads_coding_agent_files_and_overwrites_nothing() {
    let place = DataDir::new();
    let from = place.write(
        "agents/reviewer.md",
        "---\nname: reviewer\ndescription: Use: after edits. Examples: <example>user: \"Look\"</example>\n\
         tools: Read, Bash\ncolor: red\n---\nYou review.\n",
    );
    place.write("agents/notes.md", "Nothing but text.\n");
    place.write("agents/clerk.md", CLERK);
    place.write("agents/more/cook.md", CLERK);
    place.write("agents/list.txt", "Nothing.\n");
    let mine = place.write("data/kinds/clerk.md", "---\nname: clerk\n---\nMine.\n");
    let directory = from.parent().expect("a directory").to_str().expect("a path").to_owned();
    let imported = place.entourage(&["kinds", "import", &directory]);
    assert_eq!(imported.code, 1, "{imported:?}");
    for told in [
        "reviewer from ",
        "notes.md is left out: is no kind",
        "clerk.md already exists",
        "`Bash`",
        "agents/more is left out: is a directory; import it by its own name",
        "agents/list.txt is left out: does not end in .md",
    ] {
        assert!(imported.stdout.contains(told), "{told}: {imported:?}");
    }
    assert!(imported.stderr.contains("imported 1 of 3 files into "), "{imported:?}");
    assert!(std::fs::read_to_string(mine).expect("it is there").contains("Mine."));
    let shown = place.entourage(&["kinds", "show", "reviewer"]).good().stdout;
    assert!(shown.contains("read_file") && shown.contains("You review."), "{shown}");
}

/// Files that are not read count among those left out.
#[test]
fn an_import_that_leaves_out_a_large_or_irregular_file_fails() {
    let place = DataDir::new();
    let import = |directory: &str| place.entourage(&["kinds", "import", directory]);
    place.write("agents/clerk.md", CLERK);
    let huge = place.write("agents/huge.md", &"x".repeat(1024 * 1024 + 1));
    place.write("agents/list.txt", "Nothing.\n");
    let imported = import("agents");
    assert_eq!(imported.code, 1, "{imported:?}");
    assert!(imported.stdout.contains("huge.md is left out: is larger than 1 MiB"), "{imported:?}");
    assert!(imported.stderr.contains("imported 1 of 2 files into "), "{imported:?}");
    std::fs::remove_file(huge).expect("there");
    std::fs::remove_file(place.data().join("kinds/clerk.md")).expect("there");
    import("agents").good();

    std::fs::create_dir_all(place.path().join("others/directory.md")).expect("a directory");
    let none = import("others");
    assert!(none.code == 1 && none.stdout.contains("directory.md is left out: "), "{none:?}");
    std::fs::remove_dir(place.path().join("others/directory.md")).expect("there");
    assert!(import("others").error(2).contains("there is no *.md in others"));
}

#[test]
fn a_kind_with_a_cost_limit_needs_a_model_with_a_known_price() {
    let place = DataDir::new();
    let kind = |model: &str| {
        format!("---\nname: clerk\nmodel: {model}\nlimits:\n  max_cost: $0.50\n---\nYou file papers.\n")
    };
    let usual = place.entourage(&["kinds", "list", "--json"]).good().json().len();
    place.write("data/kinds/clerk.md", &kind("compatible::cheap"));
    let refused = place.entourage(&["run", "File this", "--kind", "clerk"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{refused:?}");
    for named in ["`clerk`", "$0.500000", "compatible::cheap", "models.prices"] {
        assert!(refused.stderr.contains(named), "{named}: {refused:?}");
    }
    let checked = place.entourage(&["kinds", "check"]);
    assert!(checked.code == 1 && checked.stdout.contains("compatible::cheap is not known"), "{checked:?}");
    assert!(checked.stderr.contains(&format!("{usual} kinds, 1 mistake (")), "it is none: {checked:?}");
    let doctor = place.entourage(&["doctor", "--offline"]).stdout;
    let good = doctor.lines().find(|line| line.starts_with("✓ kinds")).expect("the others");
    assert!(good.contains("assistant") && !good.contains("clerk"), "{good}");
    let other = place.entourage(&["run", "Hello"]).good();
    assert!(other.stderr.contains("continuing without this file"), "only that kind is left out: {other:?}");
    place.write("data/kinds/clerk.md", &kind("rehearsal::free"));
    place.entourage(&["run", "File this", "--kind", "clerk"]).good();
    assert!(place.entourage(&["kinds", "show", "clerk"]).good().stdout.contains("$0.500000"));

    place.write("data/kinds/clerk.md", &kind("rehearsal::free").replace("$0.50", "half a dollar"));
    let checked = place.entourage(&["kinds", "check"]).stdout;
    assert!(checked.contains("clerk.md:5: error: ") && checked.contains("such as `$0.50`"), "{checked}");
}

const CLERK: &str =
    "---\nname: clerk\ndescription: Files papers.\npeers: [researcher]\n---\nYou file papers.\n";
const BROKEN: &str = "---\nname: cook\nlimits:\n  max_stepz: 3\n---\nYou cook.\n";

#[test]
fn a_server_reloads_kinds_and_an_open_run_keeps_its_version() {
    let place = DataDir::new();
    place.write("data/kinds/clerk.md", CLERK);
    let _server = Server::start(&place);
    let asked = place.entourage(&["run", "--kind", "clerk", "Please ask me first"]);
    assert_eq!(asked.code, 3, "{asked:?}");
    let version = |place: &DataDir| {
        let shown = place.entourage(&["kinds", "show", "clerk", "--json"]).good().json().remove(0);
        (shown["version"].as_str().expect("a version").to_owned(), shown["in_use"]["version"].clone())
    };
    let (first, _) = version(&place);

    place.write("data/kinds/clerk.md", &CLERK.replace("papers", "letters"));
    let (second, served) = version(&place);
    assert!(second != first && served == first.as_str(), "the server has not read it yet");
    let shown = place.entourage(&["kinds", "show", "clerk"]).good().stdout;
    assert!(shown.contains("`entourage kinds reload` loads it"), "{shown}");

    let cook = place.write("data/kinds/cook.md", BROKEN);
    let refused = place.entourage(&["kinds", "reload"]);
    assert!(refused.error(2).contains(&format!("{}:4: error: ", cook.display())), "{refused:?}");
    assert_eq!(version(&place).1, first.as_str(), "nothing has changed");

    place.write("data/kinds/cook.md", &BROKEN.replace("max_stepz", "max_steps"));
    let reloaded = place.entourage(&["kinds", "reload"]).good();
    assert_eq!(reloaded.stdout, "added cook\nchanged clerk\n");
    let listed = place.entourage(&["kinds"]).good().stdout;
    assert!(
        listed.contains(&format!("{second}  Files letters. (1 open run of version {first})")),
        "{listed}"
    );

    let agent = id(&asked.stderr, "agt_");
    place.entourage(&["answer", id(&asked.stderr, "qst_"), "Green"]).good();
    place.entourage(&["run", "--resume", agent]).good();
    assert!(!place.entourage(&["kinds", "list"]).good().stdout.contains("open run"), "it has ended");
    assert!(place.entourage(&["kinds", "reload"]).good().stderr.contains("nothing has changed"));
}

#[cfg(unix)]
#[test]
fn sighup_reloads_kinds_and_leaves_the_server_running() {
    let place = DataDir::new();
    let mut server = Server::start(&place);
    place.write("data/kinds/clerk.md", CLERK);
    server.signal(Signal::HUP);
    assert!(server.logged("the kinds were reloaded").contains("clerk"));
    let cook = place.write("data/kinds/cook.md", BROKEN);
    server.signal(Signal::HUP);
    let told = server.logged("nothing has changed");
    assert!(told.contains(&format!("{}:4: error: ", cook.display())), "{told}");
    let kinds = place.entourage(&["kinds", "list"]).good().stdout;
    assert!(kinds.contains("clerk") && !kinds.contains("cook"), "{kinds}");
    assert_eq!(server.stop(), 0);
}

#[test]
fn without_a_server_kinds_are_listed_with_open_runs_and_not_reloaded() {
    let place = DataDir::new();
    assert!(place.entourage(&["kinds", "reload"]).error(1).contains("no server runs"));
    let kinds = place.entourage(&["kinds", "list", "--json"]).good().json();
    assert_eq!((&kinds[0]["name"], &kinds[0]["open_runs"]), (&"assistant".into(), &0.into()));
    assert!(!place.data().exists(), "looking changes nothing");
    place.write("data/kinds/clerk.md", CLERK);
    assert_eq!(place.entourage(&["run", "--kind", "clerk", "Please ask me first"]).code, 3);
    assert!(place.entourage(&["kinds"]).good().stdout.contains("Files papers. (1 open run)"));
    std::fs::remove_file(place.data().join("kinds/clerk.md")).expect("removed");
    assert!(place.entourage(&["kinds"]).good().stdout.contains("(its file is gone, 1 open run)"));
}
