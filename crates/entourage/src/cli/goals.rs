//! `entourage goals`: lists, creates, changes, archives and deletes goals, and shows what their agents had done.

use clap::{ArgGroup, Args, Subcommand};
use entourage_api::{Cause, ChangeGoal, CreateGoal, Goal, Task, TaskResult};
use entourage_types::{AgentId, GoalStatus, ShownStatus};

use super::{
    backend::{self, Backend, Purpose, Result},
    describe,
    failure::{Exit, Failure},
    globals::Globals,
    id_input::IdInput,
    input, out,
    text::{table, text},
};

const AFTER_HELP: &str = "\
Examples:
  entourage goals                                           all of them, newest first
  entourage goals create \"See Rome\" --description \"A week in May\" --instructions \"By train\"
  entourage chat \"See Rome\"                                 talk to the agent of a goal
  entourage goals tasks \"See Rome\"                          what it had others do, and what that came to
  entourage goals archive \"See Rome\"                        put it away: its agent is given nothing to do

A goal has an agent that works towards it for months. Wherever a command takes an agent, the title of its goal will do, \
or the id, which is that of the agent. `entourage schedules` has the agent look at the goal by itself.";

/// List, create, change, archive and delete goals, each with an agent of its own
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Goals {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the goals, newest first (as without a command)
    #[command(after_help = "Example:\n  entourage goals list --status open")]
    List {
        /// Only goals in this status: open, archived
        #[arg(long, value_name = "STATUS")]
        status: Option<GoalStatus>,
    },
    /// Create a goal, and the agent that works towards it
    #[command(
        after_help = "Example:\n  entourage goals create \"See Rome\" --description \"A week in May\" --instructions \"By train\""
    )]
    Create {
        /// It in a few words
        title: String,
        /// What is to be reached
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        description: String,
        /// How the agent is to work
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        instructions: String,
    },
    /// Show a goal whole
    #[command(after_help = "Example:\n  entourage goals show \"See Rome\"")]
    Show {
        /// The goal: its title or its id
        goal: IdInput<AgentId>,
    },
    /// List the latest tasks that the agent of a goal has created, newest first, and what they came to
    #[command(after_help = "Example:\n  entourage goals tasks \"See Rome\"")]
    Tasks {
        /// The goal: its title or its id
        goal: IdInput<AgentId>,
        /// Show at most this many
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// Give a goal another title, another description or other instructions
    #[command(
        group = ArgGroup::new("change").required(true).multiple(true),
        after_help = "Example:\n  entourage goals change \"See Rome\" --description \"Two weeks in June\""
    )]
    Change {
        /// The goal: its title or its id
        goal: IdInput<AgentId>,
        /// Its new title
        #[arg(long, value_name = "TITLE", group = "change")]
        title: Option<String>,
        /// What is to be reached; empty for nothing
        #[arg(long, value_name = "TEXT", group = "change")]
        description: Option<String>,
        /// How the agent is to work; empty for nothing
        #[arg(long, value_name = "TEXT", group = "change")]
        instructions: Option<String>,
    },
    /// Put a goal away: its agent takes no messages, and its schedules are left out
    #[command(after_help = "Example:\n  entourage goals archive \"See Rome\"")]
    Archive {
        /// The goal: its title or its id
        goal: IdInput<AgentId>,
    },
    /// Take an archived goal up again
    #[command(after_help = "Example:\n  entourage goals unarchive \"See Rome\"")]
    Unarchive {
        /// The goal: its title or its id
        goal: IdInput<AgentId>,
    },
    /// Delete a goal: its agent and those of its tasks end for good
    #[command(after_help = "\
Example:
  entourage goals delete \"See Rome\"

On a terminal it asks first. What was said stays readable until `entourage prune` removes it. `entourage goals archive` \
puts a goal away instead.")]
    Delete {
        /// The goal: its title or its id
        goal: IdInput<AgentId>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Show your own agent, which belongs to no goal and knows all of them; it is created if there is none
    #[command(after_help = "Example:\n  entourage goals user-agent")]
    UserAgent,
}

