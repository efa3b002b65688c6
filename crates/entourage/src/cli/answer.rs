//! `entourage answer`: what an agent waits for.

use clap::Args;
use entourage_types::{Answer as Given, QuestionId};

use super::{
    backend::{self, Purpose, Result},
    failure::Exit,
    globals::Globals,
    out,
};

const AFTER_HELP: &str = "\
Examples:
  entourage answer qst_0199… \"The one in Lisbon\"
  entourage answer qst_0199… --decline        the agent goes on without

`entourage tree` shows open questions. Each is answered once, by whoever is first.";

/// Answer a question that an agent asked
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Answer {
    /// The question
    question: QuestionId,
    /// The answer
    #[arg(required_unless_present = "decline", conflicts_with = "decline")]
    text: Option<String>,
    /// Rather not say
    #[arg(long)]
    decline: bool,
}

impl Answer {
    pub(crate) async fn obey(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
        let given = self.text.map_or(Given::Declined, Given::Text);
        let question = backend.answer(self.question, given).await?;
        if globals.json {
            out::json(&question)?;
        } else if !globals.quiet {
            let next = match backend.is_at_work() {
                true => "the agent goes on".to_owned(),
                false => format!("go on with: entourage run --resume {}{}", question.root, globals.again()),
            };
            out::note(&format!("{}; {next}", question.status));
        }
        Ok(Exit::Done)
    }
}
