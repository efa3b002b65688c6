//! The model interface: a request in, deltas during the call, one reply out.
//!
//! The engine knows no provider; it holds a [`Model`]. [`choose`] decides at start which one: usually a
//! [`Router`] over [`ProviderModel`]s, each [`Gated`], those too weak for tools wrapped in a [`NextAction`];
//! the [`Rehearsal`] if there is nothing else.

mod choose;
mod error;
mod example;
mod gate;
mod http;
mod model;
mod next_action;
mod price_table;
mod prices;
mod profile;
mod provider;
mod rehearsal;
mod remote;
mod request;
mod router;
mod scripted;
mod settings;

pub use choose::{Choice, MODEL_VARIABLE, TriedServer, choose, choose_offline};
pub use error::{Error, Missing};
pub use gate::{GateState, GateStatus, Gated, Gates};
pub use http::install_tls;
pub use model::{Delta, Deltas, Model, NoDeltas};
pub use next_action::NextAction;
pub use prices::{Price, Prices};
pub use profile::{KnownFrom, Profile, ProfileSettings};
pub use provider::Provider;
pub use rehearsal::Rehearsal;
pub use remote::ProviderModel;
pub use request::{Message, Priority, Reply, Request, ToolChoice};
pub use router::{Router, check_name};
pub use scripted::{Script, ScriptedModel};
pub use settings::{Connection, Local, Settings};

/// The result of every call.
pub type Result<T, E = Error> = std::result::Result<T, E>;
