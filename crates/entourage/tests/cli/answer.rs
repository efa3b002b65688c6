//! Tests of every way to answer a question, from the command line and in a conversation.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    process::Stdio,
};

use super::{
    model::accepted,
    place::{Ended, Place, id},
    terminal::Terminal,
};

/// A place whose researcher needs approval to write a note.
fn careful() -> Place {
    let place = Place::new();
    let kind =
        "---\nname: researcher\ntools: [create_note]\napproval:\n  - tools: create_note\n---\nNote it.\n";
    place.write("data/kinds/researcher.md", kind);
    place
}

/// Starts or continues a task, until it asks a question. Returns the agent's id and the question's.
#[track_caller]
fn asked(place: &Place, arguments: &[&str]) -> (String, String) {
    let ended = place.entourage(&[&["run"], arguments].concat());
    assert_eq!(ended.code, 3, "{ended:?}");
    (id(&ended.stderr, "agt_").to_owned(), id(&ended.stderr, "qst_").to_owned())
}

/// The outcome of a run whose question got this answer.
#[track_caller]
fn after(answer: &[&str]) -> Ended {
    let place = careful();
    let (agent, question) = asked(&place, &["Look"]);
    place.entourage(&[&["answer", &question], answer].concat()).good();
    place.entourage(&["run", "--resume", &agent]).good()
}

#[test]
fn a_call_is_made_as_it_is_or_with_other_arguments() {
    assert!(after(&["--approve"]).stdout.contains("Noted in this conversation: Rehearsal: Look"));
    let mine = r#"{"title": "Mine", "content": "Checked."}"#;
    let edited = after(&["--approve", "--arguments", mine]).stdout;
    assert!(edited.contains("Noted in this conversation: Mine") && edited.contains("Checked."), "{edited}");
}

#[test]
fn who_answers_an_agent_that_is_paused_is_told_how_it_goes_on() {
    let place = careful();
    let (agent, question) = asked(&place, &["--kind", "researcher", "Look"]);
    place.entourage(&["pause", &agent]).good();
    assert_eq!(place.entourage(&["run", "-q", "--resume", &agent]).code, 3);
    let answered = place.entourage(&["answer", &question, "--approve"]).good();
    let next = format!("the agent is paused; resume it with: entourage resume {agent}");
    assert!(answered.stderr.contains(&next), "{answered:?}");
}

#[test]
fn a_call_is_not_made_and_the_agent_reads_why() {
    let rejected = after(&["--reject", "too dear"]).stdout;
    assert!(rejected.contains("too dear") && !rejected.contains("Noted in"), "{rejected}");
    let instead = after(&["It is in the drawer."]).stdout;
    assert!(instead.contains("It is in the drawer.") && !instead.contains("Noted in"), "{instead}");
    for without_words in ["--reject", "--decline"] {
        assert!(!after(&[without_words]).stdout.contains("Noted in"), "{without_words}");
    }
}

#[test]
fn the_number_beside_an_option_and_a_plain_yes_or_no_are_verdicts() {
    for made in ["1", "yes"] {
        assert!(after(&[made]).stdout.contains("Noted in this conversation: Rehearsal: Look"), "{made}");
    }
    for left in ["3", "no"] {
        let said = after(&[left]).stdout;
        assert!(!said.contains("Noted in") && !said.contains("answers instead"), "{left}: {said}");
    }
}

#[test]
fn an_answer_that_makes_no_sense_is_refused_and_the_question_stays_open() {
    let place = careful();
    let (_, question) = asked(&place, &["Look"]);
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
fn always_makes_a_grant_that_is_listed_and_taken_back() {
    let place = careful();
    assert!(place.entourage(&["grants"]).good().stderr.contains("no grant is in force"));
    let (agent, question) = asked(&place, &["Look"]);
    place.entourage(&["answer", &question, "--always"]).good();
    place.entourage(&["run", "--resume", &agent]).good();
    let grants = place.entourage(&["grants"]).good().stdout;
    assert!(grants.contains("create_note although: create_note"), "{grants}");
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
    asked(&place, &["--resume", &agent, "Look once more"]);
    let unknown = place.entourage(&["revoke", "grt_00000000000070008000000000000000"]);
    assert!(unknown.error(2).contains("`entourage grants` lists those in force"), "{unknown:?}");
}

#[test]
fn a_call_in_doubt_is_made_again_or_given_up() {
    let place = Place::new();
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
    let (agent, question) = asked(&place, &["--resume"]);
    place.entourage(&["answer", &question, "--retry"]).good();
    assert!(cut_off(&["--resume", &agent]).starts_with("GET /page "), "it is made again");
    let (_, question) = asked(&place, &["--resume", &agent]);
    place.entourage(&["answer", &question, "--give-up"]).good();
    place.entourage(&["run", "--resume", &agent]).good();
}

#[test]
fn in_a_conversation_a_call_is_edited_and_another_rejected() {
    let place = careful();
    let mut chat = Terminal::start(&place, &["chat"]);
    let asks = "/edit {…}, /reject why, or a text for the agent to read instead) >";
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
fn the_hint_of_an_open_approval_names_the_ways_to_answer_it() {
    let place = careful();
    let ended = place.entourage(&["run", "Look"]);
    let question = id(&ended.stderr, "qst_");
    let hint = format!("entourage answer {question} --approve, or --reject \"why\"");
    assert!(ended.stderr.contains(&hint), "{ended:?}");
}
