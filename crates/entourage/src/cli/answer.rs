//! `entourage answer`: answers a question that an agent waits on.

use clap::Args;
use entourage_api::{Agent, Question};
use entourage_types::{About, Answer as Reply, QuestionId, QuestionStatus, Verdict, WaitingOn};
use serde_json::Value;

use super::{
    backend::{self, Backend, Purpose},
    failure::{Exit, Failure},
    globals::Globals,
    id_input::IdInput,
    out, question,
};

const AFTER_HELP: &str = "\
Examples:
  entourage answer qst_0199… \"The one in Lisbon\"
  entourage answer @last 2                        the second of the options that are shown
  entourage answer @last --decline                the only open question; the agent goes on without an answer
  entourage answer winter \"Two weeks\"             the open question of the agent with this name
  entourage answer qst_0199… --approve            let the agent make a call that waits for approval
  entourage answer qst_0199… --approve --arguments '{\"amount\": 50}'
  entourage answer qst_0199… --always             and stop this rule from asking this agent about this tool
  entourage answer qst_0199… --reject \"too dear\"
  entourage answer qst_0199… --give-up            do not repeat a call that may have taken effect (or --retry)

The number of an option means that option, and `yes` and `no` approve and reject a call that waits for approval. \
For such a call, the agent reads any other text instead of its result; a text for a call that may have \
taken effect is its result. `entourage tree` shows open questions. Each question takes one answer, \
the first.";

const USAGE: &str = "\
entourage answer [OPTIONS] <QUESTION> <TEXT|--decline|--approve|--always|--reject [<REASON>]|--retry|--give-up>";

/// Answer a question that an agent asked
#[derive(Debug, Args)]
#[command(override_usage = USAGE, after_help = AFTER_HELP)]
pub(crate) struct Answer {
    /// The question's id, the end of one, `@last` for the only open question, or the name of the agent that asks
    question: IdInput<QuestionId>,
    #[command(flatten)]
    given: AnswerOption,
    /// With --approve or --always: arguments for the call instead of the agent's own, as JSON
    #[arg(long, value_name = "JSON", value_parser = arguments, conflicts_with_all = ["text", "decline", "reject", "retry", "give_up"])]
    arguments: Option<Value>,
}

/// One way to answer.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct AnswerOption {
    /// The answer: text, or the number of an option
    text: Option<String>,
    /// Decline to answer
    #[arg(long)]
    decline: bool,
    /// Let the agent make the call
    #[arg(long)]
    approve: bool,
    /// Let the agent make the call, and do not ask again what this rule asks about this tool and agent
    #[arg(long)]
    always: bool,
    /// Do not let the agent make the call; a reason may follow
    #[arg(long, value_name = "REASON", num_args = 0..=1)]
    reject: Option<Option<String>>,
    /// Make the doubtful call again
    #[arg(long)]
    retry: bool,
    /// Go on without repeating the doubtful call
    #[arg(long)]
    give_up: bool,
}

impl AnswerOption {
    fn answer(self, arguments: Option<Value>) -> Reply {
        match self {
            Self { text: Some(text), .. } => Reply::Text(text),
            Self { approve, always, .. } if approve || always => {
                Reply::Approve { arguments, always, digest: None }
            }
            Self { reject: Some(reason), .. } => Reply::Reject { reason },
            Self { retry: true, .. } => Reply::Retry,
            Self { give_up: true, .. } => Reply::GiveUp,
            _ => Reply::Declined,
        }
    }
}

/// The command that answers a question from another terminal, with the options that lead to the same data.
pub(super) fn command(id: QuestionId, about: About, again: &str) -> String {
    match about {
        About::Approval => format!("entourage answer {id}{again} --approve, or --reject \"why\""),
        About::Doubt => format!("entourage answer {id}{again} --retry, or --give-up"),
        About::Information => format!("entourage answer {id}{again} \"…\""),
    }
}

