//! The server's program as it tells its operator about itself.

use async_trait::async_trait;
use entourage::{
    Engine, Settings,
    settings::{InForce, Origin},
};
use entourage_api::{Finding, HeldSettings, SetBy, Setting};
use entourage_server::Installation;
use tokio::sync::Mutex;

use super::{backend::Running, doctor};

/// A server that runs, with the settings that it started with.
pub(crate) struct Installed {
    settings: Settings,
    running: Running,
    engine: Engine,
    /// Held by the examination under way: each starts programs and asks providers.
    examines: Mutex<()>,
}

impl Installed {
    pub(crate) fn new(settings: Settings, running: Running, engine: Engine) -> Self {
        Self { settings, running, engine, examines: Mutex::default() }
    }
}

#[async_trait]
impl Installation for Installed {
    async fn examine(&self, offline: bool) -> Vec<Finding> {
        let _one_at_a_time = self.examines.lock().await;
        doctor::examine(&self.settings, &self.running, self.engine.clone(), offline).await
    }

    fn settings(&self) -> HeldSettings {
        held(&self.settings)
    }
}

/// The settings that hold, for people and programs.
pub(crate) fn held(settings: &Settings) -> HeldSettings {
    HeldSettings {
        directory: settings.data.display().to_string(),
        file: settings.file.as_ref().map(|file| file.display().to_string()),
        ignored: settings.ignored.clone(),
        data: settings.in_force().into_iter().map(setting).collect(),
    }
}

fn setting(InForce { key, value, is_hidden: hidden, origin }: InForce) -> Setting {
    let (set_by, set_in) = match origin {
        Origin::Default => (SetBy::Default, None),
        Origin::File(path) => (SetBy::File, Some(path.display().to_string())),
        Origin::Variable(name) => (SetBy::Variable, Some(name)),
        Origin::Option(name) => (SetBy::Option, Some(name)),
    };
    Setting { key, value, hidden, set_by, set_in }
}
