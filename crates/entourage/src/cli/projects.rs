//! `entourage projects`: lists, creates, changes and deletes projects, and lists the chats about one.

use clap::{Args, Subcommand};
use entourage_api::{ChangeProject, Project};

use super::{
    backend::{self, Purpose, Result},
    describe,
    failure::{Exit, Failure},
    globals::{Globals, quoted},
    out,
    reference::Reference,
    text::{table, text},
};

const AFTER_HELP: &str = "\
Examples:
  entourage projects                                        all of them, newest first
  entourage projects create Trip --description \"May in Rome\"
  entourage projects chats Trip                             what was talked about, for `entourage act Trip --chat N`

A project holds documents; `entourage documents` shows them, `entourage act` has an agent work on them. Wherever a \
project is named, its name, its number or its id will do.";

/// List, create, change and delete projects, which hold documents
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Projects {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the projects, newest first (as without a command)
    #[command(after_help = "Example:\n  entourage projects list --json")]
    List,
    /// Create a project
    #[command(after_help = "Example:\n  entourage projects create Trip --description \"May in Rome\"")]
    Create {
        /// Its name, which no other project has
        name: String,
        /// What it is about
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        description: String,
    },
    /// Give a project another name, or another description
    #[command(after_help = "Example:\n  entourage projects change Trip --name Rome")]
    Change {
        /// The project: its name, number or id
        project: Reference,
        /// Its new name, which no other project has
        #[arg(long, value_name = "NAME", required_unless_present = "description")]
        name: Option<String>,
        /// What it is about; empty for nothing
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// Delete a project with its documents, all their versions, and what keeps its chats together
    #[command(after_help = "\
Example:
  entourage projects delete Trip

Nothing brings its documents back: `entourage documents export --project Trip --to DIR` keeps copies. The agents of its \
chats, and what was said in them, stay until `entourage prune` removes them.")]
    Delete {
        /// The project: its name, number or id
        project: Reference,
    },
    /// List the chats about a project, newest first
    #[command(after_help = "Example:\n  entourage projects chats Trip")]
    Chats {
        /// The project: its name, number or id
        project: Reference,
    },
}

impl Projects {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        match self.command.unwrap_or(Command::List) {
            Command::List => list(globals).await,
            Command::Create { name, description } => create(globals, &name, &description).await,
            Command::Change { project, name, description } => {
                change(globals, &project, ChangeProject { name, description }).await
            }
            Command::Delete { project } => delete(globals, &project).await,
            Command::Chats { project } => chats(globals, &project).await,
        }
    }
}

async fn list(globals: &Globals) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
    let projects = backend.projects().await?;
    let paint = out::stdout();
    let row = |project: &Project| {
        [
            paint.bold(&project.name),
            text!["number ", project.number],
            paint.dim(describe::moment(project.updated)),
            text![describe::cut(&project.description, 60)],
        ]
    };
    match globals.json {
        true => projects.iter().try_for_each(out::json)?,
        false => table(projects.iter().map(row).collect()).into_iter().try_for_each(out::result)?,
    }
    if projects.is_empty() && !globals.json && !globals.quiet {
        out::note("no projects yet; `entourage projects create NAME` creates one");
    }
    Ok(Exit::Done)
}

async fn create(globals: &Globals, name: &str, description: &str) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Write).await?;
    let project = backend.create_project(name, description).await.map_err(|failure| {
        if failure.is_usage() { failure.then("`entourage projects` lists them") } else { failure }
    })?;
    if globals.json {
        out::json(&project)?;
        return Ok(Exit::Done);
    }
    out::result(text!["created project ", out::stdout().bold(&project.name), ", number ", project.number])?;
    if !globals.quiet {
        let (name, again) = (quoted(&project.name), globals.again());
        out::note(format!(
            "next: entourage documents import DIR --project {name}{again}, or entourage act {name} \"…\"{again}"
        ));
    }
    Ok(Exit::Done)
}

async fn change(globals: &Globals, project: &Reference, change: ChangeProject) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
    let project = project.project(&backend).await?;
    let changed = backend.change_project(project.id, &change).await?;
    if globals.json {
        out::json(&changed)?
    } else {
        out::result(text!["changed project ", out::stdout().bold(&changed.name)])?
    }
    Ok(Exit::Done)
}

async fn delete(globals: &Globals, project: &Reference) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
    let project = project.project(&backend).await?;
    let documents = backend.documents(project.id).await?.len();
    backend.delete_project(project.id).await?;
    if globals.json {
        out::json(&project)?;
        return Ok(Exit::Done);
    }
    let documents = if documents == 1 { "1 document".to_owned() } else { format!("{documents} documents") };
    out::result(text!["deleted project ", out::stdout().bold(&project.name), " with its ", documents])?;
    Ok(Exit::Done)
}

async fn chats(globals: &Globals, project: &Reference) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
    let project = project.project(&backend).await?;
    let chats = backend.project_chats(project.id).await?;
    let paint = out::stdout();
    for chat in &chats {
        if globals.json {
            out::json(chat)?;
            continue;
        }
        // Its title is what it began with. It may have been forgotten meanwhile.
        let title = match backend.agent(chat.agent).await {
            Ok(agent) => agent.title,
            Err(failure) if failure.is_not_found() => String::new(),
            Err(failure) => return Err::<Exit, Failure>(failure),
        };
        let (number, agent) = (paint.bold(chat.number), paint.dim(chat.agent));
        out::result(text![
            number,
            "  ",
            agent,
            "  ",
            describe::moment(chat.created),
            "  ",
            describe::cut(&title, 60)
        ])?;
    }
    if chats.is_empty() && !globals.json && !globals.quiet {
        let name = quoted(&project.name);
        out::note(format!("no chats yet; `entourage act {name} \"…\"` begins one"));
    }
    Ok(Exit::Done)
}