impl Goals {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let status = |status| ChangeGoal { status: Some(status), ..ChangeGoal::default() };
        match self.command.unwrap_or(Command::List { status: None }) {
            Command::List { status } => list(globals, status).await,
            Command::Create { title, description, instructions } => {
                create(globals, &CreateGoal { title, description, instructions }).await
            }
            Command::Show { goal } => show(globals, &goal).await,
            Command::Tasks { goal, limit } => tasks(globals, &goal, limit).await,
            Command::Change { goal, title, description, instructions } => {
                let change = ChangeGoal { title, description, instructions, status: None };
                change_to(globals, &goal, &change, "changed").await.map(|_| Exit::Done)
            }
            Command::Archive { goal } => {
                let goal = change_to(globals, &goal, &status(GoalStatus::Archived), "archived").await?;
                if !globals.json && !globals.quiet {
                    let (agent, again) = (goal.agent, globals.again());
                    out::note(format!(
                        "it is given nothing to do until: entourage goals unarchive {agent}{again}"
                    ));
                }
                Ok(Exit::Done)
            }
            Command::Unarchive { goal } => {
                let goal = change_to(globals, &goal, &status(GoalStatus::Open), "unarchived").await?;
                note_chat(globals, goal.agent);
                Ok(Exit::Done)
            }
            Command::Delete { goal, yes } => delete(globals, &goal, yes).await,
            Command::UserAgent => user_agent(globals).await,
        }
    }
}

async fn list(globals: &Globals, status: Option<GoalStatus>) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
    let goals = backend.goals(status).await?;
    if globals.json {
        goals.iter().try_for_each(out::json)?;
        return Ok(Exit::Done);
    }
    let (paint, mut rows) = (out::stdout(), Vec::with_capacity(goals.len()));
    for goal in &goals {
        let (title, agent) = (paint.bold(describe::title(&goal.title)), paint.dim(goal.agent));
        let does = match backend.why(goal.agent).await {
            Ok(why) => does(&why.cause),
            Err(failure) if failure.is_not_found() => "deleted",
            Err(failure) => return Err(failure),
        };
        rows.push([title, agent, text![does], text![describe::cut(&goal.description, 60)]]);
    }
    table(rows).into_iter().try_for_each(out::result)?;
    if goals.is_empty() && !globals.quiet {
        out::note(match status {
            Some(status) => format!("no goal is {status}; `entourage goals` lists all"),
            None => "no goals yet; `entourage goals create TITLE` creates one".to_owned(),
        });
    }
    Ok(Exit::Done)
}

/// What the agent of a goal, and those of its tasks, do, in a few words: the last cause of why it does not go on.
fn does(cause: &Cause) -> &'static str {
    match cause {
        Cause::Question { .. } | Cause::Pause { .. } => "waits for you",
        Cause::Budget { .. } | Cause::Room { .. } => describe::WAITS_FOR_BUDGET,
        Cause::Retry { .. } | Cause::CodeRetry { .. } | Cause::Gate { .. } => "tries again",
        Cause::Timer { .. } => "sleeps",
        Cause::Process => describe::SUSPENDED,
        Cause::Rest { archived: true, .. } => "archived",
        Cause::Work
        | Cause::Elsewhere
        | Cause::Place { .. }
        | Cause::Task { .. }
        | Cause::Rest { below: 1.., .. } => "at work",
        Cause::Crash { .. } | Cause::Rest { failed: Some(_), .. } => "failed",
        Cause::Rest { .. } => "at rest",
        Cause::Deleted => "deleted",
        Cause::Nothing => "waits for nothing known",
    }
}

async fn create(globals: &Globals, new: &CreateGoal) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Write).await?;
    let goal = backend.create_goal(new).await?;
    if globals.json {
        out::json(&goal)?;
        return Ok(Exit::Done);
    }
    out::result(text!["created goal ", out::stdout().bold(&goal.title), ", agent ", goal.agent])?;
    note_chat(globals, goal.agent);
    Ok(Exit::Done)
}

async fn show(globals: &Globals, goal: &IdInput<AgentId>) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
    let goal = meant(&backend, goal).await?;
    if globals.json {
        out::json(&goal)?;
        return Ok(Exit::Done);
    }
    let paint = out::stdout();
    let Goal { agent, title, description, instructions, status, created, updated, .. } = &goal;
    out::result(text![paint.bold(title), "  ", paint.dim(agent), "  ", status])?;
    out::result(paint.dim(format!(
        "created {}, changed {}",
        describe::moment(*created),
        describe::moment(*updated)
    )))?;
    for (part, said) in [("description", description), ("instructions", instructions)] {
        if !said.is_empty() {
            out::result(text![paint.dim(part), "  ", said])?;
        }
    }
    Ok(Exit::Done)
}

