//! `entourage kinds reload`: makes the server read its kinds again.

use entourage::Settings;
use entourage_api::{KindFinding, Severity};
use entourage_engine::kinds::{self, Finding};

use crate::cli::{
    backend::{Backend, Result, Running},
    failure::{Exit, Failure},
    globals::Globals,
    out,
};

pub(super) async fn reload(globals: &Globals, settings: &Settings) -> Result<Exit> {
    let Some(running) = Running::find(&settings.data, globals.quiet).await else {
        return Err(Failure::failed(format!(
            "no server runs for {}, so there is nothing to reload: commands read the kinds as they start",
            settings.data.display()
        )));
    };
    let reloaded = Backend::there(&running, settings)?.reload_kinds().await?;
    if globals.json {
        out::json(&reloaded)?;
        return Ok(Exit::Done);
    }
    let changes =
        [("added", &reloaded.added), ("changed", &reloaded.changed), ("removed", &reloaded.removed)];
    for (what, names) in changes {
        names.iter().try_for_each(|name| out::result(format!("{what} {name}")))?;
    }
    if !globals.quiet {
        reloaded.remarks.iter().map(finding).for_each(out::note);
        let is_same = changes.iter().all(|(_, names)| names.is_empty());
        out::note(match is_same {
            true => "nothing has changed",
            false => "new runs use the kinds as they are now; running ones keep theirs",
        });
    }
    Ok(Exit::Done)
}

/// A finding in the words of `entourage kinds check`.
fn finding(found: &KindFinding) -> Finding {
    let severity = match found.severity {
        Severity::Mistake => kinds::Severity::Mistake,
        Severity::Remark => kinds::Severity::Remark,
    };
    Finding { file: found.file.clone(), line: found.line, severity, text: found.text.clone() }
}
