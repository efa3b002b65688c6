//! Tests of every way to answer a question, from the command line and in a conversation.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    process::Stdio,
};

use super::{
    data_dir::{DataDir, Ended, id},
    model::accepted,
    terminal::Terminal,
};

/// A place whose researcher needs approval to write a note.
fn place_with_approval_rule() -> DataDir {
    let place = DataDir::new();
    let kind =
        "---\nname: researcher\ntools: [create_note]\napproval:\n  - tools: create_note\n---\nNote it.\n";
    place.write("data/kinds/researcher.md", kind);
    place
}

/// Starts or continues a task, until it asks a question. Returns the agent's id and the question's.
#[track_caller]
fn run_until_question(place: &DataDir, arguments: &[&str]) -> (String, String) {
    let ended = place.entourage(&[&["run"], arguments].concat());
    assert_eq!(ended.code, 3, "{ended:?}");
    (id(&ended.stderr, "agt_").to_owned(), id(&ended.stderr, "qst_").to_owned())
}

/// The outcome of a run whose question got this answer.
#[track_caller]
fn run_after_answer(answer: &[&str]) -> Ended {
    let place = place_with_approval_rule();
    let (agent, question) = run_until_question(&place, &["Look"]);
    place.entourage(&[&["answer", &question], answer].concat()).good();
    place.entourage(&["run", "--resume", &agent]).good()
}

#[test]
fn an_approved_call_runs_as_proposed_or_with_edited_arguments() {
    assert!(run_after_answer(&["--approve"]).stdout.contains("Noted in this conversation: Rehearsal: Look"));
    let mine = r#"{"title": "Mine", "content": "Checked."}"#;
    let edited = run_after_answer(&["--approve", "--arguments", mine]).stdout;
    assert!(edited.contains("Noted in this conversation: Mine") && edited.contains("Checked."), "{edited}");
}

#[test]
fn answering_a_paused_agent_prints_how_to_resume_it() {
    let place = place_with_approval_rule();
    let (agent, question) = run_until_question(&place, &["--kind", "researcher", "Look"]);
    place.entourage(&["pause", &agent]).good();
    assert_eq!(place.entourage(&["run", "-q", "--resume", &agent]).code, 3);
    let answered = place.entourage(&["answer", &question, "--approve"]).good();
    let next = format!("the agent is paused; resume it with: entourage resume {agent}");
    assert!(answered.stderr.contains(&next), "{answered:?}");
}

#[test]
fn a_rejected_call_is_not_made_and_the_agent_reads_the_reason() {
    let rejected = run_after_answer(&["--reject", "too dear"]).stdout;
    assert!(rejected.contains("too dear") && !rejected.contains("Noted in"), "{rejected}");
    let instead = run_after_answer(&["It is in the drawer."]).stdout;
    assert!(instead.contains("It is in the drawer.") && !instead.contains("Noted in"), "{instead}");
    for without_words in ["--reject", "--decline"] {
        assert!(!run_after_answer(&[without_words]).stdout.contains("Noted in"), "{without_words}");
    }
}

#[test]
fn an_option_number_or_a_plain_yes_or_no_is_a_verdict() {
    for made in ["1", "yes"] {
        assert!(
            run_after_answer(&[made]).stdout.contains("Noted in this conversation: Rehearsal: Look"),
            "{made}"
        );
    }
    for left in ["3", "no"] {
        let said = run_after_answer(&[left]).stdout;
        assert!(!said.contains("Noted in") && !said.contains("answers instead"), "{left}: {said}");
    }
}