/// Converts what a person typed to an answer: the option of that number, a plain yes or no to a call that
/// waits for approval, or the text itself.
///
/// # Errors
/// The range of valid numbers, when the typed number is not one.
pub(super) fn typed(question: &Question, words: &str) -> Result<Reply, String> {
    let (options, trimmed) = (&question.options, words.trim());
    if question.about == About::Approval {
        match trimmed.to_lowercase().as_str() {
            "yes" | "y" => return Ok(Verdict::Approve.into()),
            "no" | "n" => return Ok(Verdict::Reject.into()),
            _ => {}
        }
    }
    let is_number = !trimmed.is_empty() && trimmed.chars().all(|c| c.is_ascii_digit());
    if !is_number || options.is_empty() {
        return Ok(Reply::Text(words.to_owned()));
    }
    let index = trimmed.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    match index.and_then(|index| options.get(index)) {
        Some(option) => Ok(Reply::Text(option.clone())),
        None if options.iter().any(|option| option == trimmed) => Ok(Reply::Text(trimmed.to_owned())),
        None => Err(format!(
            "there is no option {trimmed}: give a number from 1 to {}, or words of your own",
            options.len()
        )),
    }
}

/// Parses arguments as a person types them.
pub(super) fn arguments(text: &str) -> Result<Value, String> {
    let wrong = |why: &str| format!("{why}. Give an object, such as {{\"amount\": 50}}");
    let value: Value = serde_json::from_str(text).map_err(|error| wrong(&format!("not JSON: {error}")))?;
    if value.is_object() { Ok(value) } else { Err(wrong("no object")) }
}

impl Answer {
    pub(crate) async fn run(self, globals: &Globals) -> backend::Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
        let id = self.question.find(&backend).await?;
        let given = match self.given.answer(self.arguments) {
            Reply::Text(words) => meant(&backend, id, words).await?,
            given => given,
        };
        let question = backend.answer(id, given).await?;
        if globals.json {
            out::json(&question)?;
        } else if !globals.quiet {
            let others = backend.questions(Some(question.root)).await?;
            // The answer is committed, whatever the requests below return.
            let agent = backend.agent(question.agent).await.ok();
            let paused = agent.filter(|agent| agent.waiting_on == Some(WaitingOn::Resume));
            let next = match (paused, backend.is_at_work(Some(question.root))) {
                (Some(Agent { id, .. }), _) => {
                    format!("the agent is paused; resume it with: entourage resume {id}{}", globals.again())
                }
                // The agent reads all answers together.
                (None, true) if others.iter().any(|other| other.agent == question.agent) => {
                    "the agent still waits for an answer to another question".to_owned()
                }
                (None, true) => "the agent reads it".to_owned(),
                (None, false) => {
                    format!("continue with: entourage run --resume {}{}", question.root, globals.again())
                }
            };
            out::note(question::with_id(&question, out::stderr()));
            out::note(format!("{}; {next}", question.status));
        }
        Ok(Exit::Done)
    }
}

/// What a text means as the answer to a question.
async fn meant(backend: &Backend, id: QuestionId, words: String) -> backend::Result<Reply> {
    let question = backend.question(id).await?;
    match question.status {
        QuestionStatus::Open => typed(&question, &words).map_err(Failure::usage),
        // The server refuses it, with the reason.
        _ => Ok(Reply::Text(words)),
    }
}

/// Converts a line to an answer: by its command, or by [its text](typed).
pub(crate) fn chosen(question: &Question, line: &str) -> Result<Reply, String> {
    let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match command {
        "/decline" => return Ok(Reply::Declined),
        "/reject" => return Ok(Reply::Reject { reason: (!rest.is_empty()).then(|| rest.to_owned()) }),
        "/edit" => {
            let arguments = Some(arguments(rest)?);
            // Approves exactly the call that the person saw.
            let digest = question.proposal.as_ref().map(|proposal| proposal.digest.clone());
            return Ok(Reply::Approve { arguments, always: false, digest });
        }
        "/help" | "/?" | "/quit" | "/exit" if rest.is_empty() => {
            return Err("type the answer; /decline declines, and Ctrl-C leaves with nothing lost".to_owned());
        }
        _ => {}
    }
    typed(question, line)
}

