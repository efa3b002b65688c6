//! P9: a message about the documents of a project, as an edit and as a conversation. Each is two calls of a model; the
//! project is read once for it, whatever it holds.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use bytes::Bytes;
use entourage_engine::{Kinds, NewProject, SystemClock};
use entourage_store::{Layered, Store, StoreLayer};
use entourage_store_sqlite::{Durability, Settings};
use entourage_tools::builtin;
use entourage_types::{ActOutcome, NewDocument, Owner, ProjectId, Scope};

use crate::{
    Benches, cpu,
    engine::Bed,
    floor::{Http, Log},
    model::{EDIT, Script},
    report::Report,
};

/// Documents of the project, and bytes of each.
const DOCUMENTS: usize = 50;
const BYTES: usize = 4096;
/// Rounds; each measures both sides.
const ROUNDS: usize = 8;
/// Messages of one round.
const ACTS: usize = 20;
/// What is measured: its name, the message, and what it must come to.
const SORTS: [(&str, &str, ActOutcome); 2] = [
    ("an edit", EDIT, ActOutcome::Updated),
    ("a conversation", "What is in the plan?", ActOutcome::Conversation),
];

/// The text of a document, 4 KB in 64 lines.
pub(crate) fn text(title: &str) -> String {
    let line = "A line of this document, as long as all the others of it are.\n";
    let mut text = format!("# {title}\n\n");
    while text.len() + line.len() <= BYTES {
        text.push_str(line);
    }
    text
}

/// Counts the rows of records that the store shows to whoever reads.
#[derive(Clone, Default)]
struct Shown(Arc<AtomicU64>);

#[async_trait]
impl StoreLayer for Shown {
    fn shown(&self, _: &Scope, _: &Owner) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) fn measure(benches: &Benches, report: &mut Report) -> Result<()> {
    let (bed, shown) = benches.engine.block_on(async { start(benches) })?;
    let bed = Arc::new(bed);
    let [small, project] = [1, DOCUMENTS].map(|many| benches.engine.block_on(filled(&bed, many)));
    let (small, project) = (small?, project?);
    let directory = tempfile::tempdir()?;
    let log = Log::open(&directory.path().join("floor.db"))?;
    let http = Http::new(benches.model.completions(Script::Acts))?;
    for (named, message, outcome) in SORTS {
        let mut read = [0; 2];
        for (project, read) in [small, project].into_iter().zip(&mut read) {
            let before = shown.0.load(Ordering::Relaxed);
            benches.engine.block_on(act(&bed, message, project, outcome))?;
            *read = shown.0.load(Ordering::Relaxed) - before;
        }
        let more = (DOCUMENTS - 1) as u64;
        ensure!(
            read[1] - read[0] == more,
            "{named} reads {read:?} rows of projects with 1 and {DOCUMENTS} documents"
        );
        let requests = benches.floor.block_on(benches.model.sent(2))?;
        let (mut floor, mut ours) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let before = cpu::used();
            benches.floor.block_on(bare(&http, &log, &requests))?;
            let spent = cpu::millis_each(before, ACTS);
            let before = cpu::used();
            benches.engine.block_on(acts(&bed, message, project))?;
            // The first round warms up.
            if round > 0 {
                floor.push(spent);
                ours.push(cpu::millis_each(before, ACTS));
            }
        }
        let written = benches.engine.block_on(bed.written(acts(&bed, message, project)))? / ACTS as u64;
        let (floor, ours) = (cpu::least(floor), cpu::least(ours));
        report.note("P9", format!("two bare model calls and a row, CPU, {named}"), floor, "ms");
        report.note("P9", format!("engine, CPU of {named}, {DOCUMENTS} documents"), ours, "ms");
        report.note("P9", format!("engine / floor, {named}"), ours / floor, "x");
        report.note("P9", format!("bytes written by {named}"), written as f64, "B");
        report.note("P9", format!("rows read by {named}"), read[1] as f64, "");
    }
    benches.engine.block_on(async { Arc::into_inner(bed).context("the engine is still in use")?.end().await })
}

/// An engine with the built-in kinds on a store that counts the rows it shows.
fn start(benches: &Benches) -> Result<(Bed, Shown)> {
    let shown = Shown::default();
    let layer = |store| -> Arc<dyn Store> { Arc::new(Layered::new(Arc::new(store), shown.clone())) };
    let furniture = (Kinds::builtin(), builtin(entourage_tools::Settings::default()));
    let settings = Settings { durability: Durability::Normal, ..Settings::default() };
    let bed =
        Bed::placed(&benches.model, Script::Acts, furniture, (settings, 64), layer, Arc::new(SystemClock))?;
    Ok((bed, shown))
}

/// A project with so many documents, the first of which is the plan.
async fn filled(bed: &Bed, documents: usize) -> Result<ProjectId> {
    let client = bed.client();
    let project =
        client.create_project(NewProject { name: format!("{documents}"), ..NewProject::default() }).await?.id;
    for number in 0..documents {
        let name = if number == 0 { "Plan".to_owned() } else { format!("Document {number}") };
        let content = text(&name);
        client
            .create_document(NewDocument {
                project,
                name,
                content,
                standing_instruction: String::new(),
                summary: String::new(),
            })
            .await?;
    }
    Ok(project)
}

/// Acts upon a message, and looks that it came to what is measured.
async fn act(bed: &Bed, message: &str, project: ProjectId, outcome: ActOutcome) -> Result<()> {
    let chat = bed.act(message, project).await?;
    let (mut said, _) = bed.client().project_messages(chat, None, 2).await?;
    let came = said.pop().and_then(|answer| answer.act).context("nothing was decided")?.outcome;
    ensure!(came == outcome, "`{message}` came to {came:?}");
    Ok(())
}

/// Messages, one after the other, on the engine's own threads.
async fn acts(bed: &Arc<Bed>, message: &'static str, project: ProjectId) -> Result<()> {
    let bed = Arc::clone(bed);
    let acting = async move {
        for _ in 0..ACTS {
            bed.act(message, project).await?;
        }
        anyhow::Ok(())
    };
    tokio::spawn(acting).await?
}

/// The floor: the very same requests, and a row as long as a document.
async fn bare(http: &Http, log: &Log, requests: &[Bytes]) -> Result<()> {
    for _ in 0..ACTS {
        for body in requests {
            http.post(body.clone(), |_| ()).await?;
        }
        log.append(&[BYTES])?;
    }
    Ok(())
}
