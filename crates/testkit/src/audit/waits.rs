//! Nothing is stuck: an open run has a wake-up or waits for something that is still to come, and
//! some run will read each post of an inbox.

use entourage_types::{Agent, PostBody, QuestionStatus, Run, Status, Step, Task, WaitingOn};

use super::{Found, Invariant::NothingStuck, Snapshot};

pub(super) fn check(whole: &Snapshot, found: &mut Found) {
    for agent in &whole.agents {
        let open: Vec<&Run> =
            whole.runs.iter().filter(|run| run.agent == agent.id && !run.status.is_terminal()).collect();
        found.must(open.len() <= 1, NothingStuck, agent.id, || {
            format!("{} runs are open; expected at most 1", open.len())
        });
        if whole.is_woken(agent.id) || agent.waiting_on == Some(WaitingOn::Resume) {
            continue;
        }
        match open.last() {
            Some(run) => found.must(waits(whole, run), NothingStuck, agent.id, || {
                format!("{} is {} and nothing will wake it: {}", run.id, run.status, wait_of(whole, run))
            }),
            None => at_rest(whole, agent, found),
        }
    }
    for task in whole.tasks.iter().filter(|task| !task.status.is_terminal()) {
        found.must(is_owed(whole, task), NothingStuck, task.to, || {
            format!("{} is {}, but no run or post of {} works on it", task.id, task.status, task.to)
        });
    }
}

fn at_rest(whole: &Snapshot, agent: &Agent, found: &mut Found) {
    found.must(!matches!(agent.status, Status::Running | Status::Waiting), NothingStuck, agent.id, || {
        format!("it is {} without a run", agent.status)
    });
    let unread = whole.inbox(agent.id).len();
    let left = unread > 0 && agent.status != Status::Cancelled;
    found.must(!left, NothingStuck, agent.id, || format!("no run will read the {unread} posts in its inbox"));
}

/// Whether a run waits for something that is still to come.
fn waits(whole: &Snapshot, run: &Run) -> bool {
    let open = whole.steps(run.id).iter().filter(|step| step.state.is_open());
    let mut open = open.peekable();
    open.peek().is_some() && open.any(|step| is_to_come(whole, step))
}

fn is_to_come(whole: &Snapshot, step: &Step) -> bool {
    if let Some(asked) = step.question() {
        let found = whole.questions.iter().find(|row| row.id == asked.question);
        return found.is_some_and(|question| question.status == QuestionStatus::Open);
    }
    whole.tasks.iter().any(|row| Some(row.id) == step.task() && !row.status.is_terminal())
}

fn wait_of(whole: &Snapshot, run: &Run) -> String {
    let open = whole.steps(run.id).iter().filter(|step| !step.state.is_done());
    let steps: Vec<String> = open.map(|step| format!("{} {:?}", step.key, step.state)).collect();
    if steps.is_empty() { "it has no open step".into() } else { steps.join(", ") }
}

/// Whether an agent works on the task, or will.
fn is_owed(whole: &Snapshot, task: &Task) -> bool {
    let in_run =
        |run: &Run| run.agent == task.to && !run.status.is_terminal() && run.tasks.contains(&task.id);
    let posted = |body: &PostBody| matches!(body, PostBody::Message { task: Some(id), .. } if *id == task.id);
    whole.runs.iter().any(in_run) || whole.inbox(task.to).iter().any(|post| posted(&post.body))
}
