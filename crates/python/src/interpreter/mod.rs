//! Running code in this process: the loop between the interpreter and what is on record.

mod errors;
mod functions;
mod host;
mod output;
mod refused;
mod snapshot;
mod values;

pub(crate) use errors::MODULES;
pub(crate) use functions::MAX_CALL_BYTES;
pub(crate) use host::MAX_NEW_BYTES;
pub use snapshot::MAX_SNAPSHOT_BYTES;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Instant;

use monty::{FunctionCall, MontyRun, ResolveFutures, RunProgress};
use monty_types::{
    CompileOptions, ExcType, ExtFunctionResult, MontyException, MontyObject, NameLookupResult, PrintWriter,
    ResourceLimits, ResourceTracker,
};

use crate::code::{Prepared, RAISE};
use crate::error::Error;
use crate::progress::{Ended, Progress};
use crate::record::Record;
use crate::script::Script;
use host::{Answer, Host, State, Waited};
use output::Output;
use snapshot::Held;

/// What the interpreter calls the code.
const SCRIPT_NAME: &str = "code";

/// What the interpreter came to.
type Step = Result<RunProgress, MontyException>;

/// Runs code until it ends or cannot go on, **in this process**.
///
/// What the code asked for before is answered from `record`; `snapshot` saves running it again from its top, and is
/// ignored if it is none of this script and of a beginning of this record. The interpreter has no access to anything
/// of the system, but a mistake in it, or memory that runs out, ends the process: code that a model wrote belongs
/// into [`crate::Workers`].
///
/// # Errors
/// [`Error::Record`] if the record contradicts itself.
pub fn run(script: &Script, record: &Record, snapshot: Option<&[u8]>) -> Result<Progress, Error> {
    if let Some(mistake) = record.mistake() {
        return Err(Error::Record(mistake));
    }
    let began = Instant::now();
    let prepared = Prepared::new(&script.code);
    let continued = snapshot.and_then(|bytes| snapshot::load(script, &prepared, record, bytes));
    let goes_on = continued.is_some();
    let (held, step) = match continued {
        Some((held, progress)) => (held, Some(Ok(progress))),
        None => (
            Held { state: State::default(), output: Output::new(script.limits.output_bytes), waited: None },
            None,
        ),
    };
    let mut run = Run {
        script,
        record,
        prepared,
        host: Host::new(record, script.limits.calls, held.state),
        output: held.output,
        began,
        goes_on,
    };
    let step = step.unwrap_or_else(|| run.start());
    Ok(run.drive(step, held.waited))
}

/// A run.
struct Run<'a> {
    script: &'a Script,
    record: &'a Record,
    prepared: Prepared,
    host: Host<'a>,
    output: Output,
    began: Instant,
    /// Whether it goes on from a snapshot: it ran for long before.
    goes_on: bool,
}

/// What the next turn of the loop begins with, or what the run came to.
type Turn = ControlFlow<Progress, Step>;

