//! `entourage documents list`: the documents of one project, or of all.

use clap::Args;
use entourage_api::{DocumentHead, Project};

use crate::cli::{
    backend::{self, Purpose, Result},
    describe,
    failure::Exit,
    globals::{Globals, quoted},
    out,
    reference::Reference,
    text::{table, text},
};

/// List the documents of all projects, or of one, newest first (as without a command)
#[derive(Debug, Default, Args)]
#[command(after_help = "Example:\n  entourage documents list --project Trip")]
pub(super) struct List {
    /// Only those of this project: its name, number or id
    #[arg(long, value_name = "PROJECT")]
    project: Option<Reference>,
}

impl List {
    pub(super) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let projects = match &self.project {
            Some(project) => vec![project.project(&backend).await?],
            None => backend.projects().await?,
        };
        for project in &projects {
            let documents = backend.documents(project.id).await?;
            if globals.json {
                documents.iter().try_for_each(out::json)?;
                continue;
            }
            // A reader who named the project knows which it is.
            if self.project.is_none() {
                let name = out::stdout().bold(&project.name);
                out::result(text![name, ", number ", project.number])?;
            }
            write(&documents, if self.project.is_none() { "  " } else { "" })?;
            if documents.is_empty() && !globals.quiet {
                nothing(project);
            }
        }
        if projects.is_empty() && !globals.json && !globals.quiet {
            out::note("no projects yet; `entourage projects create NAME` creates one");
        }
        Ok(Exit::Done)
    }
}

fn write(documents: &[DocumentHead], indent: &str) -> Result<()> {
    let paint = out::stdout();
    let digits = |of: fn(&DocumentHead) -> u64| {
        documents.iter().map(|document| of(document).to_string().len()).max().unwrap_or(0)
    };
    let (number, version) = (digits(|document| document.number), digits(|document| document.version));
    let row = |document: &DocumentHead| {
        [
            text![&document.name],
            text![format!("number {:number$}", document.number)],
            text![format!("version {:version$}", document.version)],
            paint.dim(describe::moment(document.updated)),
        ]
    };
    table(documents.iter().map(row).collect())
        .into_iter()
        .try_for_each(|line| out::result(text![indent, line]))
}

fn nothing(project: &Project) {
    let name = quoted(&project.name);
    out::note(format!(
        "no documents in it yet; `entourage documents import DIR --project {name}` or `entourage act {name} \"…\"` \
         creates some"
    ));
}
