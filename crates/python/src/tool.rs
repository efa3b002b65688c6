//! `python`: the tool with which an agent runs code.

use std::{fmt::Write as _, time::Duration};

use async_trait::async_trait;
use entourage_tools::{
    Caller, CodeCalls, Context, Effect, Error as ToolError, FairPlaces, Outcome as ToolOutcome,
    PythonInterpreter, PythonSettings, ResultSource, Snapshots, SubCall, Tool, parse, spec_of,
};
use entourage_types::{ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    CPython, Call, Ended, Limits, NewCall, Progress, PythonError, Script, Settings, WorkerCommand, Workers,
    error::Error,
    interpreter::MODULES,
    sub_calls::{record_of, sub_call},
};

const NAME: &str = tool_names::PYTHON;

/// What the functions of code do, as its model reads it; then which Python it is.
const DESCRIPTION: &str = "\
Run Python that starts other agents, waits for them, asks the user and calls your tools. Use it to do many things at once \
or in a loop. It may wait for days. What it prints and the value of its last expression come back; nothing else is kept.
Functions, without an import: fork(prompt, kind=None) starts an agent that knows nothing but the prompt, and returns it \
at once; wait(agent) returns its result as text, wait([a, b]) a list; ask_user(text) returns the answer as text, or \
None; tool(name, **arguments) calls one of your tools and returns its text; emit(text) reports progress. With `await`, \
wait, ask_user and tool give awaitables, for asyncio.gather. What fails raises RuntimeError.
";

/// Which Python the built-in interpreter has.
const BUILT_IN: &str = "\
It is a subset of Python, with no generators, inheritance, files, network, clock or chance. Modules: ";

/// Which Python CPython is here.
const CPYTHON: &str = "\
It is CPython with its standard library and what is installed; no network, no processes, no threads, and no files but in \
/tmp, which is empty at first. After each wait the code runs again from its top, over what its calls returned: clock and \
chance must not decide what it calls.";

/// Models that read little of a description read the example of an argument.
const EXAMPLE: &str = "\
agents = [fork(f'Find the population of {c}') for c in ['Oslo', 'Bergen']]
print(wait(agents))";

/// How long code runs before its state is worth keeping: about what it costs to write and to read one.
const SLOW: Duration = Duration::from_millis(50);

/// Bytes that a message repeats of what code gave a call, or of a reply that is none.
const SHOWN_BYTES: usize = 1_000;

/// How often something else may kill the process of code that waited, before it goes on: it may be the code that takes
/// the machine's memory.
const MOST_KILLED: u32 = 3;

/// The tool (S3-R042, S3-R067). Its calls have no effect of their own: what the code does, it does by calls, each of which
/// is on record.
pub struct PythonTool {
    workers: Workers,
    places: FairPlaces,
    description: String,
    limits: Limits,
    snapshot_after: Option<Duration>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The code. Its last line may be an expression.
    #[schemars(extend("examples" = [EXAMPLE]))]
    code: String,
}

impl PythonTool {
    /// A tool whose code runs in processes of this program, within the limits of these settings.
    #[must_use]
    pub fn of(command: WorkerCommand, settings: &PythonSettings) -> Self {
        let limits = Limits {
            cpu: Duration::from_secs(settings.cpu_seconds),
            wall: Duration::from_secs(settings.seconds),
            memory_bytes: settings.memory_mib << 20,
            output_bytes: settings.output_kib << 10,
            calls: settings.calls.min(CodeCalls::MOST.into()),
            ..Limits::default()
        };
        let language = match settings.interpreter {
            PythonInterpreter::BuiltIn => format!("{BUILT_IN}{MODULES}."),
            PythonInterpreter::Cpython => CPYTHON.to_owned(),
        };
        let description = [DESCRIPTION, &language].concat();
        let snapshot_after = match settings.snapshots {
            Snapshots::Slow => Some(SLOW),
            Snapshots::Always => Some(Duration::ZERO),
            Snapshots::Never => None,
        };
        let (workers, places) = (Self::workers(command, settings), FairPlaces::new(settings.concurrency));
        Self { workers, places, description, limits, snapshot_after }
    }

    /// The processes of such a tool.
    #[must_use]
    pub fn workers(command: WorkerCommand, settings: &PythonSettings) -> Workers {
        let processes = Settings::default();
        match settings.interpreter {
            PythonInterpreter::BuiltIn => Workers::new(command, processes),
            PythonInterpreter::Cpython => {
                let cpython = CPython::new(&settings.cpython, settings.packages.clone());
                Workers::cpython(command, cpython, processes)
            }
        }
    }
}

