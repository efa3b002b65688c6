//! What a person wants next, as they type it.

use tokio_util::sync::CancellationToken;

use crate::cli::{
    input::{self, Lines},
    out,
    session::{ANSWERS, is_command},
    text::text,
};

/// What may be typed besides words for the agent, while there is a engine.
const COMMANDS: [(&str, &str); 4] = [
    ("/tree", "shows the agents, and what they ask"),
    ("/decline", "declines the question that is asked"),
    ("/reject WHY", "does not let the call be made that waits for leave"),
    ("/edit {…}", "lets it be made with these arguments instead"),
];

/// What may be typed whether there is one or not.
const ALWAYS: [(&str, &str); 2] =
    [("/help", "shows this"), ("/quit", "ends the conversation, as /exit and Ctrl-D do; everything is kept")];

/// What a person wants next.
pub(super) enum Wish {
    Say(String),
    Tree,
    Help,
    Unknown(String),
    Quit,
}

impl Wish {
    pub(super) fn of(text: &str) -> Self {
        match text {
            text if is_end(text) => Self::Quit,
            "/tree" => Self::Tree,
            "/help" => Self::Help,
            text if is_command(text) => Self::Unknown(text.to_owned()),
            text => Self::Say(text.to_owned()),
        }
    }
}

/// Whether a text ends the conversation.
pub(in crate::cli) fn is_end(text: &str) -> bool {
    matches!(text.trim(), "/quit" | "/exit")
}

/// What a person says that they want.
pub(super) async fn next(interrupt: &CancellationToken, edited: bool, lines: &mut Lines) -> Wish {
    loop {
        if input::is_interactive() && !edited {
            out::aside(out::stderr().cyan("> "));
        }
        let line = tokio::select! {
            line = lines.next() => line,
            () = interrupt.cancelled() => None,
        };
        match line.as_deref().map(str::trim) {
            None => return Wish::Quit,
            Some("") => {}
            Some(text) => return Wish::of(text),
        }
    }
}

/// Lists the commands.
pub(super) fn help() {
    list(&COMMANDS);
    list(&ALWAYS);
    out::note(out::stderr().dim("  all else is said to the agent, also while it works"));
}

/// Lists those that there are while a engine is waited for.
pub(super) fn help_meanwhile() {
    list(&ALWAYS);
    out::note(out::stderr().dim("  all else is kept, and said once `entourage serve` runs"));
}

fn list(commands: &[(&str, &str)]) {
    let paint = out::stderr();
    for (command, does) in commands {
        out::note(text!["  ", paint.bold(format!("{command:12}")), paint.dim(does)]);
    }
}

/// A command that is none, or not now.
pub(super) fn unknown(command: &str) {
    if ANSWERS.iter().any(|answer| command.starts_with(answer)) {
        out::note("no question is asked");
    } else {
        out::note(text!["there is no command ", command, "; /help lists them"]);
    }
}
