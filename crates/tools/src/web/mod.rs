//! Tools that read the web: they search it, and fetch a page without access to the engine's own network.

mod client;
mod content;
mod fetch_url;
mod guard;
mod owner_limits;
mod readable;
mod search;

pub use fetch_url::{FetchApproval, FetchSettings, FetchUrl};
pub use guard::AllowedHost;
pub use search::{SearchBackend, SearchDetails, SearchHit, SearchSettings, WebSearch};