#[async_trait]
impl Tool for PythonTool {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        if !caller.kind.tools.iter().flatten().any(|tool| tool == NAME) {
            return None;
        }
        let mut spec = spec_of::<Arguments>(NAME, &self.description);
        if let Some(schema) = spec.parameters.as_object_mut() {
            schema.remove("description");
        }
        Some(spec)
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn comes_with(&self) -> &[&str] {
        &[tool_names::FORK, tool_names::EMIT, tool_names::ASK_USER]
    }

    fn places(&self) -> Option<&FairPlaces> {
        Some(&self.places)
    }

    /// What code returns it has from its calls, whose outputs are on record with sources of their own.
    fn source(&self) -> ResultSource {
        ResultSource::Agents
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<ToolOutcome, ToolError> {
        let Arguments { code } = parse(NAME, arguments)?;
        let script = Script { code, limits: self.limits.clone(), snapshot_after: self.snapshot_after };
        let record = record_of(&context.sub_calls);
        let kept = context.sub_calls.snapshot.as_deref();
        let ran = self.workers.run(context.owner.as_str(), &script, &record, kept).await;
        match ran.map_err(|error| tool_error(&error, context.sub_calls.kills))? {
            Progress::Blocked { calls, awaits, snapshot } => {
                let group = |group: Vec<u32>| group.into_iter().map(|number| number as usize).collect();
                let calls = calls.into_iter().map(|new| sub_call(new.call)).collect();
                let awaits = awaits.into_iter().map(group).collect();
                Ok(ToolOutcome::Calls(CodeCalls { calls, awaits, snapshot }))
            }
            Progress::Ended(ended) => match reports(&ended, record.calls.len()) {
                Some(reports) => Ok(ToolOutcome::Calls(reports)),
                None => end(ended),
            },
            Progress::Diverged { number, line, expected, found, error } => {
                let line = line.map(|line| format!(" in line {line}")).unwrap_or_default();
                let found = match (found, error) {
                    (Some(found), _) => format!("it makes {}", named(&found)),
                    (None, Some(error)) => {
                        format!("it fails: {}", shortened(error.traceback.trim_end().to_owned()))
                    }
                    (None, None) => "it ends or waits".to_owned(),
                };
                let why = format!(
                    "the code took another way than before{line}: its call {number} was {}, and now {found}; run it anew",
                    named(&expected)
                );
                Err(ToolError::Failed(why))
            }
        }
    }
}

/// What the caller makes of it that a run came to nothing, after so many kills.
fn tool_error(error: &Error, kills: u32) -> ToolError {
    match error {
        Error::Killed { .. } if kills + 1 < MOST_KILLED => ToolError::Killed(error.to_string()),
        Error::Killed { .. } => ToolError::Failed(error.to_string()),
        _ if error.is_of_machine() => ToolError::Unavailable(error.to_string()),
        _ => ToolError::Failed(shortened(error.to_string())),
    }
}

/// The beginning of a text that a message repeats.
fn shortened(mut text: String) -> String {
    if text.len() > SHOWN_BYTES {
        text.truncate(text.floor_char_boundary(SHOWN_BYTES));
        text.push('…');
    }
    text
}

fn named(call: &Call) -> String {
    let SubCall { tool, arguments } = sub_call(call.clone());
    format!("`{}` with {}", shortened(tool), shortened(arguments.to_string()))
}

/// What code that ended has yet to report, as calls to make before its output; `before` are on record. What it asked for
/// behind its last report, and never waited for, is not made.
fn reports(ended: &Ended, before: usize) -> Option<CodeCalls> {
    let is_report = |new: &NewCall| matches!(new.call, Call::Emit { .. });
    let last = ended.calls.iter().rposition(is_report)?;
    let made = &ended.calls[..=last];
    let numbered = made.iter().zip(before..);
    let awaited = numbered.filter(|(new, _)| is_report(new)).map(|(_, number)| number).collect();
    let calls = made.iter().map(|new| sub_call(new.call.clone())).collect();
    Some(CodeCalls { calls, awaits: vec![awaited], snapshot: None })
}

/// The output of code that ended.
fn end(Ended { stdout, truncated, value, error, .. }: Ended) -> Result<ToolOutcome, ToolError> {
    let mut text = stdout;
    if truncated {
        text.push_str("\n[cut: the code printed more than is kept]\n");
    }
    if let Some(PythonError { traceback, hint, .. }) = error {
        let before = if text.is_empty() { String::new() } else { format!("\nIt printed before:\n{text}") };
        let hint = hint.map(|hint| format!("\n{hint}")).unwrap_or_default();
        return Err(ToolError::Failed(format!("{}{hint}{before}", traceback.trim_end())));
    }
    if let Some(value) = value {
        let _ = write!(text, "{}{value}", if text.is_empty() || text.ends_with('\n') { "" } else { "\n" });
    }
    if text.is_empty() {
        text.push_str("The code ended; it printed nothing.");
    }
    Ok(ToolOutcome::text(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::NewCall;

    #[tokio::test]
    async fn the_settings_say_which_python_it_is() {
        let settings = |set: Value| serde_json::from_value::<PythonSettings>(set).unwrap();
        let command = WorkerCommand { program: "/no/such/worker".into(), args: Vec::new() };
        let tool = |settings: &PythonSettings| PythonTool::of(command.clone(), settings);
        let built_in = tool(&settings(json!({ "interpreter": "built-in" })));
        assert!(
            built_in.description.contains("a subset of Python") && !built_in.description.contains("CPython")
        );
        assert_eq!(built_in.description, tool(&PythonSettings::default()).description);
        let cpython = settings(json!({ "interpreter": "cpython", "cpython": "/no/such/python" }));
        let cpython = tool(&cpython);
        assert!(cpython.description.contains("It is CPython"));
        for tool in [&built_in, &cpython] {
            // As much as models read that are shown the form of each action.
            assert!(tool.description.chars().count() <= 1_000, "{}", tool.description);
        }
        let error = cpython.workers.interpreter().await.unwrap_err().to_string();
        assert!(error.contains("[tools.python]"), "{error}");
        assert!(serde_json::from_value::<PythonSettings>(json!({ "interpreter": "pypy" })).is_err());
    }

    /// How code ends that printed, reported and forked before an error.
    fn failed() -> Ended {
        let error = PythonError {
            kind: "ValueError".into(),
            message: "bad".into(),
            line: Some(3),
            traceback: "ValueError: bad\n".into(),
            hint: Some("Do otherwise.".into()),
        };
        let calls = [Call::Emit { text: "half".into() }, Call::Fork { prompt: "A".into(), kind: None }];
        let calls = calls.map(|call| NewCall { call, line: None }).into();
        Ended { stdout: "seen\n".into(), error: Some(error), calls, ..Ended::default() }
    }

    #[test]
    fn what_code_printed_comes_with_its_failure() {
        let error = end(failed()).unwrap_err().to_string();
        assert_eq!(error, "ValueError: bad\nDo otherwise.\nIt printed before:\nseen\n");
        assert_eq!(end(Ended { error: None, ..failed() }), Ok(ToolOutcome::text("seen\n")));
    }

    /// What the engine makes of an error, whose text stays the same.
    fn seen_as(error: &Error, kills: u32) -> &'static str {
        let (seen, text) = match tool_error(error, kills) {
            ToolError::Unavailable(text) => ("unavailable", text),
            ToolError::Killed(text) => ("killed", text),
            ToolError::Failed(text) => ("failed", text),
            other => panic!("{other:?}"),
        };
        assert_eq!(text, error.to_string());
        seen
    }

    #[test]
    fn trouble_of_the_machine_makes_the_tool_unavailable_and_mistakes_of_the_code_fail() {
        let why = || "why".to_owned();
        for error in [
            Error::Start { program: why(), why: why() },
            Error::Unconfined { why: why(), remedy: "" },
            Error::NoPython { why: why() },
            Error::Io(std::io::ErrorKind::OutOfMemory.into()),
        ] {
            assert_eq!(seen_as(&error, 0), "unavailable", "{error:?}");
            assert_eq!(seen_as(&error, 100 * MOST_KILLED), "unavailable", "{error:?}");
        }
        for error in [
            Error::Record(why()),
            Error::TooLarge { what: "code", bytes: 2, limit: 1 },
            Error::OutOfMemory { limit_bytes: 1 },
            Error::TimedOut { limit: Duration::ZERO },
            Error::TooDeep,
            Error::Crashed { status: why(), said: why() },
            Error::Reply(why()),
        ] {
            assert_eq!(seen_as(&error, 0), "failed", "{error:?}");
        }
    }

    #[test]
    fn code_whose_process_is_killed_again_and_again_fails() {
        let killed = Error::Killed { signal: 9 };
        assert!(killed.is_of_machine());
        assert_eq!(seen_as(&killed, MOST_KILLED - 2), "killed");
        assert_eq!(seen_as(&killed, MOST_KILLED - 1), "failed", "it is the third time");
    }
}