async fn tasks(globals: &Globals, goal: &IdInput<AgentId>, limit: u32) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
    let goal = meant(&backend, goal).await?;
    let tasks = backend.goal_tasks(goal.agent, limit).await?;
    let paint = out::stdout();
    if globals.json {
        tasks.iter().try_for_each(out::json)?;
        return Ok(Exit::Done);
    }
    let mut rows = Vec::with_capacity(tasks.len());
    for task in &tasks {
        let status = ShownStatus::of(task.status, None);
        let sign = paint.status(status, describe::sign(status));
        let title = text![sign, " ", paint.bold(describe::title(&task.title))];
        let state = match task.status.is_terminal() {
            true => text![task.status],
            false => text![does(&backend.why(task.to).await?.cause)],
        };
        rows.push([title, paint.dim(task.to), state, text![came_to(task)]]);
    }
    table(rows).into_iter().try_for_each(out::result)?;
    if tasks.is_empty() && !globals.quiet {
        out::note("no tasks yet: the agent of the goal creates them");
        note_chat(globals, goal.agent);
    }
    Ok(Exit::Done)
}

/// What a task came to, on one line.
fn came_to(task: &Task) -> String {
    match &task.result {
        Some(TaskResult::Text(text)) => describe::short(text),
        Some(TaskResult::Error(error)) => format!("error: {}", describe::short(error)),
        None => String::new(),
    }
}

/// Changes a goal, and says so in this word.
async fn change_to(
    globals: &Globals,
    goal: &IdInput<AgentId>,
    change: &ChangeGoal,
    done: &str,
) -> Result<Goal> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
    let goal = meant(&backend, goal).await?;
    let changed = backend.change_goal(goal.agent, change).await?;
    match globals.json {
        true => out::json(&changed)?,
        false => out::result(text![done, " goal ", out::stdout().bold(&changed.title)])?,
    }
    Ok(changed)
}

async fn delete(globals: &Globals, goal: &IdInput<AgentId>, yes: bool) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
    let goal = meant(&backend, goal).await?;
    let title = describe::title(&goal.title);
    if !yes
        && !input::agrees(text!["delete goal ", title, " for good, with its agents, tasks and schedules?"])
    {
        out::note("nothing was deleted");
        return Ok(Exit::Interrupted);
    }
    backend.delete_goal(goal.agent).await?;
    match globals.json {
        true => out::json(&goal)?,
        false => out::result(text!["deleted goal ", out::stdout().bold(&goal.title), " with its agents"])?,
    }
    Ok(Exit::Done)
}

async fn user_agent(globals: &Globals) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Write).await?;
    let agent = backend.user_agent().await?;
    if globals.json {
        out::json(&agent)?;
        return Ok(Exit::Done);
    }
    let (_, state) = describe::standing(&agent, backend.is_at_work(Some(agent.root)), out::stdout());
    out::result(text!["your agent ", agent.id, "  ", state])?;
    note_chat(globals, agent.id);
    Ok(Exit::Done)
}

/// The goal that a user means: by its title, or else by the id or the name of its agent.
async fn meant(backend: &Backend, goal: &IdInput<AgentId>) -> Result<Goal> {
    let agent = goal.find_goal(backend).await?;
    let none = || Failure::not_found(format!("agent {agent} has no goal. `entourage goals` lists all goals"));
    backend.goal(agent).await?.ok_or_else(none)
}

/// Says how to talk to an agent.
fn note_chat(globals: &Globals, agent: AgentId) {
    if !globals.json && !globals.quiet {
        out::note(format!("talk to it: entourage chat {agent}{}", globals.again()));
    }
}

#[cfg(test)]
mod tests {
    use entourage_types::{About, QuestionId, StopReason, Time};

    use super::*;

    #[test]
    fn the_list_tells_goals_that_need_the_user_from_those_that_go_on() {
        let due = Time::now();
        let rest =
            |failed, archived, below| Cause::Rest { failed, error: None, archived, below, more_below: false };
        let asks =
            |about| Cause::Question { question: QuestionId::new(), about, asks: String::new(), due: None };
        for (cause, word) in [
            (asks(About::Approval), "waits for you"),
            (Cause::Pause { reason: None }, "waits for you"),
            (Cause::Retry { attempt: 1, error: String::new(), due }, "tries again"),
            (Cause::Process, "suspended"),
            (rest(None, false, 0), "at rest"),
            (rest(None, false, 1), "at work"),
            (rest(Some(StopReason::ModelFailed), false, 0), "failed"),
            (rest(None, true, 1), "archived"),
        ] {
            assert_eq!(does(&cause), word, "{cause:?}");
        }
    }
}