impl Run<'_> {
    fn start(&mut self) -> Step {
        let limits = &self.script.limits;
        let tracker = ResourceTracker::new(
            ResourceLimits::default()
                .max_duration(limits.cpu)
                .max_memory(usize::try_from(limits.memory_bytes).unwrap_or(usize::MAX))
                .max_recursion_depth(limits.recursion),
        );
        let text = self.prepared.text.clone();
        MontyRun::new(text, SCRIPT_NAME, Vec::new(), CompileOptions::default())?.start(
            Vec::new(),
            tracker,
            PrintWriter::Callback(&mut self.output),
        )
    }

    /// Goes on until the code ends or cannot go on. `waited` is what it waits for in place, if it does.
    fn drive(mut self, mut step: Step, mut waited: Option<Waited>) -> Progress {
        loop {
            let progress = match step {
                Ok(progress) => progress,
                Err(error) => return self.failed(&error),
            };
            let turn = match progress {
                RunProgress::Complete(value) => return self.ended(&value),
                RunProgress::FunctionCall(call) => match waited.take() {
                    Some(waited) => self.settle(call, waited, None),
                    None => self.call(call),
                },
                RunProgress::ResolveFutures(futures) => self.resolve(futures),
                RunProgress::NameLookup(lookup) => {
                    let known = lookup.name == RAISE || self.prepared.function(&lookup.name).is_some();
                    let known = known && lookup.object_id().is_none();
                    let found = if known {
                        NameLookupResult::Value(MontyObject::Function {
                            name: lookup.name.clone(),
                            docstring: None,
                        })
                    } else {
                        NameLookupResult::Undefined
                    };
                    Turn::Continue(lookup.resume(found, PrintWriter::Callback(&mut self.output)))
                }
                RunProgress::OsCall(call) => Turn::Continue(
                    call.resume_with(PrintWriter::Callback(&mut self.output), |call| refused::answer(&call)),
                ),
            };
            step = match turn {
                Turn::Continue(step) => step,
                Turn::Break(progress) => return progress,
            };
        }
    }

    /// The code called a function that is not Python's.
    fn call(&mut self, mut call: FunctionCall) -> Turn {
        let args = std::mem::take(&mut call.args);
        let kwargs = std::mem::take(&mut call.kwargs);
        if call.function_name == RAISE {
            let text = args.into_iter().next().map(|text| text.to_string());
            return self.resume(call, MontyException::new(ExcType::RuntimeError, text).into());
        }
        let known = self.prepared.function(&call.function_name);
        let Some((function, site)) = known.filter(|_| call.object_id.is_none()) else {
            let text = format!("name '{}' is not defined", call.function_name);
            return self.resume(call, MontyException::new(ExcType::NameError, Some(text)).into());
        };
        let (line, awaited) = site.map_or((None, false), |site| (Some(site.line), site.awaited));
        match self.host.call(function, line, args, kwargs) {
            Answer::Raises(error) => self.resume(call, error.into()),
            Answer::Diverges(progress) => Turn::Break(progress),
            Answer::Waits(waited) if awaited => {
                self.host.state.futures.insert(call.call_id, waited);
                Turn::Continue(call.resume_pending(PrintWriter::Callback(&mut self.output)))
            }
            Answer::Waits(waited) => self.settle(call, waited, line),
        }
    }

    /// Goes on with what the code waits for in place, or says that it cannot.
    fn settle(&mut self, call: FunctionCall, waited: Waited, line: Option<u32>) -> Turn {
        if let Some(result) = self.host.result(&waited) {
            return self.resume(call, result);
        }
        let progress = self.could_end_here(RunProgress::FunctionCall(call));
        while self.host.give() {
            if let Some(result) = self.host.result(&waited) {
                return match progress {
                    RunProgress::FunctionCall(call) => self.resume(call, result),
                    other => Turn::Continue(Ok(other)),
                };
            }
        }
        let awaits = vec![self.host.missing(&waited)];
        Turn::Break(self.blocked(awaits, Some(waited), &progress, line))
    }

    /// The run, which would end here if there were fewer outcomes, and go on from a snapshot: in all it must come to
    /// the same.
    fn could_end_here(&self, progress: RunProgress) -> RunProgress {
        if self.host.can_give() { snapshot::reloaded(progress) } else { progress }
    }

    fn resume(&mut self, call: FunctionCall, result: ExtFunctionResult) -> Turn {
        Turn::Continue(call.resume(result, PrintWriter::Callback(&mut self.output)))
    }

    /// Goes on with an awaitable that is there, or says that none is. The interpreter gets one at a time, the oldest
    /// first: it lists them in no order, and mixes up several errors.
    fn resolve(&mut self, futures: ResolveFutures) -> Turn {
        let mut pending = futures.pending_call_ids().to_vec();
        pending.sort_unstable();
        let mut there = self.first_there(&pending);
        let mut progress = RunProgress::ResolveFutures(futures);
        if there.is_none() {
            progress = self.could_end_here(progress);
        }
        while there.is_none() && self.host.give() {
            there = self.first_there(&pending);
        }
        match (there, progress) {
            (Some(there), RunProgress::ResolveFutures(futures)) => {
                Turn::Continue(futures.resume(vec![there], PrintWriter::Callback(&mut self.output)))
            }
            (Some(_), other) => Turn::Continue(Ok(other)),
            (None, progress) => {
                let waited = pending.iter().filter_map(|id| self.host.state.futures.get(id));
                let awaits = waited.map(|waited| self.host.missing(waited)).collect();
                Turn::Break(self.blocked(awaits, None, &progress, None))
            }
        }
    }

    /// The first of these awaitables that is there, and what it stands for.
    fn first_there(&mut self, pending: &[u32]) -> Option<(u32, ExtFunctionResult)> {
        let host = &mut self.host;
        let there = |id: &u32| Some((*id, host.result(host.state.futures.get(id)?)?));
        let (id, result) = pending.iter().find_map(there)?;
        host.state.futures.remove(&id);
        Some((id, for_await(result)))
    }

    fn blocked(
        &mut self,
        awaits: Vec<Vec<u32>>,
        waited: Option<Waited>,
        progress: &RunProgress,
        line: Option<u32>,
    ) -> Progress {
        if let Some(divergence) = self.host.divergence(line) {
            return divergence;
        }
        // Code may wait for the same at many places.
        let mut seen = BTreeSet::new();
        let awaits: Vec<_> = awaits.into_iter().filter(|group| seen.insert(group.clone())).collect();
        let calls = std::mem::take(&mut self.host.new);
        let held = Held {
            state: std::mem::take(&mut self.host.state),
            output: std::mem::take(&mut self.output),
            waited,
        };
        let is_worth = |after| self.goes_on || self.began.elapsed() >= after;
        let snapshot = match self.script.snapshot_after.is_some_and(is_worth) {
            true => snapshot::save(self.script, &self.prepared, self.record, &calls, held, progress),
            false => None,
        };
        Progress::Blocked { awaits, snapshot, calls }
    }

    fn failed(mut self, error: &MontyException) -> Progress {
        let explained = Some(errors::explain(error, self.script, self.prepared.lines_before));
        if !errors::is_limit(error)
            && let Some(mut divergence) = self.host.divergence_at_end()
        {
            if let Progress::Diverged { error, .. } = &mut divergence {
                *error = explained.map(Box::new);
            }
            return divergence;
        }
        Progress::Ended(Ended { error: explained, ..self.end() })
    }

    fn ended(mut self, value: &MontyObject) -> Progress {
        if let Some(divergence) = self.host.divergence_at_end() {
            return divergence;
        }
        let limit = self.script.limits.output_bytes;
        let value = (!matches!(value, MontyObject::None)).then(|| value.py_repr());
        let mut ended = self.end();
        ended.value = value.map(|value| {
            let kept = output::head(&value, limit);
            ended.truncated |= kept.len() < value.len();
            kept.to_owned()
        });
        Progress::Ended(ended)
    }

    fn end(&mut self) -> Ended {
        Ended {
            unawaited: self.host.unawaited(),
            calls: std::mem::take(&mut self.host.new),
            truncated: self.output.truncated,
            stdout: std::mem::take(&mut self.output.text),
            value: None,
            error: None,
        }
    }
}

/// What the code before the code takes for an awaitable: a value, or the text of an error, and which of them it is.
fn for_await(result: ExtFunctionResult) -> ExtFunctionResult {
    let (value, is_value) = match result {
        ExtFunctionResult::Return(value) => (value, true),
        ExtFunctionResult::Error(error) => {
            let text = error.into_message().unwrap_or_default();
            (MontyObject::String(text), false)
        }
        other => return other,
    };
    ExtFunctionResult::Return(MontyObject::Tuple(vec![value, MontyObject::Bool(is_value)]))
}
