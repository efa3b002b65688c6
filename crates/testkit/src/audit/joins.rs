//! Joins: a result that a program joins is withheld until then, and is read there once. Quiet work tells nobody.

use std::collections::BTreeMap;

use entourage_store::{Commit, Write};
use entourage_types::{
    Agent, Checkpoint, Item, ItemBody, OnEnd, PostBody, Run, RunId, StepKey, StepState, Task, TaskId,
};

use super::{Found, Invariant::Messages, Snapshot};
use crate::Fact;

/// What the end of each task does, as of some moment.
type Ends = BTreeMap<TaskId, OnEnd>;

pub(super) fn check(whole: &Snapshot, found: &mut Found) {
    for agent in &whole.agents {
        for task in whole.tasks.iter().filter(|task| task.from == agent.id) {
            read_once(whole, agent, task, found);
        }
    }
    for run in &whole.runs {
        for step in whole.steps(run.id) {
            match (&step.key, &step.state) {
                (StepKey::Join(name), StepState::Done(Some(Checkpoint::Item(by)))) => {
                    replaced(whole, run, (name, *by), found);
                }
                (StepKey::Join(name), StepState::Done(_)) => read_all(whole, run, name, found),
                _ => {}
            }
        }
    }
}

/// The results of a task that an agent has read.
fn results(whole: &Snapshot, agent: &Agent, task: &Task) -> Vec<(RunId, Option<StepKey>)> {
    let result = |item: &Item| match &item.body {
        ItemBody::Message(message) if message.task == Some(task.id) && message.is_result() => {
            Some((item.run, item.step.clone()))
        }
        _ => None,
    };
    whole.items(agent.id).iter().filter_map(result).collect()
}

/// A result that is joined is read once, by a join that is done; that of quiet work is not read.
fn read_once(whole: &Snapshot, agent: &Agent, task: &Task, found: &mut Found) {
    let read = results(whole, agent, task);
    match task.on_end {
        OnEnd::Join => {
            let by_join = |(run, key): &(RunId, Option<StepKey>)| {
                let done = whole.steps(*run).iter().filter(|step| step.state.is_done());
                matches!(key, Some(StepKey::Join(_)))
                    && done.map(|step| &step.key).any(|done| Some(done) == key.as_ref())
            };
            found.must(read.len() <= 1 && read.iter().all(by_join), Messages, agent.id, || {
                format!("the result of {} is to be joined, and was read as {read:?}", task.id)
            });
        }
        OnEnd::Quiet => found.must(read.is_empty(), Messages, agent.id, || {
            format!("the result of {} is to tell nobody, and was read as {read:?}", task.id)
        }),
        _ => {}
    }
}

/// Only an instruction ends the wait of a join before its results are there, and then none of them is read.
fn replaced(whole: &Snapshot, run: &Run, (name, by): (&str, u64), found: &mut Found) {
    let items = || whole.items(run.agent).iter().filter(|item| item.run == run.id);
    let by_instruction =
        items().any(|item| item.seq == by && matches!(item.step, Some(StepKey::Replaced(_))));
    let key = StepKey::Join(name.to_owned());
    let is_read = items().any(|item| item.step.as_ref() == Some(&key));
    found.must(by_instruction && !is_read, Messages, run.agent, || {
        format!("the join `{name}` of {} ended with item {by}, which is no instruction, or was read", run.id)
    });
}

/// A join that is done has read the result of everything that its program started under this name.
fn read_all(whole: &Snapshot, run: &Run, name: &str, found: &mut Found) {
    let items = || whole.items(run.agent).iter().filter(|item| item.run == run.id);
    let key = StepKey::Calls(name.to_owned());
    let calls = items().find_map(|item| match &item.body {
        ItemBody::Turn(turn) if item.step.as_ref() == Some(&key) => Some(&turn.calls),
        _ => None,
    });
    for call in calls.into_iter().flatten() {
        let task = items().find_map(|item| match &item.body {
            ItemBody::Output(output) if output.call == call.id => output.task(),
            _ => None,
        });
        let is_result_of = |task: TaskId, item: &Item| matches!(&item.body, ItemBody::Message(message) if message.task == Some(task) && message.is_result());
        let Some(task) = task else { continue };
        let read = items().filter(|item| is_result_of(task, item)).count();
        found.must(read >= 1, Messages, run.agent, || {
            format!("the join `{name}` of {} is done, and the result of {task} was not read", run.id)
        });
    }
}

/// No result is sent that is joined or tells nobody, and none is read in a commit that does not end its join.
pub(super) fn facts(facts: &[Fact], found: &mut Found) {
    let mut ends = Ends::new();
    for fact in facts {
        let Fact::Committed(commit) = fact else { continue };
        let tasks = commit.writes.iter().filter_map(Write::as_record::<Task>);
        ends.extend(tasks.map(|task| (task.id, task.on_end)));
        sent(commit, &ends, found);
        joined(commit, &ends, found);
    }
}

fn sent(commit: &Commit, ends: &Ends, found: &mut Found) {
    for write in &commit.writes {
        let Write::Post(post) = write else { continue };
        let PostBody::Done { task, .. } = &post.body else { continue };
        let on_end = ends.get(task).copied().unwrap_or(OnEnd::Wake);
        found.must(!matches!(on_end, OnEnd::Join | OnEnd::Quiet), Messages, post.agent, || {
            format!("the result of {task} was sent, although its end is to {on_end:?}")
        });
    }
}

fn joined(commit: &Commit, ends: &Ends, found: &mut Found) {
    for write in &commit.writes {
        let Write::Item(item) = write else { continue };
        let ItemBody::Message(message) = &item.body else { continue };
        let Some(task) =
            message.task.filter(|task| message.is_result() && ends.get(task) == Some(&OnEnd::Join))
        else {
            continue;
        };
        let ends_join = |write: &Write| {
            matches!(write, Write::Step(step)
                if step.run == item.run && step.state.is_done() && Some(&step.key) == item.step.as_ref())
        };
        found.must(commit.writes.iter().any(ends_join), Messages, item.agent, || {
            format!("item {} is the result of {task} before its join was done", item.seq)
        });
    }
}
