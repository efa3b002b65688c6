//! Tests of the picture that `run` draws at a terminal while agents work, at usual widths of terminals.

use serde_json::json;

use super::{data_dir::DataDir, model::Model, terminal::Terminal};

/// A run at a terminal with so many columns.
fn run(place: &DataDir, model: &Model, columns: u16) -> Terminal {
    let mut command = place.process(&["run", "Tell me"]);
    model.ask(&mut command);
    Terminal::whole(command, columns)
}

/// Fails if a row of the picture reaches the last column: agents at work, streamed text, usage. None of these
/// signs is wide.
#[track_caller]
fn assert_fits(picture: &str, columns: usize) {
    let rows: Vec<&str> = picture.lines().skip_while(|row| !row.contains("assistant writes")).collect();
    assert!(rows.iter().any(|row| row.contains("Ctrl-C")), "no bill in {picture}");
    for row in rows {
        assert!(row.chars().count() < columns, "{row:?} in {picture}");
    }
}

/// The picture shows the newest words of a long line at every width, and nothing reaches its edge.
#[test]
fn the_display_shows_the_newest_words_at_every_width() {
    for columns in [120, 80, 40] {
        let (place, model) = (DataDir::new(), Model::new());
        let mut terminal = run(&place, &model, columns);
        let mut asked = model.next();
        for number in 0..200 {
            asked = asked.text(&format!("word{number} "));
        }
        let picture = terminal.draws("word199");
        assert!(picture.contains("assistant writes"), "{picture}");
        assert_fits(&picture, columns.into());
        asked.text("the end").end();
        terminal.stands("the end");
    }
}

/// A window that becomes narrower and wider while words arrive shows each line once.
#[test]
fn a_resize_leaves_no_duplicate_line() {
    let (place, model) = (DataDir::new(), Model::new());
    let mut terminal = run(&place, &model, 80);
    let mut asked = model.next().text(&"many words ".repeat(40)).text("word0 ");
    terminal.stands("word0");
    for (number, columns) in (1..).zip([60, 40, 80]) {
        terminal.resizes(columns);
        asked = asked.text(&format!("word{number} "));
        let picture = terminal.draws(&format!("word{number}"));
        assert_eq!(picture.matches("assistant writes").count(), 1, "{picture}");
        assert_fits(&picture, columns.into());
    }
    asked.text("the end").end();
    terminal.stands("the end");
}

/// Wide signs count as two columns.
#[test]
fn wide_characters_do_not_pass_the_edge_of_the_terminal() {
    for columns in [80, 40] {
        let (place, model) = (DataDir::new(), Model::new());
        let mut terminal = run(&place, &model, columns);
        let asked = model.next().text(&"漢字🦀".repeat(100)).text("END");
        let picture = terminal.draws("END");
        let rows = picture.lines().filter(|row| row.contains('漢')).count();
        assert_eq!(rows, 4, "as many as are shown, none broken by the terminal: {picture}");
        asked.end();
    }
}

/// What a sub-agent writes is shown, with its name.
#[test]
fn the_display_shows_what_a_sub_agent_writes() {
    let (place, model) = (DataDir::new(), Model::new());
    let mut terminal = run(&place, &model, 80);
    let task = json!({ "recipient": "researcher", "message": "Look it up" });
    model.next().call("send_message", &task).end();
    let asked = model.next().text("It says here that sheep sleep");
    let picture = terminal.draws("researcher: It says here that sheep sleep");
    assert!(picture.contains("└─"), "{picture}");
    asked.end();
    model.next().text("They sleep.").end();
    terminal.stands("They sleep.");
}

/// Failed attempts are shown once: in the picture, not in the log as well.
#[test]
fn a_failed_attempt_is_displayed_and_not_logged_as_well() {
    let (place, model) = (DataDir::new(), Model::new());
    let mut terminal = run(&place, &model, 100);
    model.next().fail();
    let picture = terminal.draws("assistant trying again in ");
    assert!(!picture.contains("WARN"), "{picture}");
}

/// A terminal that understands no escape sequences is sent none.
#[test]
fn a_dumb_terminal_gets_lines_without_escape_sequences() {
    let (place, model) = (DataDir::new(), Model::new());
    let mut command = place.process(&["run", "Tell me"]);
    command.env("TERM", "dumb");
    model.ask(&mut command);
    let mut terminal = Terminal::whole(command, 80);
    model.next().text("Told.").end();
    let shown = terminal.all_until("Told.");
    assert!(shown.contains("assistant begins: Tell me") && !shown.contains('\u{1b}'), "{shown:?}");
}
