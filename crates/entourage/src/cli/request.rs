//! `entourage request`: shows what a model received.

use clap::Args;
use entourage_api::{ModelMessage, ModelRequest, PrefixBreak};
use entourage_types::RunId;

use super::{
    backend::{self, Purpose, Result},
    failure::Exit,
    globals::Globals,
    id_input::IdInput,
    out,
};

const AFTER_HELP: &str = "\
Examples:
  entourage request run_0199… 1           the first request of this run, as the model received it
  entourage request @last 1               that of the newest run
  entourage request run_0199… 3 --json    for programs, with tools, schema and times
  entourage request run_0199… 7 --item    that of item 7: a turn, a decision or a summary

`entourage show @last --json` names the run of each item. A call whose attempts all failed has no request on record.";

/// Show what a model received in one call
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Request {
    /// The run's id; `entourage runs` shows it
    run: IdInput<RunId>,
    /// Which turn of the run, from 1
    #[arg(value_name = "N")]
    number: u32,
    /// N is the number of an item that the model wrote: a turn, a decision or a summary
    #[arg(long)]
    item: bool,
}

impl Request {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let run = self.run.find(&backend).await?;
        let request = match self.item {
            true => backend.model_request_of_item(run, self.number).await?,
            false => backend.model_request(run, self.number).await?,
        };
        if globals.json {
            out::json(&request)?;
            return Ok(Exit::Done);
        }
        let kept = kept(&request);
        out::result(format!("<system>\n{}\n</system>", request.system))?;
        let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        out::result(format!("<tools>{}</tools>", tools.join(", ")))?;
        for (at, message) in request.messages.iter().enumerate() {
            if at > 0 && at == kept {
                out::note("  — new since the request before —");
            }
            out::result(shown(message))?;
        }
        out::note(format!("  {}", proof(&request)));
        Ok(Exit::Done)
    }
}

fn kept(request: &ModelRequest) -> usize {
    request.before.as_ref().map_or(0, |before| before.kept)
}

/// Says whether the request is what was sent, and what it has in common with the one before.
fn proof(request: &ModelRequest) -> String {
    let exact = match (&request.doubt, &request.asked) {
        (None, Some(asked)) => format!("exact: SHA-256 {}", asked.sha256),
        (Some(doubt), _) => format!("not proved to be exact: {doubt}"),
        (None, None) => "exact".to_owned(),
    };
    let Some(before) = &request.before else { return exact };
    let prefix = match before.broken {
        None => format!("it begins with all {} messages of the request before", before.messages),
        Some(why) => format!(
            "it begins with {} of the {} messages of the request before: {}",
            before.kept,
            before.messages,
            because(why)
        ),
    };
    format!("{exact}; {prefix}")
}

fn because(why: PrefixBreak) -> &'static str {
    match why {
        PrefixBreak::Model => "another model was asked",
        PrefixBreak::Kind => "the kind has another version",
        PrefixBreak::Tools => "other tools were offered",
        PrefixBreak::Digest => "a digest replaced the oldest turns",
        PrefixBreak::Window => "the kind reads the latest messages only",
    }
}

fn shown(message: &ModelMessage) -> String {
    match message {
        ModelMessage::User { text } => format!("<user>\n{text}\n</user>"),
        ModelMessage::Notice { text } => format!("<notice>\n{text}\n</notice>"),
        ModelMessage::Context { text } => format!("<context>\n{text}\n</context>"),
        ModelMessage::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| format!("\n{} {}", call.tool, call.arguments));
            format!("<assistant>\n{text}{}\n</assistant>", calls.collect::<String>())
        }
        ModelMessage::Output { tool, text, .. } => format!("<output tool=\"{tool}\">\n{text}\n</output>"),
    }
}
