//! `entourage search`: finds what agents keep, by its words.

use clap::{Args, ValueEnum};

use super::{
    backend::{self, Purpose, Result},
    describe,
    failure::{Exit, Failure},
    globals::Globals,
    out,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage search train berlin                 notes, learnings and closed sessions with these words
  entourage search --in notes berl              the last word may be the beginning of one
  entourage search --json berlin                one JSON object a line";

/// Find notes, learnings and closed sessions by their words
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Search {
    /// The words; what is found has all of them
    #[arg(required = true)]
    words: Vec<String>,
    /// Where to look [default: everywhere]
    #[arg(long = "in", value_name = "WHAT")]
    place: Option<Place>,
    /// Show at most this many of each
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Place {
    Notes,
    Learnings,
    Sessions,
}

impl Search {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let Self { words, place, limit } = self;
        let words = words.join(" ");
        if words.trim().is_empty() {
            return Err(Failure::usage("name at least one word"));
        }
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let looks_in = |at| place.is_none_or(|place| place == at);
        let mut found = 0;
        if looks_in(Place::Notes) {
            for note in backend.notes(&words, limit).await? {
                found += 1;
                match globals.json {
                    true => out::json(&note)?,
                    false => show("note", note.agent, &format!("{}: {}", note.title, note.content))?,
                }
            }
        }
        if looks_in(Place::Learnings) {
            for learning in backend.learnings(&words, limit).await? {
                found += 1;
                match globals.json {
                    true => out::json(&learning)?,
                    false => show("learning", learning.agent, &learning.text)?,
                }
            }
        }
        if looks_in(Place::Sessions) {
            for session in backend.find_sessions(&words, limit).await? {
                found += 1;
                match globals.json {
                    true => out::json(&session)?,
                    false => show("session", session.agent, &session.summary)?,
                }
            }
        }
        if found == 0 && !globals.json && !globals.quiet {
            out::note("nothing has all of these words");
        }
        Ok(Exit::Done)
    }
}

fn show(what: &str, agent: entourage_types::AgentId, words: &str) -> Result<()> {
    let paint = out::stdout();
    out::result(text![paint.bold(what), " ", paint.dim(agent), " ", describe::cut(words, 200)])
}