#[test]
fn an_invalid_answer_is_refused_and_the_question_stays_open() {
    let place = place_with_approval_rule();
    let (_, question) = run_until_question(&place, &["Look"]);
    let answer = |flags: &[&str]| place.entourage(&[&["answer", &question], flags].concat());
    for (flags, said) in [
        (&["--retry"][..], "retry"),
        (&["--give-up"], "give_up"),
        (&["--approve", "--arguments", r#"{"title": 3}"#], "create_note"),
        (&["4"], "there is no option 4: give a number from 1 to 3, or words of your own"),
    ] {
        let refused = answer(flags);
        assert!(refused.error(2).contains(said), "{flags:?}: {refused:?}");
    }
    for (flags, said) in [
        (&["--approve", "--reject"][..], "cannot be used with"),
        (&["--approve", "--arguments", "3"], "Give an object"),
        (&["--reject", "--arguments", "{}"], "cannot be used with"),
        (&[], "required"),
    ] {
        let refused = answer(flags);
        assert_eq!(refused.code, 2, "{flags:?}: {refused:?}");
        assert!(refused.stderr.contains(said), "{flags:?}: {refused:?}");
    }
    assert!(answer(&["--approve", "--json"]).good().stdout.contains("\"answered\""));
    assert!(answer(&["--approve"]).error(2).contains("already"));
}

#[test]
fn approve_always_creates_a_grant_that_is_listed_and_revoked() {
    let place = place_with_approval_rule();
    assert!(place.entourage(&["grants"]).good().stderr.contains("no grant is in force"));
    let (agent, question) = run_until_question(&place, &["Look"]);
    place.entourage(&["answer", &question, "--always"]).good();
    place.entourage(&["run", "--resume", &agent]).good();
    let grants = place.entourage(&["grants"]).good().stdout;
    assert!(grants.contains("create_note, exempt from rule: create_note"), "{grants}");
    let grant = id(&grants, "grt_").to_owned();
    let grantee = id(&grants, "agt_").to_owned();
    assert_eq!(place.entourage(&["grants", &grantee, "--json"]).good().json()[0]["id"], grant.as_str());
    assert_eq!(
        place.entourage(&["grants", &agent, "--json"]).good().json().len(),
        0,
        "it is the researcher's"
    );
    place.entourage(&["run", "--resume", &agent, "Look again"]).good();

    let revoked = place.entourage(&["revoke", &grant]).good();
    let again = "revoked: the agent asks again about calls of `create_note`";
    assert!(revoked.stderr.contains(again), "{revoked:?}");
    assert_eq!(place.entourage(&["grants", "--json"]).good().json().len(), 0);
    run_until_question(&place, &["--resume", &agent, "Look once more"]);
    let unknown = place.entourage(&["revoke", "grt_00000000000070008000000000000000"]);
    assert!(unknown.error(2).contains("`entourage grants` lists those in force"), "{unknown:?}");
}

#[test]
fn the_answer_retries_or_gives_up_a_call_in_doubt() {
    let place = DataDir::new();
    place.write(
        "data/kinds/researcher.md",
        "---\nname: researcher\ntools: [fetch_url]\neffects: { unsafe: fetch_url }\n---\nFetch it.\n",
    );
    let site = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = site.local_addr().expect("an address");
    let cut_off = |arguments: &[&str]| {
        let mut command = place.process(&[&["run"], arguments].concat());
        command.env("ENTOURAGE_TOOLS__FETCH__ALLOW", address.to_string()).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut stream = accepted(&site);
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).expect("a request");
        child.kill().expect("killed");
        child.wait().expect("it ends");
        // The client is gone by now.
        let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
        line
    };
    assert!(cut_off(&[&format!("Read http://{address}/page")]).starts_with("GET /page "));
    let (agent, question) = run_until_question(&place, &["--resume"]);
    place.entourage(&["answer", &question, "--retry"]).good();
    assert!(cut_off(&["--resume", &agent]).starts_with("GET /page "), "it is made again");
    let (_, question) = run_until_question(&place, &["--resume", &agent]);
    place.entourage(&["answer", &question, "--give-up"]).good();
    place.entourage(&["run", "--resume", &agent]).good();
}

#[test]
fn chat_edits_one_proposed_call_and_rejects_another() {
    let place = place_with_approval_rule();
    let mut chat = Terminal::start(&place, &["chat"]);
    let asks =
        "/edit {…}, /reject why, or a text for the agent to read instead; /say TEXT sends a message) >";
    let rests = " tokens\r\n> ";
    chat.shows("> ");
    chat.types("Look");
    chat.shows(asks);
    chat.types("/edit title Mine");
    chat.shows("Give an object, such as");
    chat.shows(asks);
    chat.types(r#"/edit {"title": "Mine", "content": "Checked."}"#);
    chat.shows(rests);
    chat.types("Look again");
    chat.shows(asks);
    chat.types("/reject too dear");
    chat.shows(rests);
    chat.types("/quit");
    let (code, said) = chat.ended();
    assert_eq!(code, Some(0));
    assert!(said.contains("Noted in this conversation: Mine") && said.contains("too dear"), "{said}");
    assert!(!said.contains("Noted in this conversation: Rehearsal"), "neither was made as it was: {said}");
}

#[test]
fn an_open_approval_prints_the_commands_that_answer_it() {
    let place = place_with_approval_rule();
    let ended = place.entourage(&["run", "Look"]);
    let question = id(&ended.stderr, "qst_");
    let hint = format!("entourage answer {question} --approve, or --reject \"why\"");
    assert!(ended.stderr.contains(&hint), "{ended:?}");
}
