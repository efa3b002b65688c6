//! Parses what a user types: a message, or a command.

use tokio_util::sync::CancellationToken;

use crate::cli::{
    input::{self, Lines},
    out,
    session::{ANSWERS, is_command},
    text::text,
};

/// The commands that need an engine.
const COMMANDS: [(&str, &str); 5] = [
    ("/tree", "shows the agents and their questions"),
    ("/say TEXT", "sends a message, also while a question is open"),
    ("/decline", "declines the open question"),
    ("/reject WHY", "rejects the call that waits for approval"),
    ("/edit {…}", "approves it with these arguments instead"),
];

/// The commands that need no engine.
const ALWAYS: [(&str, &str); 2] =
    [("/help", "shows this"), ("/quit", "ends the conversation, like /exit and Ctrl-D; everything is saved")];

/// What a user typed.
pub(super) enum ChatInput {
    Say(String),
    /// A message, even if a question is open.
    Tell(String),
    Tree,
    Help,
    Unknown(String),
    Quit,
}

impl ChatInput {
    pub(super) fn of(text: &str) -> Self {
        if let Some(told) = text.strip_prefix("/say ") {
            return Self::Tell(told.trim().to_owned());
        }
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

/// Waits for what the user types next.
pub(super) async fn next(interrupt: &CancellationToken, edited: bool, lines: &mut Lines) -> ChatInput {
    loop {
        if input::is_interactive() && !edited {
            out::aside(out::stderr().cyan("> "));
        }
        let line = tokio::select! {
            line = lines.next() => line,
            () = interrupt.cancelled() => None,
        };
        match line.as_deref().map(str::trim) {
            None => return ChatInput::Quit,
            Some("") => {}
            Some(text) => return ChatInput::of(text),
        }
    }
}

/// Lists the commands.
pub(super) fn help() {
    list(&COMMANDS);
    list(&ALWAYS);
    out::note(
        out::stderr()
            .dim("  anything else answers the open question, or is sent to the agent, also while it works"),
    );
}

/// Lists the commands that work while the conversation waits for an engine.
pub(super) fn help_meanwhile() {
    list(&ALWAYS);
    out::note(out::stderr().dim("  anything else is kept, and sent once `entourage serve` runs"));
}

fn list(commands: &[(&str, &str)]) {
    let paint = out::stderr();
    for (command, does) in commands {
        out::note(text!["  ", paint.bold(format!("{command:12}")), paint.dim(does)]);
    }
}

/// Reports a command that is unknown, or not possible now.
pub(super) fn unknown(command: &str) {
    if ANSWERS.iter().any(|answer| command.starts_with(answer)) {
        out::note("no question is open");
    } else {
        out::note(text!["there is no command ", command, "; /help lists them"]);
    }
}