/// Whether this is the answer that closed a question.
pub(super) fn stands(closed: &Question, answer: &Reply) -> bool {
    let words = answer.in_words(closed.otherwise);
    match (answer, closed.answer.as_deref().zip(words.as_deref())) {
        (Reply::Declined, _) => closed.status == QuestionStatus::Declined,
        _ if closed.status != QuestionStatus::Answered => false,
        // Text that is a verdict is stored as the verdict.
        (Reply::Text(_), Some((stands, given))) => {
            stands.trim().to_lowercase() == given.trim().to_lowercase()
        }
        (_, Some((stands, given))) => stands == given,
        (_, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use entourage_types::{AgentId, CallId, Owner, RunId, Time};
    use serde_json::json;

    use super::*;
    use crate::cli::backend::tests::serving;

    fn question(about: About, options: &[&str]) -> Question {
        let agent = AgentId::new();
        Question {
            id: QuestionId::new(),
            owner: Owner::local(),
            root: agent,
            agent,
            kind: "worker".into(),
            run: RunId::new(),
            call: CallId::new(),
            task: None,
            about,
            text: "Which?".into(),
            options: options.iter().map(|&option| option.to_owned()).collect(),
            proposal: None,
            due: None,
            otherwise: None,
            status: QuestionStatus::Open,
            answer: None,
            path: Vec::new(),
            because: None,
            created: Time::now(),
            updated: Time::now(),
        }
    }

    #[test]
    fn a_typed_number_picks_an_option_and_an_unknown_number_is_refused() {
        let text = |words: &str| Ok(Reply::Text(words.to_owned()));
        let colours = question(About::Information, &["red", "blue", "10"]);
        assert_eq!(typed(&colours, " 2 "), text("blue"));
        assert_eq!(typed(&colours, "10"), text("10"));
        assert_eq!(typed(&colours, "2 of them"), text("2 of them"));
        assert_eq!(typed(&colours, "yes"), text("yes"));
        for none in ["0", "4", "99999999999999999999999"] {
            assert_eq!(
                typed(&colours, none),
                Err(format!("there is no option {none}: give a number from 1 to 3, or words of your own"))
            );
        }
        assert_eq!(typed(&question(About::Information, &[]), "4"), text("4"), "how many?");
        assert_eq!(typed(&question(About::Doubt, &["retry", "give up"]), "1"), text("retry"));
        let leave = question(About::Approval, &["approve", "approve always", "reject"]);
        assert_eq!(typed(&leave, "Yes"), Ok(Verdict::Approve.into()));
        assert_eq!(typed(&leave, "n"), Ok(Verdict::Reject.into()));
        assert_eq!(typed(&leave, "yes, but later"), text("yes, but later"));
    }

    #[tokio::test]
    async fn a_typed_answer_is_read_for_its_question_however_many_others_are_open() {
        let leave = question(About::Approval, &["approve", "approve always", "reject"]);
        let written = serde_json::to_string(&leave).unwrap();
        let (backend, asked) = serving(vec![("application/json", written)]).await;
        assert_eq!(meant(&backend, leave.id, "yes".into()).await.unwrap(), Verdict::Approve.into());
        let asked = asked.await.unwrap();
        assert!(asked[0].starts_with(&format!("GET /v1/questions/{} ", leave.id)), "{asked:?}");
    }

    /// A client whose answer's acknowledgement was lost recognizes its answer in the stored question, and
    /// does not take another's answer for its own.
    #[test]
    fn a_client_recognizes_whether_its_own_answer_closed_the_question() {
        use QuestionStatus::{Answered, Declined, Expired};
        let text = |words: &str| Reply::Text(words.to_owned());
        let reject = |why: &str| Reply::Reject { reason: Some(why.to_owned()) };
        let edit = |title: &str| {
            let arguments = Some(json!({ "title": title }));
            Reply::Approve { arguments, always: false, digest: None }
        };
        let leave = question(About::Approval, &["approve", "approve always", "reject"]);
        for (status, answer, given, is_it) in [
            (Answered, Some("approve"), text("Approve"), true),
            (Answered, Some("approve always"), text("approve always"), true),
            (Answered, Some("approve"), Verdict::Approve.into(), true),
            (Answered, Some("approve"), Verdict::ApproveAlways.into(), false),
            (Answered, Some("approve"), reject("too dear"), false),
            (Answered, Some("reject: too dear"), reject("too dear"), true),
            (Answered, Some("reject: too cheap"), reject("too dear"), false),
            (Answered, Some("approve with {\"title\":\"Mine\"}"), edit("Mine"), true),
            (Answered, Some("approve with {\"title\":\"Mine\"}"), edit("mine"), false),
            (Answered, Some("in the drawer"), text("In the drawer"), true),
            (Answered, Some("in the drawer"), Reply::Declined, false),
            (Declined, None, Reply::Declined, true),
            (Declined, None, text("in the drawer"), false),
            (Expired, Some("reject"), Verdict::Reject.into(), false),
        ] {
            let closed = Question { status, answer: answer.map(str::to_owned), ..leave.clone() };
            assert_eq!(stands(&closed, &given), is_it, "{answer:?}, {given:?}");
        }
    }
}
